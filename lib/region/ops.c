/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c: the ops that a region's writes are made of: a write of one piece, the seal of all pieces
 * since the last seal, and the order of a piece behind a seal.
 *
 * Padding (H6, H7): a write may be rounded up to whole 64-byte words only inside a slot that its
 * writer owns. Without slots no byte outside the write is touched.
 *
 * Tests: tests/unit/region/ops_test.cpp, tests/crash/region_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/canary.h"

uint64_t rpmi_region_padded(const struct rpm_region *region, uint64_t offset, uint64_t len)
{
    uint64_t full = rpmi_align_up(len, RPMI_LINE_BYTES);

    if (full == len || !rpmi_in_bounds(offset, full, region->bytes))
        return len;
    if (RPMI_CANARY(PAD_NEIGHBOUR))
        return full;
    if (region->plan.pad_unit != RPMI_LINE_BYTES || region->slot_bytes == 0 ||
        offset % region->slot_bytes != 0 || full > region->slot_bytes)
        return len;
    return full;
}

/* In practice PCIe never tears an aligned word, for readers or in a power cut. Where the NICs have
 * ATOMIC WRITE, which guarantees that, it is used instead. */
static bool is_whole_word(const struct rpm_region *region, uint64_t offset, uint64_t written)
{
    return written == sizeof(uint64_t) && rpmi_is_aligned(offset, sizeof(uint64_t)) &&
           region->plan.write_kind == RPMI_OP_WRITE &&
           region->conn->link->facts.atomic_write == RPM_YES;
}

void rpmi_region_add_write(struct rpm_region *region, uint64_t offset, const void *data,
                           uint64_t len)
{
    struct rpmi_op *op = &region->ops[region->ops_count++];
    uint64_t written = rpmi_region_padded(region, offset, len);

    RPM_ASSERT(region->ops_count <= RPMI_BATCH_OPS_MAX);
    RPM_ASSERT(region->ranges_n < RPMI_GROUP_PATCHES);
    RPM_ASSERT(written >= len && rpmi_in_bounds(offset, written, region->bytes));
    *op = (struct rpmi_op){ .body = data, .body_bytes = len };
    rpmi_plan_write(&region->plan, region->key, offset, written, op);
    if (is_whole_word(region, offset, written))
        op->flags |= RPMI_OP_WORD;
    region->ranges[region->ranges_n++] = (struct rpmi_range){ offset, written };
}

void rpmi_region_add_seal(struct rpm_region *region)
{
    RPM_ASSERT(region->ops_count > 0 && region->ranges_n > 0);              /* something to seal */
    RPM_ASSERT(region->ops_count + region->ranges_n <= RPMI_BATCH_OPS_MAX); /* room for its ops */
    rpmi_plan_last_write(&region->plan, &region->ops[region->ops_count - 1]);
    region->ops_count +=
        rpmi_plan_seal(&region->plan, region->key, region->ranges, region->ranges_n,
                       region->conn->word, &region->ops[region->ops_count]);
    region->ranges_n = 0;
}

/* Does this op need a fence on the NIC? The remote NIC executes an ATOMIC WRITE after every FLUSH
 * before it, but it may overtake a READ. */
static bool needs_fence(const struct rpm_region *region, const struct rpmi_op *op)
{
    if (RPMI_CANARY(NO_FENCE))
        return false;
    return (op->flags & RPMI_OP_WORD) == 0 || region->plan.seal_kind != RPMI_OP_FLUSH;
}

void rpmi_region_order_after_seal(struct rpm_region *region, uint32_t first)
{
    RPM_ASSERT(first < region->ops_count);
    if (needs_fence(region, &region->ops[first]))
        region->ops[first].flags |= RPMI_OP_FENCED;
}
