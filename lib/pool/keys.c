/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.c: the keys of clients, which say which client may access which object. A key is an index
 * into its client's own table, so it is void on the connection of another client.
 *
 * Tests: tests/unit/pool/keys_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"

struct rpmi_client *rpmi_client_find(const struct rpmi_service *service, uint32_t client)
{
    const struct rpmi_client *slot;

    if (client == 0)
        return NULL;
    slot = &service->clients[(client - 1) % service->clients_max];
    RPM_ASSERT(slot->id <= service->last_id);
    return slot->id == client ? (struct rpmi_client *)slot : NULL;
}

/* The lowest free key, or 0. Key 0 is the scratch word. */
static uint32_t free_key(const struct rpmi_client *client)
{
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++)
        if (client->key[i].state == RPMI_KEY_FREE)
            return i;
    return 0;
}

int rpmi_key_room(const struct rpmi_client *client)
{
    if (free_key(client) != 0)
        return 0;
    return rpmi_fail(RPM_E_LIMIT,
                     "this connection holds %u keys, the maximum: close a log or region",
                     RPMI_KEYS_MAX - 1);
}

int rpmi_key_grant(struct rpmi_service *service, struct rpmi_client *client, uint32_t object,
                   uint32_t rights, uint32_t *key)
{
    uint32_t i = free_key(client);

    if (i == 0)
        return rpmi_key_room(client);
    RPM_ASSERT(client->id != 0);
    RPM_ASSERT(object < service->objects_n && service->objects[object].used);
    /* A log has one writer: the writer before was fenced. */
    RPM_ASSERT(service->objects[object].entry.kind != RPM_KIND_LOG ||
               (rights & RPMI_RIGHT_WRITE) == 0 || service->objects[object].writer == 0);
    client->key[i] = (struct rpmi_key){
        .object = (uint16_t)object,
        .state = RPMI_KEY_LIVE,
        .rights = (uint8_t)rights,
    };
    service->objects[object].keys++;
    *key = i;
    return 0;
}

/* The claim that @client had on the log at index @log has ended. */
static void fence_guarded(const struct rpmi_service *service, struct rpmi_client *client,
                          uint32_t log)
{
    RPM_ASSERT(rpmi_is_pool_index(service, log));
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++)
        if (client->key[i].guard == log + 1)
            client->key[i].fenced = true;
}

int rpmi_key_object(struct rpmi_service *service, struct rpmi_client *client, uint32_t key,
                    uint32_t rights, struct rpmi_object **object)
{
    const struct rpmi_key *entry;

    if (key == RPMI_KEY_SCRATCH || key >= RPMI_KEYS_MAX || client->key[key].state == RPMI_KEY_FREE)
        return rpmi_fail(RPM_E_DENIED, "no key %u was granted to this client", key);
    entry = &client->key[key];
    if (entry->state == RPMI_KEY_REVOKED)
        return rpmi_fail(RPM_E_FENCED, "another writer claimed the log; claim it to write again");
    if ((entry->rights & rights) != rights)
        return rpmi_fail(
            RPM_E_DENIED,
            "key %u has the rights %#x, the operation needs %#x; open the object for it", key,
            entry->rights, rights);
    *object = &service->objects[entry->object];
    RPM_ASSERT((*object)->used && (*object)->keys > 0);
    return 0;
}

void rpmi_key_drop(struct rpmi_service *service, struct rpmi_client *client, uint32_t key)
{
    struct rpmi_key *entry = &client->key[key];
    struct rpmi_object *object = &service->objects[entry->object];

    RPM_ASSERT(entry->state != RPMI_KEY_FREE);
    if (entry->state == RPMI_KEY_LIVE) {
        RPM_ASSERT(object->keys > 0);
        object->keys--;
        if (object->entry.kind == RPM_KIND_LOG && (entry->rights & RPMI_RIGHT_WRITE) != 0) {
            RPM_ASSERT(object->writer == client->id);
            object->writer = 0;
            rpmi_delegation_end(object);
            fence_guarded(service, client, entry->object);
        }
    }
    *entry = (struct rpmi_key){ 0 };
}

