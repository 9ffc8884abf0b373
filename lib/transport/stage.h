/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.h: map a link's staging memory, the memory that ops may refer to, and allocate pieces of
 * it. Only during setup, so first fit over a short list is fast enough.
 */
#ifndef RPMI_TRANSPORT_STAGE_H
#define RPMI_TRANSPORT_STAGE_H

#include "base/limits.h"

#include <stdint.h>

#define RPMI_STAGING_MAX (1ull << 30)
#define RPMI_STAGE_PIECES (4u * (RPMI_OWNERS_MAX + 1u)) /* a few for each log and region */

struct rpmi_stage_piece {
    uint64_t offset;
    uint64_t bytes;
};

struct rpmi_stage {
    unsigned char *base;
    uint64_t bytes;
    uint32_t used; /* pieces, sorted by offset, never overlapping */
    struct rpmi_stage_piece piece[RPMI_STAGE_PIECES];
};

/* Maps @bytes, a multiple of a page, as the staging memory. The system gives it a page when it is
 * written first: most programs use a small part of it. RPM_E_NOMEM. */
int rpmi_stage_map(struct rpmi_stage *stage, uint64_t bytes);

/* Safe if nothing was mapped. */
void rpmi_stage_unmap(struct rpmi_stage *stage);

/* Cache-line aligned; NULL and the last error set when there is no room. */
void *rpmi_stage_take(struct rpmi_stage *stage, uint64_t bytes);

/* Safe on NULL. */
void rpmi_stage_give(struct rpmi_stage *stage, void *ptr);

#endif
