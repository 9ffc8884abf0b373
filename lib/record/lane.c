/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c: a region's shortest way: one read, one compare-and-swap (both in region.h), or a few
 * writes and a fence, by this CPU, where the server's memory is mapped here. No ops are made and
 * nothing is queued.
 *
 * Invariants
 *   what the ordinary way would refuse, or ask of others, is left to it, with nothing done: the
 *   checks are the same, and it words what is wrong
 *
 * Tests: tests/unit/record/lane_test.cpp
 */
#include "record/region.h"

#include "base/assert.h"

/* Only what a claim guards has a lane to be entered. */
static bool has_lane(const struct rpm_region *region)
{
    return region->conn->link->lane != NULL && region->claim.log != NULL &&
           region->plan.write_kind == RPMI_OP_WRITE &&
           (region->plan.seal_kind == RPMI_OP_DRAIN || region->plan.seal_kind == 0);
}

/* A fence in between is not the lane's business. */
static bool are_plain(const struct rpm_region *region, const struct rpm_patch *patches, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (patches[i].flags != 0 || patches[i].len == 0 ||
            !rpmi_in_bounds(patches[i].offset, patches[i].len, region->bytes))
            return false;
    return n != 0 && n <= region->inflight_max;
}

bool rpmi_region_lane_writev(struct rpm_region *region, const struct rpm_patch *patches, uint32_t n)
{
    struct rpmi_link *link = region->conn->link;
    bool cached = (region->plan.write_flags & RPMI_OP_CACHED) != 0;
    uint64_t payload = 0;

    if (!has_lane(region) || !rpmi_region_may_write(region) || !are_plain(region, patches, n) ||
        link->lane->enter(link, region->key, region->bytes, false, cached) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct rpm_patch *patch = &patches[i];
        uint64_t written = rpmi_region_padded(region, patch->offset, patch->len);

        link->lane->body(link, patch->offset, patch->data, patch->len, written);
        link->stats.write_bytes += written;
        payload += patch->len;
    }
    link->lane->leave(link);
    link->stats.writes += n;
    link->stats.flushes++;
    region->conn->payload_bytes += payload;
    return true;
}

void rpm_region_prefetch(struct rpm_region *region, uint64_t offset, size_t len)
{
    struct rpmi_link *link;
    uintptr_t first;

    RPM_ASSERT(region != NULL);
    link = region->conn->link;
    if (link->lane == NULL || !rpmi_region_may_read(region) ||
        !rpmi_in_bounds(offset, len, region->bytes))
        return;
    first = (uintptr_t)link->ops->peek(link, region->key, offset, len);
    if (first == 0)
        return;
    for (uintptr_t at = first & ~(uintptr_t)(RPMI_LINE_BYTES - 1); at < first + len;
         at += RPMI_LINE_BYTES)
        __builtin_prefetch((const void *)at);
}
