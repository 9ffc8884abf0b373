/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.c: the place of the next record in the ring.
 *
 * Invariants
 *   a frame starts at a multiple of 64 bytes and never crosses the end of the ring
 *   a gap in front of a frame is a whole pad frame
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/log/ring_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"

void rpmi_ring_place(const struct rpm_log *log, uint64_t tail_lsn, uint64_t len,
                     struct rpmi_place *place)
{
    uint64_t position = log->position + (tail_lsn - log->tail_lsn);

    RPM_ASSERT(tail_lsn >= log->tail_lsn && log->position < log->capacity);
    while (position >= log->capacity)
        position -= log->capacity;
    rpmi_ring_place_at(log, tail_lsn, position, len, place);
}

uint32_t rpmi_ring_ranges(const struct rpm_log *log, uint64_t from, uint64_t to,
                          struct rpmi_range ranges[2])
{
    uint64_t position = from % log->capacity;
    uint64_t len = to - from;
    uint64_t first = len < log->capacity - position ? len : log->capacity - position;

    RPM_ASSERT(from <= to && len <= log->capacity);
    if (len == 0)
        return 0;
    ranges[0] = (struct rpmi_range){ RPMI_LOG_HEADER_BYTES + position, first };
    if (first == len)
        return 1;
    ranges[1] = (struct rpmi_range){ RPMI_LOG_HEADER_BYTES, len - first };
    return 2;
}

uint64_t rpmi_ring_record_max(uint64_t capacity)
{
    /* In the worst case a frame is preceded by a pad frame of nearly its own size. */
    uint64_t stride = rpmi_align_down(capacity / 2, RPMI_XPLINE_BYTES);
    uint64_t max = stride - RPMI_FRAME_HEADER_BYTES;

    RPM_ASSERT(capacity >= RPMI_LOG_CAPACITY_MIN);
    return max < RPMI_RECORD_MAX ? max : RPMI_RECORD_MAX;
}
