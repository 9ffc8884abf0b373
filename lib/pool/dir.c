/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.c: the directory of a pool: find, create and remove objects.
 *
 * Invariants
 *   an object's contents are durable before its entry's state word is stored
 *   the state word is one aligned 8-byte store: an entry is valid or not, never in part
 *   its copy says "in use" only while the state word does, and the checksum of a removed entry is
 *     wrong: an old cache line that reaches the medium late neither frees an entry nor restores one
 *   a loaded entry is durable before the first client sees it
 *   an object in use is in the sorted lists of names and of its area, a log also in that of ids
 *
 * Format: FORMAT.md, section 3.   Tests: tests/unit/pool/dir_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>

#define ZERO_CHUNK 1024u
#define ZERO_PART (16u << 20) /* other clients' accesses wait while this many are zeroed */

static uint64_t slot_offset(const struct rpmi_service *service, uint32_t index)
{
    RPM_ASSERT(rpmi_is_pool_index(service, index)); /* the DRAM area has no directory */
    return service->super.dir_offset + (uint64_t)index * RPMI_DIRENT_BYTES;
}

static struct rpmi_sorted *by_place(struct rpmi_service *service, bool dram)
{
    return &service->by_place[rpmi_area_of(dram)];
}

static void lists_add(struct rpmi_service *service, struct rpmi_object *object)
{
    rpmi_sorted_add(&service->by_name, object);
    rpmi_sorted_add(by_place(service, rpmi_object_volatile(object)), object);
    if (object->entry.kind == RPM_KIND_LOG)
        rpmi_sorted_add(&service->by_id, object);
}

static void lists_remove(struct rpmi_service *service, const struct rpmi_object *object)
{
    rpmi_sorted_remove(&service->by_name, object);
    rpmi_sorted_remove(by_place(service, rpmi_object_volatile(object)), object);
    if (object->entry.kind == RPM_KIND_LOG)
        rpmi_sorted_remove(&service->by_id, object);
}

/* The object with the name of @key, or NULL. */
static const struct rpmi_object *find_name(const struct rpmi_service *service,
                                           const struct rpmi_dirent *key)
{
    uint32_t place = rpmi_sorted_find(&service->by_name, key);
    const struct rpmi_object *object;

    if (place == service->by_name.n)
        return NULL;
    object = service->by_name.at[place];
    RPM_ASSERT(object->used);
    return strcmp(object->entry.name, key->name) == 0 ? object : NULL;
}

/* Does an object of the pool have bytes of @entry? */
static bool is_taken(const struct rpmi_service *service, const struct rpmi_dirent *entry)
{
    const struct rpmi_sorted *list = &service->by_place[RPMI_AREA_POOL];
    uint32_t place = rpmi_sorted_find(list, entry);

    if (place < list->n && list->at[place]->entry.offset - entry->offset < entry->bytes)
        return true;
    if (place == 0)
        return false;
    return entry->offset - list->at[place - 1]->entry.offset < list->at[place - 1]->entry.bytes;
}

static int entry_check(const struct rpmi_service *service, uint32_t index)
{
    const struct rpmi_dirent *entry = &service->objects[index].entry;

    if (entry->kind != RPM_KIND_LOG && entry->kind != RPM_KIND_REGION)
        return rpmi_fail(
            RPM_E_CORRUPT,
            "directory entry %u has kind %u, known are %u and %u; restore a copy of the pool",
            index, entry->kind, RPM_KIND_LOG, RPM_KIND_REGION);
    if (entry->offset < service->super.data_offset ||
        !rpmi_is_aligned(entry->offset, RPMI_PAGE_BYTES))
        return rpmi_fail(RPM_E_CORRUPT,
                         "directory entry %u begins at %" PRIu64
                         ", expected is a multiple of %u from %" PRIu64
                         " on; restore a copy of the pool",
                         index, entry->offset, RPMI_PAGE_BYTES, service->super.data_offset);
    if (entry->kind == RPM_KIND_LOG &&
        (entry->bytes < RPMI_LOG_HEADER_BYTES + RPMI_LOG_CAPACITY_MIN ||
         !rpmi_is_aligned(entry->bytes, RPMI_PAGE_BYTES)))
        return rpmi_fail(
            RPM_E_CORRUPT,
            "directory entry %u: a log of %" PRIu64
            " bytes, expected is a multiple of %u from %u on; restore a copy of the pool",
            index, entry->bytes, RPMI_PAGE_BYTES, RPMI_LOG_HEADER_BYTES + RPMI_LOG_CAPACITY_MIN);
    if (find_name(service, entry) != NULL || is_taken(service, entry))
        return rpmi_fail(
            RPM_E_CORRUPT,
            "directory entry %u has the name or bytes of one before it; restore a copy of the pool",
            index);
    return 0;
}

