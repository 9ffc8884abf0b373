/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.h: payloads on their way, in memory that the transport can send from. A ring: taken in the
 * order of submission, free again in the order of completion.
 *
 * Invariant: head <= tail <= head + bytes; a piece never wraps.
 *
 * Tests: tests/unit/conn/stage_test.cpp
 */
#ifndef RPMI_STAGE_H
#define RPMI_STAGE_H

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

struct rpmi_stage {
    unsigned char *base; /* staging memory of the link */
    uint64_t bytes;
    uint64_t head; /* counts up; oldest byte in use */
    uint64_t tail; /* counts up; next free byte */
};

/* The largest piece that always finds room once the ring is empty. */
static inline uint64_t rpmi_stage_piece_max(const struct rpmi_stage *stage)
{
    return rpmi_align_down(stage->bytes / 2, RPMI_LINE_BYTES);
}

/* Contiguous room for @len bytes, at most rpmi_stage_piece_max(). NULL: none now. */
static inline unsigned char *rpmi_stage_take(struct rpmi_stage *stage, uint64_t len)
{
    uint64_t need = rpmi_align_up(len, RPMI_LINE_BYTES);
    uint64_t at = stage->tail % stage->bytes;
    uint64_t skip = at + need > stage->bytes ? stage->bytes - at : 0;

    RPM_ASSERT(len <= rpmi_stage_piece_max(stage));
    if (stage->tail + skip + need - stage->head > stage->bytes)
        return NULL;
    stage->tail += skip + need;
    return stage->base + (at + skip) % stage->bytes;
}

#endif
