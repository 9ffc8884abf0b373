/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.c: the directory of a pool: find, allocate, create and remove objects.
 *
 * Invariants
 *   an object's contents are durable before its entry's state word is stored
 *   the state word is one aligned 8-byte store: an entry is valid or not, never in part
 *   its copy says "in use" only while the state word does, and the checksum of a removed entry is
 *     wrong: an old cache line that reaches the medium late neither frees an entry nor restores one
 *   a loaded entry is durable before the first client sees it
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
    RPM_ASSERT(index < RPMI_POOL_ENTRIES); /* the DRAM area has no directory */
    return service->super.dir_offset + (uint64_t)index * RPMI_DIRENT_BYTES;
}

static bool overlaps(const struct rpmi_dirent *a, const struct rpmi_dirent *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
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
    for (uint32_t i = 0; i < index; i++) {
        const struct rpmi_object *other = &service->objects[i];

        if (other->used &&
            (overlaps(&other->entry, entry) || strcmp(other->entry.name, entry->name) == 0))
            return rpmi_fail(
                RPM_E_CORRUPT,
                "directory entries %u and %u overlap or have one name; restore a copy of the pool",
                i, index);
    }
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
    for (uint32_t i = 0; i < RPMI_POOL_ENTRIES && err == 0; i++) {
        const struct rpmi_object *object = &service->objects[i];

        if (object->used && object->entry.kind == RPM_KIND_LOG)
            err = rpmi_mem_persist(pool, object->entry.offset, RPMI_LOG_HEADER_BYTES);
    }
    return err != 0 ? err : rpmi_mem_persist(pool, 0, service->super.data_offset);
}

static int word_store(struct rpmi_service *service, uint32_t index, uint64_t at, uint64_t value);

int rpmi_dir_load(struct rpmi_service *service)
{
    bool half[RPMI_POOL_ENTRIES] = { false };
    int err = 0;

    for (uint32_t i = 0; i < RPMI_POOL_ENTRIES; i++) {
        unsigned char slot[RPMI_DIRENT_BYTES];
        struct rpmi_object *object = &service->objects[i];
        int used;

        rpmi_mem_load(service->opts.pool, slot_offset(service, i), slot, sizeof(slot));
        used = rpmi_dirent_get(slot, service->opts.pool->bytes, &object->entry);
        if (used < 0)
            return used;
        object->used = used != 0;
        if (object->used && entry_check(service, i) != 0)
            return RPM_E_CORRUPT;
        half[i] = used == RPMI_DIRENT_HALF;
    }
    /* All entries are valid. A create or a remove may have been interrupted between the two state
     * words of an entry: store the second one. */
    for (uint32_t i = 0; i < RPMI_POOL_ENTRIES && err == 0; i++)
        if (half[i])
            err = word_store(service, i, RPMI_DIRENT_STATE_2, rpmi_dirent_used());
    if (err != 0)
        return err;
    return make_durable(service);
}

int rpmi_dir_find(const struct rpmi_service *service, const char *name)
{
    for (uint32_t i = 0; i < RPMI_OBJECTS; i++)
        if (service->objects[i].used && strcmp(service->objects[i].entry.name, name) == 0)
            return (int)i;
    return rpmi_fail(RPM_E_NOENT, "there is no object named '%s'; check the name, or create it",
                     name);
}

/* The places in objects[] of one area: from area_first() to the one before area_past(). */
static uint32_t area_first(bool dram)
{
    return dram ? RPMI_POOL_ENTRIES : 0;
}

static uint32_t area_past(bool dram)
{
    return dram ? RPMI_OBJECTS : RPMI_POOL_ENTRIES;
}

/* The lowest object that ends behind @offset and begins before @offset + @bytes, if any. */
static const struct rpmi_dirent *first_overlap(const struct rpmi_service *service, bool dram,
                                               uint64_t offset, uint64_t bytes)
{
    uint32_t from = area_first(dram);
    uint32_t to = area_past(dram);

    for (uint32_t i = from; i < to; i++) {
        const struct rpmi_dirent *entry = &service->objects[i].entry;

        if (service->objects[i].used && entry->offset < offset + bytes &&
            offset < entry->offset + entry->bytes)
            return entry;
    }
    return NULL;
}

static uint64_t area_begin(const struct rpmi_service *service, bool dram)
{
    return dram ? RPMI_SCRATCH_BYTES : service->super.data_offset;
}

static uint64_t area_end(const struct rpmi_service *service, bool dram)
{
    return dram ? service->opts.dram->bytes : service->opts.pool->bytes;
}

/* Bytes from @at, which is the area's begin or the end of an object, to the next object. */
static uint64_t gap_at(const struct rpmi_service *service, bool dram, uint64_t at)
{
    uint32_t from = area_first(dram);
    uint32_t to = area_past(dram);
    uint64_t end = area_end(service, dram);

    for (uint32_t i = from; i < to; i++) {
        const struct rpmi_dirent *entry = &service->objects[i].entry;

        if (service->objects[i].used && entry->offset >= at && entry->offset < end)
            end = entry->offset;
    }
    return end > at ? end - at : 0;
}

