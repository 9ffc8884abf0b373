/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h: the record frame. A record certifies itself: position, length, epoch, log and payload
 * are all under one checksum, so that recovery needs no tail pointer.
 *
 * Invariants
 *   a frame starts at a multiple of 64 bytes and never crosses the end of the ring
 *   a frame judged valid for an LSN was written whole, for exactly this log, LSN and epoch
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/wire/frame_test.cpp
 */
#ifndef RPMI_FRAME_H
#define RPMI_FRAME_H

#include "base/bytes.h"
#include "base/limits.h"

#include <stdint.h>

enum rpmi_frame_flag {
    RPMI_FRAME_PAD = 1,    /* no record: fills the ring up to an alignment or to its end */
    RPMI_FRAME_XPLINE = 2  /* its length is rounded up to 256 bytes instead of 64 */
};

struct rpmi_frame {
    uint64_t lsn;
    uint32_t len;   /* payload bytes */
    uint32_t epoch;
    uint32_t flags; /* enum rpmi_frame_flag */
    uint64_t sum;   /* as stored */
};

enum rpmi_verdict {
    RPMI_FRAME_VALID = 0,
    RPMI_FRAME_BLANK = 1,  /* not a frame, or of another lap: nothing was begun here */
    RPMI_FRAME_BROKEN = 2  /* says it is the frame for this LSN, but fails its checksum */
};

/* Bytes that a frame with this payload takes in the ring, by its flags. */
static inline uint64_t rpmi_frame_stride(uint32_t len, uint32_t flags)
{
    uint64_t unit = (flags & RPMI_FRAME_XPLINE) != 0 ? RPMI_XPLINE_BYTES : RPMI_LINE_BYTES;

    return rpmi_align_up((uint64_t)len + RPMI_FRAME_HEADER_BYTES, unit);
}

/* Checksum over header, payload and log id. Payload of a pad frame: not covered, pass NULL. */
uint64_t rpmi_frame_sum(const struct rpmi_frame *frame, uint64_t log_id, const void *payload);

/* Write the 24 header bytes, checksum included. Source: FORMAT.md section 5. */
void rpmi_frame_put(void *header, const struct rpmi_frame *frame, uint64_t log_id,
                    const void *payload);

/*
 * Take the header apart, for exactly @lsn, without looking at the payload. @room is how many bytes
 * of the ring follow from @header on: a frame that would be longer is not one.
 * Returns BLANK, or VALID if the payload is still to be checked with rpmi_frame_check().
 */
enum rpmi_verdict rpmi_frame_get(const void *header, uint64_t lsn, uint64_t room,
                                 struct rpmi_frame *frame);

/* VALID or BROKEN: does the checksum hold? @payload follows the header in the ring. */
enum rpmi_verdict rpmi_frame_check(const struct rpmi_frame *frame, uint64_t log_id,
                                   const void *payload);

#endif
