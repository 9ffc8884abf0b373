/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.c: compare-and-swap and fetch-and-add on words in server DRAM (H8). Never on persistent
 * memory: there a NIC would read the slow medium inside its atomic section, and the result would
 * still not be durable.
 *
 * Tests: tests/unit/region/atomic_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"
#include "region/atomic.h"

#include <inttypes.h>

int rpmi_atomic(struct rpm_conn *conn, struct rpmi_op *op, uint64_t *found)
{
    int err;

    RPM_ASSERT(op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA);
    RPM_ASSERT(rpmi_is_aligned(op->offset, sizeof(uint64_t)));
    op->len = sizeof(uint64_t);
    op->into = conn->word + RPMI_WORD_ATOMIC;
    err = rpmi_conn_exec(conn, op, 1);
    if (err == 0)
        memcpy(found, conn->word + RPMI_WORD_ATOMIC, sizeof(*found));
    return err;
}

int rpmi_region_check_word(const struct rpm_region *region, uint64_t offset)
{
    int err = rpmi_region_writable(region);

    if (region->kind != RPM_KIND_DRAM)
        return rpmi_fail(RPM_E_NOCAP, "an atomic operation on a persistent region; atomics work on "
                                      "DRAM regions only (H8): open one with RPM_REGION_DRAM");
    if (err != 0)
        return err;
    if (!rpmi_is_aligned(offset, sizeof(uint64_t)))
        return rpmi_fail(RPM_E_INVAL,
                         "a word at offset %" PRIu64 " is not aligned; use a multiple of 8",
                         offset);
    if (!rpmi_in_bounds(offset, sizeof(uint64_t), region->bytes))
        return rpmi_fail(RPM_E_RANGE,
                         "a word of 8 bytes at offset %" PRIu64 " leaves the region of %" PRIu64
                         " bytes",
                         offset, region->bytes);
    return 0;
}

int rpm_region_cas(struct rpm_region *region, uint64_t offset, uint64_t expect, uint64_t desired,
                   uint64_t *found)
{
    rpmi_begin();

    struct rpmi_op op;
    int err;

    RPM_ASSERT(region != NULL && found != NULL);
    if (rpmi_region_fast_cas(region, offset, expect, desired, found))
        return 0;
    err = rpmi_region_check_word(region, offset);
    if (err != 0)
        return err;
    op = (struct rpmi_op){
        .kind = RPMI_OP_CAS,
        .key = region->key,
        .offset = offset,
        .expect = expect,
        .operand = desired,
    };
    return rpmi_region_result(region, rpmi_atomic(region->conn, &op, found));
}

int rpm_region_faa(struct rpm_region *region, uint64_t offset, uint64_t add, uint64_t *found)
{
    rpmi_begin();

    struct rpmi_op op = { .kind = RPMI_OP_FAA, .offset = offset, .operand = add };
    int err;

    RPM_ASSERT(region != NULL && found != NULL);
    err = rpmi_region_check_word(region, offset);
    op.key = region->key;
    return err != 0 ? err : rpmi_region_result(region, rpmi_atomic(region->conn, &op, found));
}