/* Bytes of the largest gap among the objects of one area. */
static uint64_t gap_max(const struct rpmi_service *service, bool dram)
{
    uint64_t align = dram ? RPMI_LINE_BYTES : RPMI_PAGE_BYTES;
    uint64_t largest = gap_at(service, dram, area_begin(service, dram));

    for (uint32_t i = area_first(dram); i < area_past(dram); i++) {
        const struct rpmi_dirent *entry = &service->objects[i].entry;
        uint64_t gap = 0;

        if (service->objects[i].used)
            gap = gap_at(service, dram, rpmi_align_up(entry->offset + entry->bytes, align));
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

void rpmi_dir_room(const struct rpmi_service *service, bool dram, struct rpmi_dir_room *room)
{
    uint64_t align = dram ? RPMI_LINE_BYTES : RPMI_PAGE_BYTES;
    uint32_t from = area_first(dram);
    uint32_t to = area_past(dram);
    uint64_t used = 0;

    *room = (struct rpmi_dir_room){ .bytes = area_end(service, dram) - area_begin(service, dram),
                                    .largest = gap_max(service, dram),
                                    .objects_max = to - from };
    for (uint32_t i = from; i < to; i++) {
        room->objects += service->objects[i].used;
        if (service->objects[i].used)
            used += rpmi_align_up(service->objects[i].entry.bytes, align);
    }
    room->free = used < room->bytes ? room->bytes - used : 0; /* the last one may end unaligned */
    RPM_ASSERT(room->largest <= room->bytes && room->objects <= room->objects_max);
}

int rpmi_dir_place(const struct rpmi_service *service, bool dram, uint64_t bytes, uint64_t *offset)
{
    uint64_t align = dram ? RPMI_LINE_BYTES : RPMI_PAGE_BYTES;
    uint64_t end = area_end(service, dram);
    uint64_t at = area_begin(service, dram);

    /* Every turn skips one object, so RPMI_OBJECTS turns are enough. */
    for (uint32_t turn = 0; turn <= RPMI_OBJECTS && rpmi_in_bounds(at, bytes, end); turn++) {
        const struct rpmi_dirent *overlap = first_overlap(service, dram, at, bytes);

        if (overlap == NULL) {
            RPM_ASSERT(at >= area_begin(service, dram) && rpmi_is_aligned(at, align));
            *offset = at;
            return 0;
        }
        RPM_ASSERT(overlap->offset + overlap->bytes > at); /* each turn advances */
        at = rpmi_align_up(overlap->offset + overlap->bytes, align);
    }
    return rpmi_fail(RPM_E_NOSPACE,
                     "%" PRIu64 " bytes wanted, %" PRIu64 " free in one piece, of the %s's %" PRIu64
                     ": ask for less, remove objects or serve a larger one",
                     bytes, gap_max(service, dram), dram ? "DRAM area" : "pool", end);
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
    uint64_t room = gap_max(service, false);

    RPM_ASSERT(room <= service->opts.pool->bytes - service->super.data_offset);
    while (want + RPMI_LOG_HEADER_BYTES > room && want / 2 >= RPMI_LOG_DEFAULT_MIN)
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

static int free_slot(const struct rpmi_service *service, bool dram)
{
    uint32_t from = area_first(dram);
    uint32_t to = area_past(dram);

    for (uint32_t i = from; i < to; i++)
        if (!service->objects[i].used)
            return (int)i;
    return rpmi_fail(RPM_E_LIMIT, "the %s holds %u objects, its maximum: remove one",
                     dram ? "server's DRAM area" : "pool", to - from);
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
    unsigned char slot[RPMI_DIRENT_BYTES];
    struct rpmi_dirent entry;

    rpmi_mem_load(service->opts.pool, slot_offset(service, index), slot, sizeof(slot));
    if (rpmi_dirent_get(slot, service->opts.pool->bytes, &entry) == 0)
        return 0;
    return entry_free(service, index);
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

static int contents_store(struct rpmi_service *service, const struct rpmi_dirent *entry)
{
    int err;

    switch (entry->kind) {
    case RPM_KIND_LOG:
        /* The ring keeps its old bytes: frames of another log fail this log's checksum. */
        err = RPMI_CANARY(OLD_HEADER) ? 0
                                      : zero_fill(service, service->opts.pool, entry->offset,
                                                  RPMI_LOG_HEADER_BYTES, true);
        return err != 0 ? err : rpmi_head_create(service, entry);
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
    err = object_bytes(service, call, &entry.bytes);
    if (err != 0)
        return err;
    err = rpmi_dir_place(service, dram, entry.bytes, &entry.offset);
    if (err != 0)
        return err;
    memcpy(entry.name, call->name, sizeof(entry.name));
    entry.id = service->opts.entropy(service->opts.context);
    err = contents_store(service, &entry);
    if (err == 0 && !dram)
        err = entry_store(service, (uint32_t)index, &entry);
    if (err != 0)
        return err;
    RPM_ASSERT(!service->objects[index].used && service->objects[index].keys == 0);
    service->objects[index] = (struct rpmi_object){ .used = true, .entry = entry };
    RPM_ASSERT(dram == ((uint32_t)index >= RPMI_POOL_ENTRIES));
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
    *object = (struct rpmi_object){ 0 };
    return 0;
}
