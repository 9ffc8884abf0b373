/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c: a COMPARE at an older server, which cannot carry it out: the client then reads both
 * ranges, piece by piece, up to the first difference.
 *
 * Tests: tests/unit/region/compare_test.cpp, tests/conform/compare_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/differ.h"

#define PIECE_BYTES (RPMI_BOUNCE_BYTES / 2) /* of each range: the bounce buffer has both */

/* Compare @len bytes from @at on. */
static int compare_piece(const struct rpm_step *step, uint64_t at, uint64_t len, uint64_t *differ)
{
    unsigned char *bounce = step->region->conn->bounce;
    int err = rpm_region_read(step->region, step->offset + at, bounce + PIECE_BYTES, len);

    RPM_ASSERT(len <= PIECE_BYTES);
    if (err == 0) /* a READ is received in the first half */
        err = rpm_region_read(step->other, step->other_offset + at, bounce, len);
    if (err == 0)
        *differ = rpmi_differ_at(bounce + PIECE_BYTES, bounce, len);
    return err;
}

int rpmi_compare_read(const struct rpm_step *step)
{
    uint64_t at = 0;

    RPM_ASSERT(step->kind == RPM_STEP_COMPARE && step->other->conn == step->region->conn);
    RPM_ASSERT(step->len > 0 && step->len <= RPM_COMPARE_BYTES_MAX);
    while (at < step->len) {
        uint64_t piece = step->len - at < PIECE_BYTES ? step->len - at : PIECE_BYTES;
        uint64_t differ = 0;
        int err = compare_piece(step, at, piece, &differ);

        if (err != 0)
            return err;
        at += differ;
        if (differ < piece)
            break;
    }
    if (step->into != NULL)
        memcpy(step->into, &at, sizeof(at));
    return 0;
}
