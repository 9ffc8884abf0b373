/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.c: open a pool and answer control messages. The changes that an answer reports are
 * durable before it is sent; a refused message changes nothing.
 *
 * Tests: tests/unit/pool/service_test.cpp
 */
#include "pool/service.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "pool/state.h"

#include <inttypes.h>
#include <stdio.h>

#define LISTS 4u

static uint64_t system_entropy(void *context)
{
    (void)context;
    return rpmi_rng_entropy();
}

static int super_load(struct rpmi_service *service)
{
    unsigned char *block;
    int err;

    if (service->opts.pool->bytes < RPMI_POOL_BYTES_MIN)
        return rpmi_fail(RPM_E_FOREIGN, "%" PRIu64 " bytes are too small to be a pool, minimum %u",
                         service->opts.pool->bytes, RPMI_POOL_BYTES_MIN);
    block = rpmi_alloc(RPMI_SUPER_BYTES, RPMI_LINE_BYTES);
    if (block == NULL)
        return RPM_E_NOMEM;
    rpmi_mem_load(service->opts.pool, 0, block, RPMI_SUPER_BYTES);
    err = rpmi_super_get(block, service->opts.pool->bytes, &service->super);
    rpmi_free(block);
    return err;
}

/* Memory for the objects that the directory and the DRAM area have room for, and for their sorted
 * lists. */
static int objects_alloc(struct rpmi_service *service)
{
    uint32_t n = service->super.entries + RPMI_DRAM_ENTRIES;
    struct rpmi_sorted *lists[] = { &service->by_name, &service->by_place[RPMI_AREA_POOL],
                                    &service->by_place[RPMI_AREA_DRAM], &service->by_id };
    struct rpmi_object **room;

    service->objects = rpmi_alloc(n * sizeof(*service->objects), 64);
    service->listed = rpmi_alloc(LISTS * n * sizeof(*service->listed), 64);
    service->tally = rpmi_alloc(n * sizeof(*service->tally), 64);
    if (service->objects == NULL || service->listed == NULL || service->tally == NULL)
        return RPM_E_NOMEM;
    service->objects_n = n;
    room = service->listed;
    for (uint32_t i = 0; i < LISTS; i++, room += n)
        lists[i]->at = room;
    service->by_name.by = RPMI_BY_NAME;
    service->by_place[RPMI_AREA_POOL].by = RPMI_BY_PLACE;
    service->by_place[RPMI_AREA_DRAM].by = RPMI_BY_PLACE;
    service->by_id.by = RPMI_BY_ID;
    return 0;
}

