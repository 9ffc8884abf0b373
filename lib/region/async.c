/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async.c: asynchronous operations. They complete in the order of submission, because the link
 * completes their ops in order.
 *
 * A link fetches into staging memory, from which the region copies to the caller's memory when the
 * operation has completed. A link that completes on post fetches into the caller's memory.
 *
 * Tests: tests/unit/region/async_test.cpp, tests/conform/async_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>

static struct rpm_region *region_of(struct rpmi_owner *owner)
{
    return (struct rpm_region *)((unsigned char *)owner - offsetof(struct rpm_region, owner));
}

static void finish(struct rpm_region *region, uint64_t seq, int status)
{
    RPM_ASSERT(seq <= region->submitted);
    RPM_ASSERT(region->reaped <= region->completed && region->completed <= region->submitted);
    status = rpmi_region_result(region, status);
    /* Ops behind a refused op end as lost: report the reason of the refusal for them too. */
    if (status != 0 && region->dead != 0)
        status = region->dead;
    while (region->completed < seq) {
        struct rpmi_task *task = &region->tasks[region->completed % region->inflight_max];

        /* The caller gets bytes of this region, and not those that another owner staged. */
        RPM_ASSERT(task->staged == NULL ||
                   rpmi_in_bounds((uint64_t)((unsigned char *)task->staged - region->outbox.base),
                                  task->steps != NULL ? 0 : task->len, region->outbox.bytes));
        /* A fence never refuses reads: they ended only because the connection was lost. */
        task->status = task->reads && status == RPM_E_FENCED ? RPM_E_LOST : status;
        if (status == 0 && task->steps != NULL)
            status = task->status = rpmi_steps_copy_results(task);
        else if (status == 0 && task->into != NULL && task->staged != NULL)
            memcpy(task->into, task->staged, task->len);
        RPM_ASSERT(region->outbox.head <= task->stage_end);
        region->outbox.head = task->stage_end;
        region->completed++;
    }
    RPM_ASSERT(region->outbox.head <= region->outbox.tail);
    if (status != 0 && region->dead == 0)
        region->dead = status;
}

void rpmi_region_complete(struct rpmi_owner *owner, uint64_t seq, int status)
{
    struct rpm_region *region = region_of(owner);

    RPM_ASSERT(seq > region->completed); /* each op completes once, in the order posted */
    finish(region, seq < region->submitted ? seq : region->submitted, status);
}

void rpmi_region_lost(struct rpmi_owner *owner, int status)
{
    struct rpm_region *region = region_of(owner);

    finish(region, region->submitted, status);
    RPM_ASSERT(region->dead != 0); /* nothing is posted by a key of the lost link */
}

bool rpmi_region_has_completion(struct rpmi_owner *owner)
{
    const struct rpm_region *region = region_of(owner);

    return region->reaped < region->completed;
}

int rpmi_region_reserve(struct rpm_region *region, struct rpmi_task *task,
                        int (*may_run)(const struct rpm_region *))
{
    uint64_t len_max = rpmi_outbox_piece_max(&region->outbox);
    bool unstaged = region->outbox.borrows && task->kind != RPMI_OP_STEPS;
    int err;

    if (!unstaged && task->len > len_max)
        return rpmi_fail(RPM_E_TOOBIG,
                         "an asynchronous operation of %" PRIu64 " bytes, maximum %" PRIu64
                         "; split it, or use the blocking call",
                         task->len, len_max);
    rpmi_conn_pump_unless_gathers(region->conn);
    err = may_run(region);
    if (err != 0)
        return err;
    RPM_ASSERT(region->ops_count == 0 && region->ranges_n == 0); /* no ops are built and not sent */
    RPM_ASSERT(region->submitted - region->reaped <= region->inflight_max);
    if (region->submitted - region->reaped == region->inflight_max)
        return RPM_E_BUSY;
    task->stage_end = region->outbox.tail; /* the outbox is restored to this if the post fails */
    if (unstaged)
        return 0;
    task->staged = rpmi_outbox_take(&region->outbox, task->len);
    return task->staged != NULL ? 0 : RPM_E_BUSY;
}