/* A server that was killed may have left directory entries and heads of logs that are visible, but
 * not on the medium. Make them durable before clients depend on them. */
static int make_durable(struct rpmi_service *service)
{
    struct rpmi_mem *pool = service->opts.pool;
    int err = 0;

    if (RPMI_CANARY(NO_START_FLUSH))
        return 0;
    for (uint32_t i = 0; i < service->by_id.n && err == 0; i++)
        err = rpmi_mem_persist(pool, service->by_id.at[i]->entry.offset, RPMI_LOG_HEADER_BYTES);
    return err != 0 ? err : rpmi_mem_persist(pool, 0, service->super.data_offset);
}

static int word_store(struct rpmi_service *service, uint32_t index, uint64_t at, uint64_t value);

/* Read the entry in slot @index. Returns 0, enum rpmi_dirent_use or an error. */
static int entry_load(const struct rpmi_service *service, uint32_t index, struct rpmi_dirent *entry)
{
    unsigned char slot[RPMI_DIRENT_BYTES];

    rpmi_mem_load(service->opts.pool, slot_offset(service, index), slot, sizeof(slot));
    return rpmi_dirent_get(slot, service->opts.pool->bytes, entry);
}

/* A create or a remove may have been interrupted between the two state words of an entry: store the
 * second one. */
static int entry_complete(struct rpmi_service *service, uint32_t index)
{
    struct rpmi_dirent entry;

    if (entry_load(service, index, &entry) != RPMI_DIRENT_HALF)
        return 0;
    return word_store(service, index, RPMI_DIRENT_STATE_2, rpmi_dirent_used());
}

int rpmi_dir_load(struct rpmi_service *service)
{
    int err = 0;

    for (uint32_t i = 0; i < service->super.entries; i++) {
        struct rpmi_object *object = &service->objects[i];
        int used = entry_load(service, i, &object->entry);

        if (used < 0)
            return used;
        if (used == 0)
            continue;
        if (entry_check(service, i) != 0)
            return RPM_E_CORRUPT;
        object->used = true;
        lists_add(service, object);
    }
    /* All entries are valid: from here on the pool may be changed. */
    for (uint32_t i = 0; i < service->super.entries && err == 0; i++)
        if (service->objects[i].used)
            err = entry_complete(service, i);
    return err != 0 ? err : make_durable(service);
}

static struct rpmi_dirent key_of(const char *name)
{
    struct rpmi_dirent key = { .kind = 0 };
    size_t bytes = strnlen(name, sizeof(key.name));

    RPM_ASSERT(bytes < sizeof(key.name)); /* a call with a longer name is not decoded */
    memcpy(key.name, name, bytes);
    return key;
}

const struct rpmi_object *rpmi_dir_next(const struct rpmi_service *service, const char *name)
{
    struct rpmi_dirent key = key_of(name);
    uint32_t place = rpmi_sorted_find(&service->by_name, &key);

    place += find_name(service, &key) != NULL;
    return place < service->by_name.n ? service->by_name.at[place] : NULL;
}