int rpmi_service_open(const struct rpmi_service_opts *opts, struct rpmi_service **service)
{
    struct rpmi_service *fresh;
    int err;

    RPM_ASSERT(opts->clients_max > 0 && opts->server_epoch != 0);
    RPM_ASSERT(opts->dram->bytes >= RPMI_SCRATCH_BYTES);
    RPM_ASSERT(opts->pool != opts->dram);
    fresh = rpmi_alloc(sizeof(*fresh) + opts->clients_max * sizeof(fresh->clients[0]), 64);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->opts = *opts;
    if (fresh->opts.entropy == NULL)
        fresh->opts.entropy = system_entropy;
    fresh->clients_max = opts->clients_max;
    fresh->life = (struct rpmi_life){ .run = fresh->opts.entropy(fresh->opts.context) | 1,
                                      .boot = opts->boot };
    err = super_load(fresh);
    if (err == 0)
        err = objects_alloc(fresh);
    if (err == 0)
        err = rpmi_dir_load(fresh);
    if (err == 0)
        err = rpmi_count_start(fresh);
    if (err != 0) {
        rpmi_service_close(&fresh);
        return err;
    }
    RPM_ASSERT_SLOW(rpmi_service_check_invariants(fresh));
    *service = fresh;
    return 0;
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = { "?", "log", "region", "DRAM region", "lock table" };

    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

/* Has the log that exists the id and the set that the client expects? */
static int check_identity(struct rpmi_service *service, struct rpmi_object *object,
                          const struct rpmi_call *call)
{
    RPM_ASSERT(object->used && object->entry.kind == call->object);
    if (call->id != 0 && object->entry.id != call->id)
        return rpmi_fail(RPM_E_EXISTS,
                         "'%s' has the id %#" PRIx64 ", not %#" PRIx64 "; choose another name",
                         call->name, object->entry.id, call->id);
    if (call->set.copies == 0 || call->object != RPM_KIND_LOG)
        return 0;
    return rpmi_head_match(service, object, &call->set);
}

/* Find the object that OPEN names, or create it. Returns its index or an error. */
static int find_or_create(struct rpmi_service *service, const struct rpmi_call *call,
                          struct rpmi_reply *reply)
{
    int index = rpmi_dir_find(service, call->name);
    int err;

    if (index == RPM_E_NOENT && (call->flags & RPMI_CALL_CREATE) != 0) {
        reply->flags = RPMI_CALL_CREATE;
        return rpmi_dir_create(service, call);
    }
    if (index < 0)
        return index;
    RPM_ASSERT(service->objects[index].used);
    if (service->objects[index].entry.kind != call->object)
        return rpmi_fail(RPM_E_EXISTS, "'%s' is a %s, not a %s; choose another name", call->name,
                         kind_name(service->objects[index].entry.kind), kind_name(call->object));
    if ((call->flags & RPMI_CALL_EXCL) != 0)
        return rpmi_fail(RPM_E_EXISTS,
                         "there is a %s named '%s' already; choose another name, or open that one",
                         kind_name(call->object), call->name);
    err = check_identity(service, &service->objects[index], call);
    return err != 0 ? err : index;
}

/* Index plus 1 of the log whose claim is to guard the region of @call. */
static int find_guard(struct rpmi_service *service, struct rpmi_client *client,
                      const struct rpmi_call *call, uint16_t *guard)
{
    struct rpmi_object *log;
    int err;

    *guard = 0;
    if ((call->flags & RPMI_CALL_GUARDED) == 0)
        return 0;
    if (call->object != RPM_KIND_REGION && call->object != RPM_KIND_DRAM)
        return rpmi_fail(RPM_E_INVAL, "a %s cannot be guarded by a claim, only a region can",
                         kind_name(call->object));
    err = rpmi_key_object(service, client, call->key, RPMI_RIGHT_READ | RPMI_RIGHT_WRITE, &log);
    if (err != 0)
        return err;
    if (log->entry.kind != RPM_KIND_LOG)
        return rpmi_fail(RPM_E_DENIED,
                         "key %u is that of '%s', which is not a log and carries no claim",
                         call->key, log->entry.name);
    /* A live key to write to a log is the claim on it. */
    RPM_ASSERT(log->writer == client->id && log->epoch != 0);
    RPM_ASSERT(rpmi_is_pool_index(service, client->key[call->key].object));
    *guard = (uint16_t)(client->key[call->key].object + 1);
    return 0;
}

static uint64_t user_bytes(const struct rpmi_dirent *entry)
{
    return entry->kind == RPM_KIND_LOG ? entry->bytes - RPMI_LOG_HEADER_BYTES : entry->bytes;
}

static int serve_open(struct rpmi_service *service, struct rpmi_client *client,
                      const struct rpmi_call *call, struct rpmi_reply *reply)
{
    const struct rpmi_object *object;
    uint16_t guard;
    int index;
    int err;

    if (call->object < RPM_KIND_LOG || call->object > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_INVAL, "object kind %u, known are %u to %u", call->object,
                         RPM_KIND_LOG, RPM_KIND_LOCKS);
    err = rpmi_name_check(call->name);
    if (err == 0)
        err = rpmi_key_room(client);
    if (err == 0)
        err = find_guard(service, client, call, &guard);
    if (err != 0)
        return err;
    index = find_or_create(service, call, reply);
    if (index < 0)
        return index;
    err =
        rpmi_key_grant(service, client, (uint32_t)index, rpmi_rights_of(call->object), &reply->key);
    if (err != 0)
        return err;
    RPM_ASSERT(!client->key[reply->key].fenced);
    client->key[reply->key].guard = guard;
    object = &service->objects[index];
    RPM_ASSERT(object->used && object->keys > 0);
    RPM_ASSERT(object->entry.kind == call->object);
    reply->object = object->entry.kind;
    reply->bytes = user_bytes(&object->entry);
    reply->offset = object->entry.offset;
    reply->id = object->entry.id;
    reply->epoch = service->opts.server_epoch;
    if (call->object == RPM_KIND_LOG)
        reply->flags |= rpmi_head_life(service, object);
    if ((reply->flags & RPMI_CALL_CREATE) != 0 && call->epoch != 0)
        reply->token = rpmi_claim_token(service, object);
    return 0;
}

static int serve_close(struct rpmi_service *service, struct rpmi_client *client,
                       const struct rpmi_call *call)
{
    if (call->key == RPMI_KEY_SCRATCH || call->key >= RPMI_KEYS_MAX ||
        client->key[call->key].state == RPMI_KEY_FREE)
        return rpmi_fail(RPM_E_DENIED, "no key %u was granted to this client", call->key);
    rpmi_key_drop(service, client, call->key);
    RPM_ASSERT(client->key[call->key].state == RPMI_KEY_FREE);
    return 0;
}

static int serve_remove(struct rpmi_service *service, const struct rpmi_call *call)
{
    const struct rpmi_object *object;
    int index = rpmi_name_check(call->name);
    int err = 0;

    if (index != 0)
        return index;
    index = rpmi_dir_find(service, call->name);
    if (index < 0)
        return index;
    object = &service->objects[index];
    if (object->keys != 0)
        return rpmi_fail(RPM_E_OWNED, "'%s' is open (%u keys); close it in all clients first",
                         call->name, object->keys);
    RPM_ASSERT(object->writer == 0); /* a claim would have a key */
    if (!rpmi_object_volatile(object) && service->opts.vacate != NULL)
        err =
            service->opts.vacate(service->opts.context, object->entry.offset, object->entry.bytes);
    if (err != 0)
        return rpmi_fail(
            err, "'%s' is still mapped by a client of an earlier server; end that client first",
            call->name);
    return rpmi_dir_remove(service, (uint32_t)index);
}

static int serve_next(const struct rpmi_service *service, const struct rpmi_call *call,
                      struct rpmi_reply *reply)
{
    const struct rpmi_object *object = rpmi_dir_next(service, call->name);

    if (object == NULL)
        return RPM_E_RANGE; /* the end of a listing, not an error */
    memcpy(reply->name, object->entry.name, sizeof(reply->name));
    reply->object = object->entry.kind;
    reply->bytes = user_bytes(&object->entry);
    reply->writer = object->writer;
    return 0;
}

static int serve_owner(const struct rpmi_service *service, const struct rpmi_call *call,
                       struct rpmi_reply *reply)
{
    uint32_t client = (uint32_t)(call->lsn >> 32);
    uint32_t epoch = (uint32_t)call->lsn;

    reply->value = epoch == service->opts.server_epoch && rpmi_client_find(service, client) != NULL;
    return 0;
}

static int serve_room(const struct rpmi_service *service, const struct rpmi_call *call,
                      struct rpmi_reply *reply)
{
    bool dram = rpmi_kind_is_volatile(call->object);
    struct rpmi_dir_room room;

    if (call->object == 0)
        return rpmi_fail(RPM_E_INVAL, "room for objects of kind 0; kinds are 1 to %d",
                         RPM_KIND_LOCKS);
    rpmi_dir_room(service, dram, &room);
    reply->bytes = room.free;
    reply->offset = room.bytes;
    reply->value = room.largest;
    reply->key = room.objects;
    reply->epoch = room.objects_max;
    if (room.objects == room.objects_max)
        reply->value = 0;
    else if (call->object == RPM_KIND_LOG)
        reply->value -= room.largest < RPMI_LOG_HEADER_BYTES ? room.largest : RPMI_LOG_HEADER_BYTES;
    return 0;
}

/* An agent carries records of others. It opens, claims, trims and delegates nothing itself. */
static int check_agent(const struct rpmi_client *client, const struct rpmi_call *call)
{
    if (client->agent == 0 || call->kind == RPMI_CALL_AGENT || call->kind == RPMI_CALL_NEXT ||
        call->kind == RPMI_CALL_OWNER || call->kind == RPMI_CALL_ROOM)
        return 0;
    return rpmi_fail(RPM_E_DENIED,
                     "this client is an agent that carries records of writers; open logs and "
                     "regions by another connection");
}

void rpmi_service_call(struct rpmi_service *service, uint32_t client, const struct rpmi_call *call,
                       struct rpmi_reply *reply)
{
    struct rpmi_client *slot = rpmi_client_find(service, client);

    *reply = (struct rpmi_reply){ 0 };
    if (slot == NULL) {
        reply->status = rpmi_fail(RPM_E_DENIED, "client %u is not attached", client);
    } else if ((reply->status = check_agent(slot, call)) != 0) {
        ; /* refused */
    } else if (call->kind == RPMI_CALL_OPEN) {
        reply->status = serve_open(service, slot, call, reply);
    } else if (call->kind == RPMI_CALL_CLAIM) {
        rpmi_claim(service, slot, call, reply);
    } else if (call->kind == RPMI_CALL_SEAL) {
        rpmi_seal(service, slot, call, reply);
    } else if (call->kind == RPMI_CALL_TRIM) {
        rpmi_trim(service, slot, call, reply);
    } else if (call->kind == RPMI_CALL_CLOSE) {
        reply->status = serve_close(service, slot, call);
    } else if (call->kind == RPMI_CALL_REMOVE) {
        reply->status = serve_remove(service, call);
    } else if (call->kind == RPMI_CALL_NEXT) {
        reply->status = serve_next(service, call, reply);
    } else if (call->kind == RPMI_CALL_OWNER) {
        reply->status = serve_owner(service, call, reply);
    } else if (call->kind == RPMI_CALL_ROOM) {
        reply->status = serve_room(service, call, reply);
    } else if (call->kind == RPMI_CALL_AGENT) {
        reply->status = rpmi_enrol_agent(service, slot, call);
    } else if (call->kind == RPMI_CALL_DELEGATE || call->kind == RPMI_CALL_UNDELEGATE) {
        reply->status = rpmi_delegate(service, slot, call);
    } else {
        reply->status = rpmi_fail(RPM_E_PROTO,
                                  "unknown call %u; client and server must be of one minor version",
                                  call->kind);
    }
    if (reply->status != 0 && call->kind != RPMI_CALL_NEXT)
        (void)snprintf(reply->text, sizeof(reply->text), "%s", rpm_last_error());
    RPM_ASSERT(reply->status <= 0);
    RPM_ASSERT_SLOW(rpmi_service_check_invariants(service));
}

uint32_t rpmi_service_starts(const struct rpmi_service *service)
{
    RPM_ASSERT(service->starts != 0); /* an open service has counted its start */
    return service->starts;
}

uint64_t rpmi_service_free_bytes(const struct rpmi_service *service)
{
    struct rpmi_dir_room room;

    rpmi_dir_room(service, false, &room);
    return room.free;
}

void rpmi_service_counters(const struct rpmi_service *service, uint64_t *claims, uint64_t *fenced)
{
    RPM_ASSERT(service->fenced <= service->claims); /* each was granted a claim */
    *claims = service->claims;
    *fenced = service->fenced;
}

void rpmi_service_close(struct rpmi_service **service)
{
    if (*service == NULL)
        return;
    rpmi_free((*service)->objects);
    rpmi_free((*service)->listed);
    rpmi_free((*service)->tally);
    rpmi_free(*service);
    *service = NULL;
}
