/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.c: the dirty lines of a machine, and their older versions.
 *
 * Only the visible bytes are stored as a whole; the durable bytes are these with the oldest version
 * of each dirty line in place. So opening a world and cutting the power are cheap.
 *
 * Invariants: cache.h; and fresh + spares + versions in use add up to all versions.
 *
 * Tests: tests/unit/sim/device/cache_test.cpp
 */
#include "sim/device/cache.h"

#include "base/assert.h"
#include "base/bytes.h"

static uint32_t line_of(uint64_t offset)
{
    return (uint32_t)(offset / RPMI_LINE_BYTES);
}

static uint32_t lines_of(uint64_t bytes)
{
    RPM_ASSERT(bytes % RPMI_LINE_BYTES == 0 && bytes / RPMI_LINE_BYTES < UINT32_MAX / 2);
    return line_of(bytes);
}

size_t rpmi_cache_bytes(uint64_t bytes)
{
    uint64_t heads = rpmi_align_up((uint64_t)lines_of(bytes) * sizeof(uint32_t), RPMI_LINE_BYTES);

    return (size_t)(heads + rpmi_align_up(RPMI_SIM_VERSIONS *
                                              (sizeof(struct rpmi_version) + sizeof(uint32_t)),
                                          RPMI_LINE_BYTES));
}

void rpmi_cache_open(struct rpmi_cache *cache, void *room, unsigned char *seen, uint64_t bytes,
                     uint32_t unit_lines)
{
    unsigned char *next = room;

    RPM_ASSERT(unit_lines > 0 && (unit_lines & (unit_lines - 1)) == 0);
    memset(cache, 0, sizeof(*cache));
    cache->seen = seen;
    cache->lines = lines_of(bytes);
    cache->unit_lines = unit_lines;
    cache->versions = RPMI_SIM_VERSIONS;
    cache->version = (struct rpmi_version *)(void *)next;
    next += RPMI_SIM_VERSIONS * sizeof(struct rpmi_version);
    cache->dirty = (uint32_t *)(void *)next;
    next += RPMI_SIM_VERSIONS * sizeof(uint32_t);
    cache->oldest = (uint32_t *)(void *)next;
}

static unsigned char *seen_at(const struct rpmi_cache *cache, uint32_t line)
{
    RPM_ASSERT(line < cache->lines);
    return cache->seen + (uint64_t)line * RPMI_LINE_BYTES;
}

static struct rpmi_version *version_at(const struct rpmi_cache *cache, uint32_t index)
{
    RPM_ASSERT(index > 0 && index <= cache->versions);
    return &cache->version[index - 1];
}

static uint32_t version_take(struct rpmi_cache *cache)
{
    uint32_t index = cache->spare;

    if (index == 0)
        return ++cache->fresh;
    cache->spare = version_at(cache, index)->next;
    cache->spares--;
    return index;
}

static void version_give(struct rpmi_cache *cache, uint32_t index)
{
    version_at(cache, index)->next = cache->spare;
    cache->spare = index;
    cache->spares++;
}

static bool room_left(const struct rpmi_cache *cache)
{
    return cache->spare != 0 || cache->fresh < cache->versions;
}

static void dirty_add(struct rpmi_cache *cache, uint32_t line, struct rpmi_version *oldest)
{
    RPM_ASSERT(cache->dirty_count < cache->versions);
    oldest->place = cache->dirty_count;
    cache->dirty[cache->dirty_count++] = line;
}

static void dirty_remove(struct rpmi_cache *cache, uint32_t place)
{
    uint32_t moved = cache->dirty[--cache->dirty_count];

    if (place != cache->dirty_count) {
        cache->dirty[place] = moved;
        version_at(cache, cache->oldest[moved])->place = place;
    }
}

/* Keep the visible content of a line that is about to change, as a version. */
static void keep(struct rpmi_cache *cache, uint32_t line)
{
    uint32_t index = version_take(cache);
    struct rpmi_version *version = version_at(cache, index);
    uint32_t head = cache->oldest[line];
    struct rpmi_version *oldest = version;

    memcpy(version->bytes, seen_at(cache, line), RPMI_LINE_BYTES);
    version->until = ++cache->stamp;
    version->next = 0;
    if (head == 0) {
        cache->oldest[line] = index;
        version->count = 0;
        dirty_add(cache, line, version);
    } else {
        oldest = version_at(cache, head);
        version_at(cache, oldest->last)->next = index;
    }
    oldest->last = index;
    oldest->count++;
}

