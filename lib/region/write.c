/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.c: region writes that wait for the region's level, reads, and the checks of both.
 *
 * Tests: tests/unit/region/write_test.cpp, tests/crash/region_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>

int rpmi_region_result(struct rpm_region *region, int status)
{
    if (RPMI_LIKELY(status == 0) || region->claim.log == NULL)
        return status;
    if (status == RPM_E_FENCED)
        rpmi_claim_set_ended(&region->claim);
    /* On most links a refused op ends the link, so that ops of all owners end as lost. */
    else if (status != RPM_E_LOST || !rpmi_claim_has_ended(&region->claim))
        return status;
    region->dead = RPM_E_FENCED;
    return RPM_E_FENCED;
}

int rpmi_region_writable(const struct rpm_region *region)
{
    if (RPMI_LIKELY(rpmi_region_may_write(region)))
        return 0;
    if (rpmi_claim_has_ended(&region->claim))
        return rpmi_fail(RPM_E_FENCED, "another writer claimed the log that guards the region; "
                                       "rpm_log_claim() it, then open the region again");
    return rpmi_fail(region->dead,
                     "the region's connection was lost; reconnect, then open the region again");
}

int rpmi_region_readable(const struct rpm_region *region)
{
    if (RPMI_LIKELY(rpmi_region_may_read(region)))
        return 0;
    if (region->dead != 0 && region->dead != RPM_E_FENCED)
        return rpmi_fail(region->dead,
                         "the region's connection was lost; reconnect, then open the region again");
    if (region->link_generation != region->conn->generation)
        return rpmi_fail(RPM_E_LOST,
                         "the region was opened before the last reconnect; open it again");
    return rpmi_fail(region->conn->link->lost,
                     "the region's connection was lost; reconnect, then open the region again");
}

int rpmi_region_bounds(const struct rpm_region *region, uint64_t offset, uint64_t len)
{
    if (RPMI_UNLIKELY(len == 0))
        return rpmi_fail(RPM_E_INVAL, "an operation of 0 bytes on a region; it has at least 1");
    if (RPMI_UNLIKELY(!rpmi_in_bounds(offset, len, region->bytes)))
        return rpmi_fail(RPM_E_RANGE,
                         "%" PRIu64 " bytes at offset %" PRIu64 " leave the region of %" PRIu64
                         " bytes",
                         len, offset, region->bytes);
    return 0;
}

int rpmi_region_check(const struct rpm_region *region, uint64_t offset, uint64_t len)
{
    int err = rpmi_region_writable(region);

    return err != 0 ? err : rpmi_region_bounds(region, offset, len);
}

static int send_and_wait(struct rpm_region *region)
{
    uint32_t n = region->ops_count;

    RPM_ASSERT(region->ranges_n == 0); /* every write that was sent is sealed */
    region->ops_count = 0;
    if (n == 0)
        return 0;
    RPM_ASSERT(region->link_generation == region->conn->generation);
    return rpmi_region_result(region, rpmi_conn_exec(region->conn, region->ops, n));
}

/* Seal and post the group that is being built, and wait for it. */
static int end_group(struct rpm_region *region)
{
    int err;

    if (region->ranges_n > 0)
        rpmi_region_add_seal(region);
    err = send_and_wait(region);
    RPM_ASSERT(region->completed <= region->submitted);
    if (region->completed == region->submitted)
        region->outbox.head = region->outbox.tail;
    return err;
}

/* Add one piece, at most rpmi_outbox_put_max() bytes, to the group. */
static int add_piece(struct rpm_region *region, uint64_t offset, const unsigned char *data,
                     uint64_t len)
{
    const void *staged;
    int err;

    if (region->ranges_n == RPMI_GROUP_PATCHES ||
        region->ops_count + 2 * RPMI_GROUP_PATCHES > RPMI_BATCH_OPS_MAX) {
        err = end_group(region);
        if (err != 0)
            return err;
    }
    while ((staged = rpmi_outbox_put(&region->outbox, data, len)) == NULL) {
        err = end_group(region);
        if (err == 0 && region->completed < region->submitted)
            err = rpmi_conn_wait(region->conn, rpmi_conn_deadline(region->conn));
        if (err != 0)
            return err;
    }
    RPM_ASSERT(region->outbox.tail - region->outbox.head <= region->outbox.bytes);
    rpmi_region_add_write(region, offset, staged, len);
    return 0;
}

static int add_patch(struct rpm_region *region, const struct rpm_patch *patch)
{
    uint64_t len_max = rpmi_outbox_put_max(&region->outbox);

    for (uint64_t at = 0; at < patch->len;) {
        uint64_t piece = patch->len - at < len_max ? patch->len - at : len_max;
        int err =
            add_piece(region, patch->offset + at, (const unsigned char *)patch->data + at, piece);

        if (err != 0)
            return err;
        at += piece;
    }
    return 0;
}

