/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.c: allocate and free pieces of staging memory.
 *
 * Tests: tests/unit/transport/stage_test.cpp
 */
#include "transport/stage.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <inttypes.h>

void *rpmi_stage_take(struct rpmi_stage *stage, uint64_t bytes)
{
    uint64_t need = rpmi_align_up(bytes, RPMI_LINE_BYTES);
    uint64_t at = 0;
    uint32_t i;

    RPM_ASSERT(bytes > 0 && need >= bytes);
    for (i = 0; i < stage->used; i++) {
        if (stage->piece[i].offset - at >= need)
            break;
        at = stage->piece[i].offset + stage->piece[i].bytes;
    }
    if (stage->used == RPMI_STAGE_PIECES || !rpmi_in_bounds(at, need, stage->bytes)) {
        (void)rpmi_fail(RPM_E_NOMEM,
                        "no %" PRIu64 " bytes of staging memory left of %" PRIu64
                        ": raise staging_bytes of the connection",
                        bytes, stage->bytes);
        return NULL;
    }
    /* No byte is staged for two owners. */
    RPM_ASSERT(i == stage->used || at + need <= stage->piece[i].offset);
    memmove(&stage->piece[i + 1], &stage->piece[i], (stage->used - i) * sizeof(stage->piece[0]));
    stage->piece[i] = (struct rpmi_stage_piece){ .offset = at, .bytes = need };
    stage->used++;
    return stage->base + at;
}

void rpmi_stage_give(struct rpmi_stage *stage, void *ptr)
{
    uint32_t i = 0;

    if (ptr == NULL)
        return;
    while (i < stage->used && stage->base + stage->piece[i].offset != ptr)
        i++;
    RPM_ASSERT(i < stage->used);
    stage->used--;
    memmove(&stage->piece[i], &stage->piece[i + 1], (stage->used - i) * sizeof(stage->piece[0]));
}