void rpmi_key_revoke(struct rpmi_service *service, uint32_t client, uint32_t object)
{
    struct rpmi_client *holder = rpmi_client_find(service, client);

    RPM_ASSERT(service->objects[object].entry.kind == RPM_KIND_LOG);
    RPM_ASSERT(service->objects[object].writer == client);
    if (holder == NULL)
        return;
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++) {
        struct rpmi_key *key = &holder->key[i];

        if (key->state != RPMI_KEY_LIVE || key->object != object ||
            (key->rights & RPMI_RIGHT_WRITE) == 0)
            continue;
        RPM_ASSERT(service->objects[object].keys > 0);
        key->state = RPMI_KEY_REVOKED;
        service->objects[object].keys--;
    }
    fence_guarded(service, holder, object);
}

int rpmi_service_access(const struct rpmi_service *service, uint32_t client, uint32_t key,
                        uint64_t offset, uint64_t len, uint32_t rights, struct rpmi_span *span)
{
    const struct rpmi_client *slot = rpmi_client_find(service, client);
    const struct rpmi_object *object;
    const struct rpmi_key *entry;

    if (slot == NULL || key >= RPMI_KEYS_MAX)
        return RPM_E_DENIED;
    if (key == RPMI_KEY_SCRATCH) {
        if (rights != RPMI_RIGHT_READ)
            return RPM_E_DENIED;
        *span = (struct rpmi_span){ .area = RPMI_AREA_DRAM, .offset = offset };
        return rpmi_in_bounds(offset, len, RPMI_SCRATCH_BYTES) ? 0 : RPM_E_RANGE;
    }
    entry = &slot->key[key];
    if (entry->state == RPMI_KEY_FREE || (entry->rights & rights) != rights)
        return RPM_E_DENIED;
    if (entry->state == RPMI_KEY_REVOKED || (entry->fenced && rights != RPMI_RIGHT_READ))
        return RPM_E_FENCED;
    object = &service->objects[entry->object];
    RPM_ASSERT(object->keys > 0); /* a live key is counted, so its object stays */
    if (!rpmi_in_bounds(offset, len, object->entry.bytes))
        return RPM_E_RANGE;
    /* A log's header belongs to the server alone, but for the line of the commit word. */
    if (object->entry.kind == RPM_KIND_LOG && (rights & RPMI_RIGHT_WRITE) != 0 &&
        offset < RPMI_LOG_GUARDED_BYTES)
        return RPM_E_DENIED;
    if ((rights & RPMI_RIGHT_ATOMIC) != 0 && !rpmi_is_aligned(offset, sizeof(uint64_t)))
        return RPM_E_INVAL;
    span->area = rpmi_area_of(rpmi_object_volatile(object));
    span->offset = object->entry.offset + offset;
    return 0;
}

int rpmi_service_extent(const struct rpmi_service *service, uint32_t client, uint32_t key,
                        struct rpmi_extent *extent)
{
    const struct rpmi_client *slot = rpmi_client_find(service, client);
    const struct rpmi_object *object;
    const struct rpmi_key *entry;

    if (slot == NULL || key >= RPMI_KEYS_MAX)
        return RPM_E_DENIED;
    if (key == RPMI_KEY_SCRATCH) {
        *extent = (struct rpmi_extent){
            .area = RPMI_AREA_DRAM,
            .bytes = RPMI_SCRATCH_BYTES,
            .rights = RPMI_RIGHT_READ,
        };
        return 0;
    }
    entry = &slot->key[key];
    if (entry->state == RPMI_KEY_FREE)
        return RPM_E_DENIED;
    if (entry->state == RPMI_KEY_REVOKED)
        return RPM_E_FENCED;
    object = &service->objects[entry->object];
    *extent = (struct rpmi_extent){
        .area = rpmi_area_of(rpmi_object_volatile(object)),
        .offset = object->entry.offset,
        .bytes = object->entry.bytes,
        .guarded_bytes = object->entry.kind == RPM_KIND_LOG ? RPMI_LOG_GUARDED_BYTES : 0,
        .rights = entry->fenced ? RPMI_RIGHT_READ : entry->rights,
    };
    RPM_ASSERT(object->used && object->keys > 0);
    RPM_ASSERT(extent->bytes >= extent->guarded_bytes);
    if (object->entry.kind == RPM_KIND_LOG && (entry->rights & RPMI_RIGHT_WRITE) != 0) {
        RPM_ASSERT(object->writer == client);
        extent->claim_header = object->entry.offset;
    } else if (entry->guard != 0) {
        RPM_ASSERT(entry->fenced || service->objects[entry->guard - 1].writer == client);
        extent->claim_header = service->objects[entry->guard - 1].entry.offset;
    }
    return 0;
}