/* Order the following writes after the level of all earlier ones: seal, then fence. */
static int add_barrier(struct rpm_region *region, bool *fence)
{
    if (region->ops_count == 0)
        return 0;
    if (region->ranges_n > 0)
        rpmi_region_add_seal(region);
    *fence = true;
    return region->ops_count + 2 * RPMI_GROUP_PATCHES > RPMI_BATCH_OPS_MAX ? end_group(region) : 0;
}

int rpmi_region_check_patches(const struct rpm_region *region, const struct rpm_patch *patches,
                              uint32_t n)
{
    int err = 0;

    if (n == 0 || n > region->inflight_max)
        return rpmi_fail(RPM_E_INVAL,
                         "a vectored write of %u pieces; it has 1 to %u (inflight_max)", n,
                         region->inflight_max);
    for (uint32_t i = 0; i < n && err == 0; i++) {
        err = rpmi_region_check(region, patches[i].offset, patches[i].len);
        if (err == 0 && (patches[i].flags & ~(uint32_t)RPM_PATCH_AFTER) != 0)
            err = rpmi_fail(RPM_E_INVAL, "patch flags %#x, known are %#x", patches[i].flags,
                            (unsigned)RPM_PATCH_AFTER);
    }
    return err;
}

int rpm_region_writev(struct rpm_region *region, const struct rpm_patch *patches, uint32_t n)
{
    rpmi_begin();

    int err;

    RPM_ASSERT(region != NULL && patches != NULL);
    if (rpmi_region_fast_writev(region, patches, n))
        return 0;
    err = rpmi_region_check_patches(region, patches, n);
    for (uint32_t i = 0; i < n && err == 0; i++) {
        bool fence = false;
        uint32_t first;

        if ((patches[i].flags & RPM_PATCH_AFTER) != 0)
            err = add_barrier(region, &fence);
        first = region->ops_count;
        if (err == 0)
            err = add_patch(region, &patches[i]);
        if (err == 0 && fence && first < region->ops_count)
            rpmi_region_order_after_seal(region, first);
        region->conn->payload_bytes += patches[i].len;
    }
    if (err == 0)
        return end_group(region);
    region->ops_count = 0;
    region->ranges_n = 0;
    return err;
}

int rpm_region_write(struct rpm_region *region, uint64_t offset, const void *data, size_t len)
{
    rpmi_begin();

    struct rpm_patch patch = { .offset = offset, .data = data, .len = len };

    RPM_ASSERT(data != NULL);
    return rpm_region_writev(region, &patch, 1);
}

int rpm_region_read(struct rpm_region *region, uint64_t offset, void *data, size_t len)
{
    rpmi_begin();

    int err;

    RPM_ASSERT(region != NULL && data != NULL);
    if (rpmi_region_fast_read(region, offset, data, len))
        return 0;
    err = rpmi_region_readable(region);
    if (err == 0)
        err = rpmi_region_bounds(region, offset, len);
    return err != 0 ? err : rpmi_conn_read(region->conn, region->key, offset, data, len);
}

/* A flush changes no bytes, so the server does not refuse it after a fence. To report a fence
 * anyway, read the log's claim word behind the flush. */
static int persist_guarded(struct rpm_region *region, const struct rpmi_range *range)
{
    struct rpmi_op ops[RPMI_PLAN_OPS_MAX + 1] = { 0 };
    uint32_t n =
        rpmi_plan_seal(&region->persist_plan, region->key, range, 1, region->conn->word, ops);
    int err;

    RPM_ASSERT(n <= RPMI_PLAN_OPS_MAX); /* ops[] has room for the read of the claim word */
    RPM_ASSERT(region->link_generation == region->conn->generation);
    rpmi_claim_read_op(&region->claim, &ops[n]);
    err = rpmi_conn_exec(region->conn, ops, n + 1);
    if (err == 0)
        err = rpmi_claim_check_word(&region->claim);
    return rpmi_region_result(region, err);
}

int rpm_region_persist(struct rpm_region *region, uint64_t offset, uint64_t len)
{
    rpmi_begin();

    struct rpmi_range range = { offset, len };
    int err;

    RPM_ASSERT(region != NULL);
    err = rpmi_region_check(region, offset, len);
    if (err != 0)
        return err;
    if (region->claim.log != NULL)
        return persist_guarded(region, &range);
    return rpmi_conn_persist(region->conn, &region->persist_plan, region->key, &range, 1);
}