int rpmi_dir_find(const struct rpmi_service *service, const char *name)
{
    struct rpmi_dirent key = key_of(name);
    const struct rpmi_object *object = find_name(service, &key);

    if (object == NULL)
        return rpmi_fail(RPM_E_NOENT, "there is no object named '%s'; check the name, or create it",
                         name);
    return (int)(object - service->objects);
}

static int zero_part(struct rpmi_mem *mem, uint64_t offset, uint64_t bytes, bool durable)
{
    static const unsigned char zeros[ZERO_CHUNK];

    RPM_ASSERT(bytes <= ZERO_PART); /* other clients wait for no longer part */
    for (uint64_t at = 0; at < bytes; at += ZERO_CHUNK)
        rpmi_mem_store(mem, offset + at, zeros, bytes - at < ZERO_CHUNK ? bytes - at : ZERO_CHUNK);
    return durable ? rpmi_mem_persist(mem, offset, bytes) : 0;
}

static int zero_fill(struct rpmi_service *service, struct rpmi_mem *mem, uint64_t offset,
                     uint64_t bytes, bool durable)
{
    int err = 0;

    RPM_ASSERT(rpmi_in_bounds(offset, bytes, mem->bytes));
    RPM_ASSERT(rpmi_is_aligned(offset, RPMI_LINE_BYTES));
    for (uint64_t at = 0; at < bytes && err == 0; at += ZERO_PART) {
        if (at != 0 && service->opts.yield != NULL)
            service->opts.yield(service->opts.context);
        err = zero_part(mem, offset + at, bytes - at < ZERO_PART ? bytes - at : ZERO_PART, durable);
    }
    return err;
}

/* Default capacity of a log, which leaves room for other objects of the pool. */
static uint64_t log_default(const struct rpmi_service *service)
{
    uint64_t share = service->opts.pool->bytes / RPMI_LOG_DEFAULT_SHARE;
    uint64_t want = share < RPMI_LOG_DEFAULT_MAX ? share : RPMI_LOG_DEFAULT_MAX;
    struct rpmi_dir_room room;

    rpmi_dir_room(service, false, &room);
    while (want + RPMI_LOG_HEADER_BYTES > room.largest && want / 2 >= RPMI_LOG_DEFAULT_MIN)
        want /= 2;
    return rpmi_align_down(want, RPMI_PAGE_BYTES);
}

static int object_bytes(const struct rpmi_service *service, const struct rpmi_call *call,
                        uint64_t *bytes)
{
    if (call->object == RPM_KIND_LOG && call->bytes == 0) {
        *bytes = log_default(service) + RPMI_LOG_HEADER_BYTES;
        return 0;
    }
    if (call->bytes == 0 || call->bytes > UINT64_MAX / 2)
        return rpmi_fail(RPM_E_INVAL,
                         "an object cannot have %" PRIu64 " bytes; it has 1 to %" PRIu64,
                         call->bytes, UINT64_MAX / 2);
    *bytes = call->bytes;
    if (call->object == RPM_KIND_LOG) {
        if (call->bytes < RPMI_LOG_CAPACITY_MIN || !rpmi_is_aligned(call->bytes, RPMI_PAGE_BYTES))
            return rpmi_fail(RPM_E_INVAL,
                             "a log cannot have a capacity of %" PRIu64
                             " bytes: at least %u, a multiple of %u",
                             call->bytes, RPMI_LOG_CAPACITY_MIN, RPMI_PAGE_BYTES);
        *bytes = call->bytes + RPMI_LOG_HEADER_BYTES;
    }
    if (rpmi_kind_is_volatile(call->object) && !rpmi_is_aligned(call->bytes, sizeof(uint64_t)))
        return rpmi_fail(RPM_E_INVAL,
                         "a volatile object of %" PRIu64 " bytes; it has a multiple of %zu",
                         call->bytes, sizeof(uint64_t));
    return 0;
}

