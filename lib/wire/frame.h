/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h: the frame of a record in a log: a header, then the payload. One checksum covers
 * position, length, epoch, log and payload, so that recovery recognises each valid record by itself
 * and needs no tail pointer.
 *
 * Invariants
 *   a frame starts at a multiple of 64 bytes and never crosses the end of the ring
 *   a frame judged valid for an LSN was written whole, for exactly this log, LSN and epoch
 *
 * Inline, because an append of 64 bytes takes only a few tens of nanoseconds. frame.c holds the
 * checks of the layout.
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/wire/frame_test.cpp
 */
#ifndef RPMI_FRAME_H
#define RPMI_FRAME_H

#include "base/assert.h"
#include "base/bytes.h"
#include "base/canary.h"
#include "base/limits.h"
#include "base/sum.h"

#include <stdint.h>

enum rpmi_frame_flag {
    RPMI_FRAME_PAD = 1,   /* no record: fills the ring up to an alignment or to its end */
    RPMI_FRAME_XPLINE = 2 /* its length is rounded up to 256 bytes instead of 64 */
};

#define RPMI_FRAME_FLAGS 3u

/* Bits 24-31 of the second word: the lag, two version bits, two flag bits. The version is not zero,
 * so that zeroed memory is never a frame, not even for LSN 0. */
#define RPMI_FRAME_TAG 0x04u
#define RPMI_FRAME_TAG_MASK 0x0cu
#define RPMI_FRAME_LAG_SHIFT 4
#define RPMI_FRAME_LAG_MAX 15u
#define RPMI_FRAME_LEN_MAX 0xffffffu

struct rpmi_frame {
    uint64_t lsn;
    uint32_t len; /* payload bytes; of a pad frame: the bytes skipped behind its header */
    uint32_t epoch;
    uint32_t flags; /* enum rpmi_frame_flag */
    uint32_t lag;   /* how far acknowledgements were behind it, see rpmi_frame_lag(); 0: unknown */
    uint64_t sum;   /* as stored */
};

enum rpmi_verdict {
    RPMI_FRAME_VALID = 0,
    RPMI_FRAME_BLANK = 1, /* no frame, or one of another lap: no write was begun here */
    RPMI_FRAME_BROKEN = 2 /* has the header of the frame for this LSN, but a wrong checksum */
};

/* Bytes that a frame with this payload takes in the ring, by its flags. */
static inline uint64_t rpmi_frame_stride(uint32_t len, uint32_t flags)
{
    uint64_t unit = (flags & RPMI_FRAME_XPLINE) != 0 ? RPMI_XPLINE_BYTES : RPMI_LINE_BYTES;

    return rpmi_align_up((uint64_t)len + RPMI_FRAME_HEADER_BYTES, unit);
}

/* The LSN behind a frame. */
static inline uint64_t rpmi_frame_end(const struct rpmi_frame *frame)
{
    return frame->lsn + rpmi_frame_stride(frame->len, frame->flags);
}

/* May a frame have this length with these flags? A pad frame fills its stride exactly and has no
 * other flag. */
static inline bool rpmi_frame_len_ok(uint32_t len, uint32_t flags)
{
    if (RPMI_UNLIKELY((flags & RPMI_FRAME_PAD) != 0))
        return flags == RPMI_FRAME_PAD && len <= RPMI_FRAME_LEN_MAX &&
               rpmi_is_aligned((uint64_t)len + RPMI_FRAME_HEADER_BYTES, RPMI_LINE_BYTES);
    return len >= 1 && len <= RPMI_RECORD_MAX;
}

/* The lag that a new frame carries: when it is made, all records in front of it are acknowledged to
 * be durable, but for those in the last @bytes. 1: @bytes is 0; l: at most 64 * 4^(l - 2) bytes; 0:
 * more than the field can express. */
static inline uint32_t rpmi_frame_lag(uint64_t bytes)
{
    uint32_t lag;

    RPM_ASSERT_SLOW(rpmi_is_aligned(bytes, RPMI_LINE_BYTES));
    if (bytes == 0)
        return 1;
    /* Half the bits of twice the lines less one: of 1, 2 .. 4, 5 .. 16 lines 0, 1, 2. */
    lag = 2 + (64 - (uint32_t)__builtin_clzll(bytes / (RPMI_LINE_BYTES / 2) - 1)) / 2;
    return lag <= RPMI_FRAME_LAG_MAX ? lag : 0;
}

/* The LSN before which every record was acknowledged, by the lag of a valid frame; 0: unknown. */
static inline uint64_t rpmi_frame_acked(const struct rpmi_frame *frame)
{
    uint64_t behind = frame->lag <= 1 ? 0 : (uint64_t)RPMI_LINE_BYTES << 2 * (frame->lag - 2);

    return frame->lag == 0 || behind > frame->lsn ? 0 : frame->lsn - behind;
}

static inline uint64_t rpmi_frame_word(const struct rpmi_frame *frame)
{
    uint32_t tag = RPMI_FRAME_TAG | frame->flags | frame->lag << RPMI_FRAME_LAG_SHIFT;

    return frame->len | (uint64_t)tag << 24 | (uint64_t)frame->epoch << 32;
}

