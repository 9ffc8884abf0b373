/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.c: map staging memory, and allocate and free pieces of it.
 *
 * Tests: tests/unit/transport/stage_test.cpp
 */
#include "transport/stage.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

int rpmi_stage_map(struct rpmi_stage *stage, uint64_t bytes)
{
    void *ptr;

    RPM_ASSERT(stage->base == NULL); /* staging memory never moves */
    RPM_ASSERT(bytes > 0 && rpmi_is_aligned(bytes, RPMI_PAGE_BYTES));
    ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0);
    if (ptr == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "no memory for %" PRIu64 " bytes of staging_bytes: %s", bytes,
                         strerror(errno));
    stage->base = ptr;
    stage->bytes = bytes;
    return 0;
}

void rpmi_stage_unmap(struct rpmi_stage *stage)
{
    if (stage->base != NULL)
        (void)munmap(stage->base, stage->bytes);
    stage->base = NULL;
}

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