/* Can an object begin as @call says? Only a log begins with numbers that the client chooses. */
static int check_beginning(const struct rpmi_service *service, const struct rpmi_call *call)
{
    const struct rpmi_object *taken;

    RPM_ASSERT((call->flags & RPMI_CALL_CREATE) != 0);
    if (call->object != RPM_KIND_LOG)
        return call->id == 0 && call->epoch == 0 && call->set.copies == 0
                   ? 0
                   : rpmi_fail(RPM_E_INVAL,
                               "'%s' is not to be a log, and only a log is created with an id, "
                               "an epoch or a set",
                               call->name);
    if (!rpmi_is_aligned(call->lsn, RPMI_LINE_BYTES) || call->lsn >= RPMI_HEAD_LIMIT ||
        call->epoch == UINT32_MAX)
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot begin at LSN %" PRIu64 " with epoch %" PRIu32
                         "; an LSN is a multiple of %u below 2^63, and the highest epoch is %u",
                         call->name, call->lsn, call->epoch, RPMI_LINE_BYTES, UINT32_MAX - 1);
    if (!rpmi_membership_is_sound(&call->set))
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot be member %u of %u with acks %u; a set has 1 to %u "
                         "members, and acks of 1 to their number",
                         call->name, call->set.member, call->set.copies, call->set.acks,
                         RPMI_COPIES_MAX);
    taken = call->id != 0 ? rpmi_log_of_id(service, call->id) : NULL;
    return taken == NULL ? 0
                         : rpmi_fail(RPM_E_EXISTS,
                                     "log '%s' of this pool has the id %#" PRIx64 " of the new "
                                     "log '%s'; remove it, or choose another pool",
                                     taken->entry.name, call->id, call->name);
}

static int free_slot(const struct rpmi_service *service, bool dram)
{
    uint32_t from = rpmi_area_first(service, dram);
    uint32_t to = rpmi_area_past(service, dram);

    for (uint32_t i = from; i < to; i++)
        if (!service->objects[i].used)
            return (int)i;
    if (dram)
        return rpmi_fail(RPM_E_LIMIT,
                         "the server's DRAM area holds %u objects, its maximum: remove one",
                         to - from);
    return rpmi_fail(RPM_E_LIMIT,
                     "the pool holds %u objects, as many as its directory has room for: remove "
                     "one, or serve a larger pool (at most %u objects, one for each %u bytes)",
                     to - from, RPMI_POOL_ENTRIES_MAX, RPMI_POOL_BYTES_PER_ENTRY);
}

/* Store one word of an entry durably. */
static int word_store(struct rpmi_service *service, uint32_t index, uint64_t at, uint64_t value)
{
    unsigned char word[sizeof(uint64_t)];

    RPM_ASSERT(at < RPMI_DIRENT_BYTES && rpmi_is_aligned(at, sizeof(word)));
    at += slot_offset(service, index);
    rpmi_store64(word, value);
    rpmi_mem_store(service->opts.pool, at, word, sizeof(word));
    return rpmi_mem_persist(service->opts.pool, at, sizeof(word));
}

/* Free the entry. Its wrong checksum keeps an old state word from restoring it. */
static int entry_free(struct rpmi_service *service, uint32_t index)
{
    int err;

    RPM_ASSERT(service->objects[index].keys == 0);
    err = word_store(service, index, RPMI_DIRENT_STATE_2, rpmi_dirent_free());

    if (err == 0)
        err = word_store(service, index, 0, rpmi_dirent_free());
    return err != 0 ? err : word_store(service, index, RPMI_DIRENT_SUM, 0);
}

/* A slot in which a create failed half-way must be marked free before another body is written. */
static int entry_clear(struct rpmi_service *service, uint32_t index)
{
    struct rpmi_dirent entry;

    return entry_load(service, index, &entry) == 0 ? 0 : entry_free(service, index);
}

/* Make the entry valid: it is free while its body is written, then the state word and its copy
 * follow. */
