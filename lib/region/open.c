/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c: open and close a region. Whether its level can be proven is decided before it is created.
 *
 * Tests: tests/unit/region/open_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opts.h"
#include "plan/refuse.h"
#include "wire/super.h"

#include <string.h>

#define FLAGS_ALL (RPM_REGION_CREATE | RPM_REGION_EXCL | RPM_REGION_DRAM)

static int opts_read(const struct rpm_region_opts *opts, struct rpm_region_opts *ours)
{
    int err;

    *ours = rpm_region_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if ((ours->flags & ~(uint32_t)FLAGS_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL, "region flags %#x, known are %#x", ours->flags,
                         (unsigned)FLAGS_ALL);
    if (ours->level == RPM_LEVEL_DEFAULT)
        ours->level = (ours->flags & RPM_REGION_DRAM) != 0 ? RPM_VISIBLE : RPM_DURABLE;
    if (ours->inflight_max == 0)
        ours->inflight_max = RPMI_INFLIGHT_DEFAULT;
    err = rpmi_level_check(ours->level);
    if (err != 0)
        return err;
    if ((ours->flags & RPM_REGION_DRAM) != 0 && ours->level > RPM_VISIBLE)
        return rpmi_fail(RPM_E_NOCAP,
                         "level %s of a DRAM region, which loses its bytes with the server; the "
                         "highest is %s: ask for that, or leave RPM_REGION_DRAM out",
                         rpm_level_name(ours->level), rpm_level_name(RPM_VISIBLE));
    err = rpmi_method_check(ours->method);
    if (err != 0)
        return err;
    if (ours->inflight_max > RPMI_INFLIGHT_MAX)
        return rpmi_fail(RPM_E_INVAL, "inflight_max of %u, maximum %u", ours->inflight_max,
                         RPMI_INFLIGHT_MAX);
    if (ours->slot_bytes % RPMI_LINE_BYTES != 0)
        return rpmi_fail(RPM_E_INVAL, "slot_bytes of %u is not a multiple of %u", ours->slot_bytes,
                         RPMI_LINE_BYTES);
    if ((ours->flags & RPM_REGION_CREATE) != 0 && ours->bytes == 0)
        return rpmi_fail(RPM_E_INVAL, "a region of 0 bytes to create; set bytes to at least 1");
    return 0;
}

static int make_plans(struct rpm_region *region, const struct rpm_region_opts *opts)
{
    struct rpm_request request =
        rpmi_conn_request(region->conn, RPM_REQUEST_WRITE, opts->level, opts->method);
    int err;

    request.slot_bytes = region->slot_bytes;
    err = rpmi_plan_make(&region->conn->link->facts, &request, &region->plan);
    if (err != 0)
        return err;
    return rpmi_plan_make_persist(&region->conn->link->facts, &request, &region->persist_plan);
}

static int attach(struct rpm_region *region, const char *name, const struct rpm_region_opts *opts)
{
    struct rpmi_call call = {
        .kind = RPMI_CALL_OPEN,
        .object = region->kind,
        .flags = ((opts->flags & RPM_REGION_CREATE) != 0 ? RPMI_CALL_CREATE : 0) |
                 ((opts->flags & RPM_REGION_EXCL) != 0 ? RPMI_CALL_EXCL : 0) |
                 (region->claim.log != NULL ? RPMI_CALL_GUARDED : 0),
        .key = region->claim.key,
        .bytes = opts->bytes,
    };
    struct rpmi_reply reply;
    int err;

    memcpy(call.name, name, strlen(name) + 1);
    err = rpmi_conn_call(region->conn, &call, &reply);
    if (err != 0)
        return err;
    region->key = reply.key;
    region->bytes = reply.bytes;
    region->link_generation = region->conn->generation;
    RPM_ASSERT(region->submitted == 0 && region->ops_count == 0);
    return 0;
}

static size_t arena_bytes(const struct rpm_region_opts *opts)
{
    return rpmi_arena_cost(sizeof(struct rpm_region)) +
           rpmi_arena_cost(opts->inflight_max * sizeof(struct rpmi_task)) +
           rpmi_arena_cost(RPMI_BATCH_OPS_MAX * sizeof(struct rpmi_op));
}

static struct rpm_region *init_in_arena(struct rpmi_arena *arena, struct rpm_conn *conn,
                                        const struct rpm_region_opts *opts)
{
    struct rpm_region *region = rpmi_arena_take(arena, sizeof(*region));

    region->tasks = rpmi_arena_take(arena, opts->inflight_max * sizeof(struct rpmi_task));
    region->ops = rpmi_arena_take(arena, RPMI_BATCH_OPS_MAX * sizeof(struct rpmi_op));
    region->arena = *arena;
    region->conn = conn;
    region->kind = (opts->flags & RPM_REGION_DRAM) != 0 ? RPM_KIND_DRAM : RPM_KIND_REGION;
    region->slot_bytes = opts->slot_bytes;
    region->inflight_max = opts->inflight_max;
    region->owner.complete = rpmi_region_complete;
    region->owner.lost = rpmi_region_lost;
    region->owner.has_completion = rpmi_region_has_completion;
    RPM_ASSERT(region->inflight_max > 0 && region->inflight_max <= RPMI_INFLIGHT_MAX);
    RPM_ASSERT(region->slot_bytes % RPMI_LINE_BYTES == 0);
    return region;
}

static int take_stage(struct rpm_region *region)
{
    if (!rpmi_outbox_open(&region->outbox, region->conn->link, RPMI_REGION_STAGE_BYTES))
        return rpmi_fail(RPM_E_NOMEM,
                         "a region takes %u bytes of staging memory and its connection has fewer "
                         "left; raise staging_bytes of the connection",
                         RPMI_REGION_STAGE_BYTES);
    return 0;
}

static void release(struct rpm_region *region)
{
    struct rpmi_arena arena = region->arena;

    RPM_ASSERT(region->ops_count == 0 && region->ranges_n == 0); /* none was built and not sent */
    if (region->outbox.base != NULL)
        region->conn->link->ops->unstage(region->conn->link, region->outbox.base);
    rpmi_arena_close(&arena);
}

int rpm_region_open(struct rpm_conn *conn, const char *name, const struct rpm_region_opts *opts,
                    struct rpm_region **region)
{
    rpmi_begin();

    struct rpm_region_opts ours;
    struct rpmi_arena arena;
    struct rpm_region *fresh;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL && region != NULL);
    err = opts_read(opts, &ours);
    if (err == 0)
        err = rpmi_name_check(name);
    if (err == 0)
        err = rpmi_arena_open(&arena, NULL, arena_bytes(&ours));
    if (err != 0)
        return err;
    fresh = init_in_arena(&arena, conn, &ours);
    err = rpmi_conn_join(conn, &fresh->owner);
    if (err != 0)
        goto no_slot;
    err = rpmi_claim_join(ours.claim, conn, &fresh->claim);
    if (err == 0)
        err = make_plans(fresh, &ours);
    if (err == 0)
        err = take_stage(fresh);
    if (err == 0)
        err = attach(fresh, name, &ours);
    if (err != 0)
        goto no_region;
    RPM_ASSERT(fresh->dead == 0); /* its loss would not be reported a second time */
    *region = fresh;
    return 0;
no_region:
    rpmi_claim_leave(&fresh->claim);
    rpmi_conn_leave(conn, &fresh->owner);
no_slot:
    release(fresh);
    return err;
}

uint64_t rpm_region_bytes(const struct rpm_region *region)
{
    RPM_ASSERT(region != NULL);
    return region->bytes;
}

void rpm_region_close(struct rpm_region **region)
{
    RPM_ASSERT(region != NULL);
    if (*region == NULL)
        return;
    rpmi_conn_drain((*region)->conn, &(*region)->owner); /* a fenced region may have reads */
    RPM_ASSERT((*region)->reaped <= (*region)->completed);
    /* Else the link would still use the staging memory, and the next owner of the slot would take a
     * completion of this region for its own. */
    RPM_ASSERT((*region)->completed == (*region)->submitted);
    if ((*region)->link_generation == (*region)->conn->generation)
        rpmi_conn_drop_key((*region)->conn, (*region)->key);
    rpmi_claim_leave(&(*region)->claim);
    rpmi_conn_leave((*region)->conn, &(*region)->owner);
    release(*region);
    *region = NULL;
}