void rpmi_cache_write(struct rpmi_cache *cache, uint64_t offset, const void *from, uint32_t len,
                      struct rpmi_rng *rng)
{
    uint32_t line = line_of(offset);

    RPM_ASSERT(len > 0 && line_of(offset + len - 1) == line && line < cache->lines);
    if (!room_left(cache)) {
        bool evicted = rpmi_cache_evict(cache, rng);

        RPM_ASSERT(evicted);
    }
    keep(cache, line);
    memcpy(cache->seen + offset, from, len);
}

void rpmi_cache_write_through(struct rpmi_cache *cache, uint64_t offset, const void *from,
                              uint32_t len)
{
    uint32_t line = line_of(offset);

    RPM_ASSERT(len > 0 && line_of(offset + len - 1) == line && line < cache->lines);
    rpmi_cache_write_back(cache, line, UINT64_MAX);
    cache->stamp++;
    memcpy(cache->seen + offset, from, len);
}

bool rpmi_cache_write_back(struct rpmi_cache *cache, uint32_t line, uint64_t stamp)
{
    uint32_t index = cache->oldest[line];
    struct rpmi_version *old;
    struct rpmi_version was;

    if (index == 0 || version_at(cache, index)->until > stamp)
        return false;
    was = *version_at(cache, index);
    while (index != 0) {
        old = version_at(cache, index);
        if (old->until > stamp)
            break;
        cache->oldest[line] = old->next;
        version_give(cache, index);
        index = cache->oldest[line];
        was.count--;
    }
    if (index == 0) {
        RPM_ASSERT(was.count == 0);
        dirty_remove(cache, was.place);
        return true;
    }
    old = version_at(cache, index);
    old->last = was.last;
    old->count = was.count;
    old->place = was.place;
    return true;
}

bool rpmi_cache_write_back_unit(struct rpmi_cache *cache, uint32_t line, uint64_t stamp)
{
    uint32_t first = line & ~(cache->unit_lines - 1);
    bool any = false;

    for (uint32_t i = first; i < first + cache->unit_lines && i < cache->lines; i++)
        any = rpmi_cache_write_back(cache, i, stamp) || any;
    return any;
}

bool rpmi_cache_evict(struct rpmi_cache *cache, struct rpmi_rng *rng)
{
    uint32_t line;

    if (cache->dirty_count == 0)
        return false;
    line = cache->dirty[rpmi_rng_below(rng, cache->dirty_count)];
    return rpmi_cache_write_back_unit(cache, line, UINT64_MAX);
}

uint32_t rpmi_cache_next_dirty(const struct rpmi_cache *cache, uint32_t line, uint32_t end)
{
    RPM_ASSERT(end <= cache->lines);
    if (cache->dirty_count == 0)
        return end;
    while (line < end && cache->oldest[line] == 0)
        line++;
    return line;
}

uint32_t rpmi_cache_choices(const struct rpmi_cache *cache, uint32_t line)
{
    uint32_t head = cache->oldest[line];

    return head == 0 ? 1 : version_at(cache, head)->count + 1;
}

const unsigned char *rpmi_cache_choice(const struct rpmi_cache *cache, uint32_t line, uint32_t i,
                                       uint64_t *until)
{
    uint32_t index = cache->oldest[line];

    for (; i > 0 && index != 0; i--)
        index = version_at(cache, index)->next;
    RPM_ASSERT(i == 0);
    *until = index == 0 ? UINT64_MAX : version_at(cache, index)->until;
    return index == 0 ? seen_at(cache, line) : version_at(cache, index)->bytes;
}

const unsigned char *rpmi_cache_as_of(const struct rpmi_cache *cache, uint32_t line, uint64_t stamp)
{
    uint32_t index = cache->oldest[line];

    while (index != 0 && version_at(cache, index)->until <= stamp)
        index = version_at(cache, index)->next;
    return index == 0 ? seen_at(cache, line) : version_at(cache, index)->bytes;
}

void rpmi_cache_settle(struct rpmi_cache *cache, uint32_t line, const unsigned char *bytes)
{
    unsigned char kept[RPMI_LINE_BYTES];

    memcpy(kept, bytes, sizeof(kept)); /* may be in a version that is freed now */
    rpmi_cache_write_back(cache, line, UINT64_MAX);
    memcpy(seen_at(cache, line), kept, sizeof(kept));
}
