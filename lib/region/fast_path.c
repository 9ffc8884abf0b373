/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fast_path.c: accesses that the client's CPU carries out on the server's memory, which is mapped
 * into the client's process: one read, one compare-and-swap (both in region.h), or a few writes and
 * a fence. The client builds no ops and queues nothing.
 *
 * Invariant: the fast path makes the same checks as the general path (write.c, atomic.c). It stores
 * nothing for a request that fails a check or needs the server, and leaves it to the general path.
 *
 * Tests: tests/unit/region/fast_path_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"

/* Writes take the fast path only in a region that a log's claim guards. */
static bool takes_fast_path(const struct rpm_region *region)
{
    return region->conn->link->fast_path != NULL && region->claim.log != NULL &&
           region->plan.write_kind == RPMI_OP_WRITE &&
           (region->plan.seal_kind == RPMI_OP_DRAIN || region->plan.seal_kind == 0);
}

/* RPM_PATCH_AFTER needs a fence between two pieces, which the fast path does not have. */
static bool all_plain(const struct rpm_region *region, const struct rpm_patch *patches, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (patches[i].flags != 0 || patches[i].len == 0 ||
            !rpmi_in_bounds(patches[i].offset, patches[i].len, region->bytes))
            return false;
    return n != 0 && n <= region->inflight_max;
}

bool rpmi_region_fast_writev(struct rpm_region *region, const struct rpm_patch *patches, uint32_t n)
{
    struct rpmi_link *link = region->conn->link;
    bool cached = (region->plan.write_flags & RPMI_OP_CACHED) != 0;
    uint64_t payload = 0;

    if (!takes_fast_path(region) || !rpmi_region_may_write(region) ||
        !all_plain(region, patches, n) ||
        link->fast_path->enter(link, region->key, region->bytes, false, cached) != 0)
        return false;
    RPM_ASSERT(region->claim.log != NULL && region->dead == 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct rpm_patch *patch = &patches[i];
        uint64_t written = rpmi_region_padded(region, patch->offset, patch->len);

        RPM_ASSERT(written >= patch->len);
        RPM_ASSERT_SLOW(rpmi_in_bounds(patch->offset, written, region->bytes));
        link->fast_path->body(link, patch->offset, patch->data, patch->len, written);
        link->stats.write_bytes += written;
        payload += patch->len;
    }
    link->fast_path->leave(link);
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
    if (link->fast_path == NULL || !rpmi_region_may_read(region) ||
        !rpmi_in_bounds(offset, len, region->bytes))
        return;
    first = (uintptr_t)link->ops->peek(link, region->key, offset, len);
    if (first == 0)
        return;
    for (uintptr_t at = first & ~(uintptr_t)(RPMI_LINE_BYTES - 1); at < first + len;
         at += RPMI_LINE_BYTES)
        __builtin_prefetch((const void *)at);
}