int rpmi_region_submit(struct rpm_region *region, const struct rpmi_task *task)
{
    uint64_t seq = region->submitted + 1;
    uint32_t n = region->ops_count;
    struct rpmi_task *entry;
    int err;

    RPM_ASSERT(n > 0 && region->ranges_n == 0);
    RPM_ASSERT(region->link_generation == region->conn->generation);
    region->ops_count = 0;
    region->ops[n - 1].flags |= RPMI_OP_SIGNALED;
    err = rpmi_conn_post(region->conn, &region->owner, region->ops, n, seq);
    if (err == RPM_E_BUSY) {
        region->outbox.tail = task->stage_end;
        return err;
    }
    RPM_ASSERT(region->submitted - region->reaped < region->inflight_max);
    entry = &region->tasks[region->submitted % region->inflight_max];
    *entry = *task;
    entry->stage_end = region->outbox.tail;
    region->submitted = seq;
    if (err != 0)
        finish(region, seq, err == RPMI_POST_DONE ? 0 : err);
    return 0;
}

int rpm_region_write_async(struct rpm_region *region, uint64_t offset, const void *data, size_t len,
                           void *context)
{
    rpmi_begin();

    struct rpmi_task task = {
        .kind = RPMI_OP_WRITE, .offset = offset, .len = len, .context = context
    };
    int err;

    RPM_ASSERT(region != NULL && data != NULL);
    err = rpmi_region_check(region, offset, len);
    if (err == 0)
        err = rpmi_region_reserve(region, &task, rpmi_region_writable);
    if (err != 0)
        return err;
    if (task.staged != NULL)
        memcpy(task.staged, data, len);
    rpmi_region_add_write(region, offset, task.staged != NULL ? task.staged : data, len);
    rpmi_region_add_seal(region);
    err = rpmi_region_submit(region, &task);
    if (err == 0)
        region->conn->payload_bytes += len;
    return err;
}

/* Number of ops that seal writes to these ranges. */
static uint32_t seal_ops(const struct rpm_region *region, uint32_t ranges)
{
    if (ranges == 0 || region->plan.seal_kind == 0)
        return 0;
    return region->plan.seal_kind == RPMI_OP_PERSIST ? ranges : 1;
}

static bool ends_group(const struct rpm_patch *next, uint32_t ranges)
{
    return (next->flags & RPM_PATCH_AFTER) != 0 || ranges == RPMI_GROUP_PATCHES;
}

/* The number of ops that these pieces take, and the bytes to keep until the ops have completed. */
static uint32_t measure(const struct rpm_region *region, const struct rpm_patch *patches,
                        uint32_t n, uint64_t *bytes)
{
    uint32_t ranges = 0;
    uint32_t ops = n;

    *bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (ends_group(&patches[i], ranges)) {
            ops += seal_ops(region, ranges);
            ranges = 0;
        }
        ranges++;
        *bytes += rpmi_align_up(patches[i].len, RPMI_LINE_BYTES);
    }
    return ops + seal_ops(region, ranges);
}

/* @staged: room for a copy of all pieces; NULL: the link completes on post. */
static void add_patches(struct rpm_region *region, const struct rpm_patch *patches, uint32_t n,
                        unsigned char *staged)
{
    for (uint32_t i = 0; i < n; i++) {
        const void *data = patches[i].data;
        bool after = (patches[i].flags & RPM_PATCH_AFTER) != 0 && i > 0;
        uint32_t first;

        if (region->ranges_n > 0 && ends_group(&patches[i], region->ranges_n))
            rpmi_region_add_seal(region);
        if (staged != NULL) {
            data = memcpy(staged, patches[i].data, patches[i].len);
            staged += rpmi_align_up(patches[i].len, RPMI_LINE_BYTES);
        }
        first = region->ops_count;
        rpmi_region_add_write(region, patches[i].offset, data, patches[i].len);
        if (after)
            rpmi_region_order_after_seal(region, first);
    }
    rpmi_region_add_seal(region);
    /* Behind this region's staging memory is that of another owner. */
    RPM_ASSERT(staged == NULL || staged <= region->outbox.base + region->outbox.bytes);
}