static int entry_store(struct rpmi_service *service, uint32_t index,
                       const struct rpmi_dirent *entry)
{
    struct rpmi_mem *pool = service->opts.pool;
    unsigned char slot[RPMI_DIRENT_BYTES];
    int err = entry_clear(service, index);

    RPM_ASSERT(!service->objects[index].used);
    RPM_ASSERT(entry->offset >= service->super.data_offset);
    if (err != 0)
        return err;
    rpmi_dirent_put(slot, entry);
    RPM_ASSERT(rpmi_load64(slot) == rpmi_dirent_free()); /* the body is written first, then the
                                                            state word */
    if (RPMI_CANARY(EARLY_STATE))
        rpmi_store64(slot, rpmi_dirent_used());
    rpmi_mem_store(pool, slot_offset(service, index), slot, sizeof(slot));
    err = rpmi_mem_persist(pool, slot_offset(service, index), sizeof(slot));
    if (err == 0)
        err = word_store(service, index, 0, rpmi_dirent_used());
    return err != 0 ? err : word_store(service, index, RPMI_DIRENT_STATE_2, rpmi_dirent_used());
}

/* The ring keeps its old bytes if the id is new: frames of another log fail this log's checksum. An
 * id that the client chose may have been that of a removed log here. */
static int log_store(struct rpmi_service *service, const struct rpmi_dirent *entry,
                     const struct rpmi_call *call)
{
    uint64_t bytes = call->id != 0 ? entry->bytes : RPMI_LOG_HEADER_BYTES;
    int err = RPMI_CANARY(OLD_HEADER)
                  ? 0
                  : zero_fill(service, service->opts.pool, entry->offset, bytes, true);

    RPM_ASSERT(call->id == 0 || call->id == entry->id);
    if (err == 0)
        err = rpmi_head_create(service, entry, call);
    return err != 0 || call->epoch == 0 ? err : rpmi_claim_create(service, entry, call->epoch);
}

static int contents_store(struct rpmi_service *service, const struct rpmi_dirent *entry,
                          const struct rpmi_call *call)
{
    switch (entry->kind) {
    case RPM_KIND_LOG:
        return log_store(service, entry, call);
    case RPM_KIND_REGION:
        return zero_fill(service, service->opts.pool, entry->offset, entry->bytes,
                         !RPMI_CANARY(WEAK_ZEROS));
    default:
        return zero_fill(service, service->opts.dram, entry->offset, entry->bytes, false);
    }
}

int rpmi_dir_create(struct rpmi_service *service, const struct rpmi_call *call)
{
    bool dram = rpmi_kind_is_volatile(call->object);
    struct rpmi_dirent entry = { .kind = call->object };
    int index = free_slot(service, dram);
    int err;

    if (index < 0)
        return index;
    err = check_beginning(service, call);
    if (err == 0)
        err = object_bytes(service, call, &entry.bytes);
    if (err != 0)
        return err;
    err = rpmi_dir_place(service, dram, entry.bytes, &entry.offset);
    if (err != 0)
        return err;
    memcpy(entry.name, call->name, sizeof(entry.name));
    entry.id = call->id != 0 ? call->id : service->opts.entropy(service->opts.context);
    err = contents_store(service, &entry, call);
    if (err == 0 && !dram)
        err = entry_store(service, (uint32_t)index, &entry);
    if (err != 0)
        return err;
    RPM_ASSERT(!service->objects[index].used && service->objects[index].keys == 0);
    RPM_ASSERT(dram != rpmi_is_pool_index(service, (uint32_t)index));
    service->objects[index] = (struct rpmi_object){ .used = true, .entry = entry };
    lists_add(service, &service->objects[index]);
    return index;
}

int rpmi_dir_remove(struct rpmi_service *service, uint32_t index)
{
    struct rpmi_object *object = &service->objects[index];

    RPM_ASSERT(object->used && object->keys == 0);
    RPM_ASSERT(object->writer == 0);
    if (!rpmi_object_volatile(object)) {
        int err = entry_free(service, index);

        if (err != 0)
            return err;
    }
    lists_remove(service, object);
    *object = (struct rpmi_object){ 0 };
    return 0;
}
