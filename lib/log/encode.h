/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.h: make the frames of one record, for the general path (group.c, where a frame becomes an
 * op) and for the fast path (fast_path.c, where the client's CPU stores it at once).
 *
 * Invariant: the frames follow each other without a gap from the cursor on, and the cursor is moved
 * behind the last frame.
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/log/ring_test.cpp, fast_path_test.cpp
 */
#ifndef RPMI_ENCODE_H
#define RPMI_ENCODE_H

#include "log/log.h"

/* The place of the next frame. */
struct rpmi_cursor {
    uint64_t lsn;
    uint64_t position; /* of lsn in the ring */
};

/* Write @frame at @position of the ring: its header, @payload (NULL: a pad frame, which has none),
 * and zeros up to @written bytes. */
typedef void rpmi_emit_fn(struct rpm_log *log, const struct rpmi_frame *frame, uint64_t position,
                          const void *payload, uint64_t written);

static inline void rpmi_cursor_advance(const struct rpm_log *log, struct rpmi_cursor *at,
                                       uint64_t bytes)
{
    at->lsn += bytes;
    at->position += bytes;
    RPM_ASSERT_SLOW(at->position <= log->capacity); /* no frame crosses the end of the ring */
    if (at->position == log->capacity)
        at->position = 0;
}

/* Emit a pad frame of @bytes at @at. */
static inline void rpmi_encode_pad(struct rpm_log *log, struct rpmi_cursor *at, uint64_t bytes,
                                   rpmi_emit_fn *emit)
{
    struct rpmi_frame frame = {
        .lsn = at->lsn,
        .len = (uint32_t)(bytes - RPMI_FRAME_HEADER_BYTES),
        .epoch = log->epoch,
        .flags = RPMI_FRAME_PAD,
        .lag = rpmi_log_lag(log, at->lsn),
    };

    RPM_ASSERT(bytes >= RPMI_LINE_BYTES); /* else its length would wrap, and hide records */
    emit(log, &frame, at->position, NULL,
         rpmi_align_up(RPMI_FRAME_HEADER_BYTES, log->plan.pad_unit));
    rpmi_cursor_advance(log, at, bytes);
}

/* Emit the frames of a record of @len bytes, whose place as computed from @at is @place. Callers
 * name a static function as @emit, which the compiler then inlines. Returns the bytes written of
 * the record's own frame. */
static inline uint64_t rpmi_encode(struct rpm_log *log, struct rpmi_cursor *at,
                                   const struct rpmi_place *place, const void *payload,
                                   uint64_t len, rpmi_emit_fn *emit)
{
    uint64_t written = rpmi_ring_written(log, place, len);
    struct rpmi_frame frame = {
        .lsn = place->lsn,
        .len = (uint32_t)len,
        .epoch = log->epoch,
        .flags = place->flags,
        .lag = rpmi_log_lag(log, place->lsn),
    };

    if (RPMI_UNLIKELY(place->pad != 0))
        rpmi_encode_pad(log, at, place->pad, emit);
    RPM_ASSERT(at->lsn == place->lsn);
    emit(log, &frame, at->position, payload, written);
    rpmi_cursor_advance(log, at, place->stride);
    return written;
}

#endif