int rpm_region_writev_async(struct rpm_region *region, const struct rpm_patch *patches, uint32_t n,
                            void *context)
{
    rpmi_begin();

    struct rpmi_task task = { .kind = RPMI_OP_WRITE, .context = context };
    uint32_t ops;
    int err;

    RPM_ASSERT(region != NULL && patches != NULL);
    err = rpmi_region_check_patches(region, patches, n);
    if (err != 0)
        return err;
    ops = measure(region, patches, n, &task.len);
    if (ops > RPMI_BATCH_OPS_MAX)
        return rpmi_fail(
            RPM_E_TOOBIG,
            "a write of %u pieces needs %u operations, maximum %u in one submit; split it", n, ops,
            RPMI_BATCH_OPS_MAX);
    task.offset = patches[0].offset;
    err = rpmi_region_reserve(region, &task, rpmi_region_writable);
    if (err != 0)
        return err;
    add_patches(region, patches, n, task.staged);
    RPM_ASSERT(region->ops_count == ops);
    err = rpmi_region_submit(region, &task);
    for (uint32_t i = 0; i < n && err == 0; i++)
        region->conn->payload_bytes += patches[i].len;
    return err;
}

/* Submit one op that fetches bytes or a word. */
static int fetch(struct rpm_region *region, struct rpmi_op *op, struct rpmi_task *task,
                 int (*may_run)(const struct rpm_region *))
{
    int err = rpmi_region_reserve(region, task, may_run);

    if (err != 0)
        return err;
    RPM_ASSERT(region->ops_count == 0);
    op->key = region->key;
    op->len = task->len;
    op->into = task->staged != NULL ? task->staged : task->into;
    region->ops[region->ops_count++] = *op;
    return rpmi_region_submit(region, task);
}

int rpm_region_read_async(struct rpm_region *region, uint64_t offset, void *data, size_t len,
                          void *context)
{
    rpmi_begin();

    struct rpmi_op op = { .kind = RPMI_OP_READ, .offset = offset };
    struct rpmi_task task = { .kind = RPMI_OP_READ,
                              .reads = true,
                              .offset = offset,
                              .into = data,
                              .len = len,
                              .context = context };
    int err;

    RPM_ASSERT(region != NULL && data != NULL);
    err = rpmi_region_readable(region);
    if (err == 0)
        err = rpmi_region_bounds(region, offset, len);
    return err != 0 ? err : fetch(region, &op, &task, rpmi_region_readable);
}

static int change_word(struct rpm_region *region, struct rpmi_op *op, uint64_t *found,
                       void *context)
{
    struct rpmi_task task = {
        .kind = op->kind,
        .offset = op->offset,
        .into = found,
        .len = sizeof(*found),
        .context = context,
    };
    int err;

    RPM_ASSERT(region != NULL && found != NULL);
    err = rpmi_region_check_word(region, op->offset);
    return err != 0 ? err : fetch(region, op, &task, rpmi_region_writable);
}

int rpm_region_cas_async(struct rpm_region *region, uint64_t offset, uint64_t expect,
                         uint64_t desired, uint64_t *found, void *context)
{
    rpmi_begin();

    struct rpmi_op op = {
        .kind = RPMI_OP_CAS,
        .offset = offset,
        .expect = expect,
        .operand = desired,
    };

    return change_word(region, &op, found, context);
}

int rpm_region_faa_async(struct rpm_region *region, uint64_t offset, uint64_t add, uint64_t *found,
                         void *context)
{
    rpmi_begin();

    struct rpmi_op op = { .kind = RPMI_OP_FAA, .offset = offset, .operand = add };

    return change_word(region, &op, found, context);
}

int rpm_region_poll(struct rpm_region *region, struct rpm_completion *done, uint32_t n)
{
    rpmi_begin();

    uint32_t count = 0;

    RPM_ASSERT(region != NULL && (done != NULL || n == 0));
    if (n > INT32_MAX)
        return rpmi_fail(RPM_E_INVAL, "room for %u completions, maximum %d; pass a smaller n", n,
                         INT32_MAX);
    rpmi_conn_pump_unless_gathers(region->conn);
    while (count < n && region->reaped < region->completed) {
        const struct rpmi_task *task = &region->tasks[region->reaped % region->inflight_max];

        RPM_ASSERT(region->completed - region->reaped <= region->inflight_max);
        region->reaped++;
        done[count++] = (struct rpm_completion){
            .context = task->context,
            .lsn = task->offset,
            .status = task->status,
        };
    }
    return (int)count;
}
