/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums.c: a SUM at an older server, which cannot compute it: the client then reads the range, piece
 * by piece, and computes the checksum itself. compare.c does so for a COMPARE.
 *
 * Tests: tests/unit/region/sums_test.cpp, tests/conform/sum_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/sum.h"

bool rpmi_step_needs_reads(const struct rpm_region *region, const struct rpm_step *step)
{
    uint32_t flags = region->conn->link->flags;

    return (step->kind == RPM_STEP_SUM && (flags & RPMI_LINK_SUM) == 0) ||
           (step->kind == RPM_STEP_COMPARE && (flags & RPMI_LINK_COMPARE) == 0);
}

bool rpmi_steps_need_reads(const struct rpm_region *region, const struct rpm_step *steps,
                           uint32_t n)
{
    const uint32_t both = RPMI_LINK_SUM | RPMI_LINK_COMPARE;

    if (RPMI_LIKELY((region->conn->link->flags & both) == both))
        return false;
    for (uint32_t i = 0; i < n && i < RPM_STEPS_MAX; i++)
        if (rpmi_step_needs_reads(region, &steps[i]))
            return true;
    return false;
}

int rpmi_sum_read(const struct rpm_step *step)
{
    struct rpm_conn *conn = step->region->conn;
    struct rpmi_sum_stream stream;
    uint64_t piece;
    uint64_t sum;

    RPM_ASSERT(rpmi_in_bounds(step->offset, step->len, step->region->bytes));
    RPM_ASSERT(step->kind == RPM_STEP_SUM && step->len > 0 && step->len <= RPM_SUM_BYTES_MAX);
    rpmi_sum_begin_seeded(&stream, step->operand);
    for (uint64_t at = 0; at < step->len; at += piece) {
        int err;

        piece = step->len - at < RPMI_BOUNCE_BYTES ? step->len - at : RPMI_BOUNCE_BYTES;
        err = rpm_region_read(step->region, step->offset + at, conn->bounce, piece);
        if (err != 0)
            return err;
        rpmi_sum_more(&stream, conn->bounce, piece);
    }
    sum = rpmi_sum_end(&stream);
    if (step->into != NULL)
        memcpy(step->into, &sum, sizeof(sum));
    return 0;
}