/* The frame's checksum, from the checksum of its payload. */
static inline uint64_t rpmi_frame_sum_with(const struct rpmi_frame *frame, uint64_t log_id,
                                           uint64_t payload_sum)
{
    unsigned char block[32];

    rpmi_store64(block, (frame->flags & RPMI_FRAME_PAD) != 0 ? 0 : payload_sum);
    rpmi_store64(block + 8, frame->lsn);
    rpmi_store64(block + 16, rpmi_frame_word(frame));
    rpmi_store64(block + 24, RPMI_CANARY(NO_LOG_ID) ? 0 : log_id);
    return rpmi_sum(block, sizeof(block));
}

/* Checksum over header, payload and log id. Payload of a pad frame: not covered, pass NULL. */
static inline uint64_t rpmi_frame_sum(const struct rpmi_frame *frame, uint64_t log_id,
                                      const void *payload)
{
    bool pad = (frame->flags & RPMI_FRAME_PAD) != 0;

    return rpmi_frame_sum_with(frame, log_id, pad ? 0 : rpmi_sum(payload, frame->len));
}

/* Write the 24 header bytes, checksum included, when the payload's own is known; frame->sum is not
 * read. Source: FORMAT.md section 5. */
static inline void rpmi_frame_put_with(void *header, const struct rpmi_frame *frame,
                                       uint64_t log_id, uint64_t payload_sum)
{
    unsigned char *to = (unsigned char *)header;

    RPM_ASSERT(rpmi_is_aligned(frame->lsn, RPMI_LINE_BYTES));
    RPM_ASSERT((frame->flags & ~RPMI_FRAME_FLAGS) == 0);
    RPM_ASSERT_SLOW(frame->lag <= RPMI_FRAME_LAG_MAX);
    RPM_ASSERT(rpmi_frame_len_ok(frame->len, frame->flags));
    rpmi_store64(to, frame->lsn);
    rpmi_store64(to + 8, rpmi_frame_word(frame));
    rpmi_store64(to + 16, rpmi_frame_sum_with(frame, log_id, payload_sum));
}

/* As rpmi_frame_put_with(), but computes the payload's checksum. */
static inline void rpmi_frame_put(void *header, const struct rpmi_frame *frame, uint64_t log_id,
                                  const void *payload)
{
    bool pad = (frame->flags & RPMI_FRAME_PAD) != 0;

    RPM_ASSERT(rpmi_frame_len_ok(frame->len, frame->flags)); /* before the payload is read */
    rpmi_frame_put_with(header, frame, log_id, pad ? 0 : rpmi_sum(payload, frame->len));
}

/*
 * Decode the header, for exactly @lsn, without reading the payload. @room is how many bytes of the
 * ring follow from @header on: a frame that would be longer is not one.
 * Returns BLANK, or VALID if the payload is still to be checked with rpmi_frame_check().
 */
static inline enum rpmi_verdict rpmi_frame_get(const void *header, uint64_t lsn, uint64_t room,
                                               struct rpmi_frame *frame)
{
    const unsigned char *from = (const unsigned char *)header;
    uint64_t word;
    uint32_t tag;

    RPM_ASSERT(rpmi_is_aligned(lsn, RPMI_LINE_BYTES));
    if (room < RPMI_FRAME_HEADER_BYTES || rpmi_load64(from) != lsn)
        return RPMI_FRAME_BLANK;
    word = rpmi_load64(from + 8);
    tag = (uint32_t)(word >> 24) & 0xffu;
    if ((tag & RPMI_FRAME_TAG_MASK) != RPMI_FRAME_TAG)
        return RPMI_FRAME_BLANK;
    frame->lsn = lsn;
    frame->len = (uint32_t)word & RPMI_FRAME_LEN_MAX;
    frame->epoch = (uint32_t)(word >> 32);
    frame->flags = tag & RPMI_FRAME_FLAGS;
    frame->lag = tag >> RPMI_FRAME_LAG_SHIFT;
    frame->sum = rpmi_load64(from + 16);
    if (!rpmi_frame_len_ok(frame->len, frame->flags) ||
        rpmi_frame_stride(frame->len, frame->flags) > room)
        return RPMI_FRAME_BLANK;
    return RPMI_FRAME_VALID;
}

/*
 * A word of the header that every frame for @lsn differs in from the bytes at @header, so that it
 * changes when that frame is written there: its offset. RPMI_FRAME_HEADER_BYTES: there is none,
 * because a frame for @lsn was begun there.
 */
static inline uint32_t rpmi_frame_word_to_come(const void *header, uint64_t lsn)
{
    const unsigned char *from = (const unsigned char *)header;

    RPM_ASSERT(rpmi_is_aligned(lsn, RPMI_LINE_BYTES));
    if (rpmi_load64(from) != lsn)
        return 0;
    if (((uint32_t)(rpmi_load64(from + 8) >> 24) & RPMI_FRAME_TAG_MASK) != RPMI_FRAME_TAG)
        return 8;
    return RPMI_FRAME_HEADER_BYTES;
}

/* VALID or BROKEN: does the checksum hold? @payload follows the header in the ring. */
static inline enum rpmi_verdict rpmi_frame_check(const struct rpmi_frame *frame, uint64_t log_id,
                                                 const void *payload)
{
    return rpmi_frame_sum(frame, log_id, payload) == frame->sum ? RPMI_FRAME_VALID
                                                                : RPMI_FRAME_BROKEN;
}

#endif
