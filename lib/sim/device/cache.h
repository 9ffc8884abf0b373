/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.h: the bytes that are visible but not yet in the persistence domain, line by line: a CPU
 * cache under ADR, a page cache over a block device. Every older content that the media may still
 * hold, or may have received by an unnoticed eviction, is kept until the line is written back.
 *
 * Invariants
 *   a clean line has no version, and its visible content is durable
 *   of a dirty line the oldest version is durable, the others were visible later, one after
 *     another, and the newest content is visible now
 *
 * Tests: tests/unit/sim/device/cache_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_CACHE_H
#define RPMI_SIM_DEVICE_CACHE_H

#include "base/limits.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPMI_SIM_VERSIONS 1024u /* older contents kept at once; beyond that lines are evicted */

struct rpmi_version {
    unsigned char bytes[RPMI_LINE_BYTES];
    uint64_t until; /* stamp of the write that replaced it */
    uint32_t next;  /* index + 1 of the next newer version, 0: the visible content is newer */
    uint32_t last;  /* in the oldest only: index + 1 of the newest version */
    uint32_t count; /* in the oldest only: versions of this line */
    uint32_t place; /* in the oldest only: index in the list of dirty lines */
};

struct rpmi_cache {
    unsigned char *seen; /* the visible bytes. Borrowed */
    uint32_t *oldest;    /* for each line: index + 1 of its oldest version, 0: clean */
    uint32_t lines;
    uint32_t unit_lines; /* lines that are written back together, a power of two */
    struct rpmi_version *version;
    uint32_t versions;
    uint32_t fresh; /* versions from here on were never used */
    uint32_t spare; /* list of free versions: index + 1 */
    uint32_t spares;
    uint32_t *dirty; /* list of dirty lines, in no order */
    uint32_t dirty_count;
    uint64_t stamp; /* writes so far */
};

/* Bytes that rpmi_cache_open() needs for a memory of @bytes. */
size_t rpmi_cache_bytes(uint64_t bytes);

/* Over @bytes at @seen, all clean. @room: rpmi_cache_bytes() zeroed bytes, cache-line aligned. */
void rpmi_cache_open(struct rpmi_cache *cache, void *room, unsigned char *seen, uint64_t bytes,
                     uint32_t unit_lines);

/* Write inside one line, which becomes dirty. Without room for its older content a dirty unit that
 * is chosen at random is evicted first. */
void rpmi_cache_write(struct rpmi_cache *cache, uint64_t offset, const void *from, uint32_t len,
                      struct rpmi_rng *rng);

/* Write inside one line, durable on arrival; dirty bytes of that line are written back with it, as
 * a snoop does. */
void rpmi_cache_write_through(struct rpmi_cache *cache, uint64_t offset, const void *from,
                              uint32_t len);

/* Write a line back as it was when @stamp was taken. Returns whether it had been dirty then. */
bool rpmi_cache_write_back(struct rpmi_cache *cache, uint32_t line, uint64_t stamp);

/* Write back all lines of the unit that @line is in. */
bool rpmi_cache_write_back_unit(struct rpmi_cache *cache, uint32_t line, uint64_t stamp);

/* Write back one dirty unit, chosen at random. False: no line is dirty. */
bool rpmi_cache_evict(struct rpmi_cache *cache, struct rpmi_rng *rng);

/* The first dirty line from @line on and below @end; @end: there is none. */
uint32_t rpmi_cache_next_dirty(const struct rpmi_cache *cache, uint32_t line, uint32_t end);

/* The number of contents that the media may hold: 1 for a clean line. */
uint32_t rpmi_cache_choices(const struct rpmi_cache *cache, uint32_t line);

/* Content @i of a line, the oldest (certainly durable) first, and the stamp that ended it. */
const unsigned char *rpmi_cache_choice(const struct rpmi_cache *cache, uint32_t line, uint32_t i,
                                       uint64_t *until);

/* The content of the line that was visible when @stamp was taken, or its durable content if that is
 * newer. */
const unsigned char *rpmi_cache_as_of(const struct rpmi_cache *cache, uint32_t line,
                                      uint64_t stamp);

/* After a power cut: the media hold @bytes, which become the visible and durable content of the
 * line. */
void rpmi_cache_settle(struct rpmi_cache *cache, uint32_t line, const unsigned char *bytes);

#endif
