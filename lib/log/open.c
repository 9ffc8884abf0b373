/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c: open and close a log. Whether its level can be proven is decided before anything is
 * created or claimed.
 *
 * Tests: tests/unit/log/open_test.cpp, tests/conform/resume_test.cpp
 */
#include "log/member.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opts.h"
#include "plan/refuse.h"
#include "wire/super.h"

#include <string.h>

#define STAGING_DEFAULT (1u << 20)
#define STAGING_MIN (64u << 10)
#define FLAGS_ALL                                                                                  \
    (RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_EXCL | RPM_LOG_TAKEOVER | RPM_LOG_AGENT_TIER |       \
     RPM_LOG_LATE_FETCH)

static int opts_read(const struct rpm_log_opts *opts, struct rpm_log_opts *ours)
{
    int err;

    *ours = rpm_log_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if (ours->level == RPM_LEVEL_DEFAULT)
        ours->level = RPM_DURABLE;
    if (ours->inflight_max == 0)
        ours->inflight_max = RPMI_INFLIGHT_DEFAULT;
    if (ours->staging_bytes == 0)
        ours->staging_bytes = STAGING_DEFAULT;
    if ((ours->flags & ~(uint32_t)FLAGS_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL, "log flags %#x, known are %#x", ours->flags,
                         (unsigned)FLAGS_ALL);
    if (((ours->flags & RPM_LOG_AGENT_TIER) != 0 && (ours->flags & RPM_LOG_WRITE) == 0) ||
        ((ours->flags & RPM_LOG_LATE_FETCH) != 0 && (ours->flags & RPM_LOG_AGENT_TIER) == 0))
        return rpmi_fail(RPM_E_INVAL,
                         "log flags %#x: RPM_LOG_LATE_FETCH is for RPM_LOG_AGENT_TIER, and that "
                         "for RPM_LOG_WRITE",
                         ours->flags);
    err = rpmi_level_check(ours->level);
    if (err != 0)
        return err;
    err = rpmi_method_check(ours->method);
    if (err != 0)
        return err;
    if (ours->inflight_max > RPMI_INFLIGHT_MAX)
        return rpmi_fail(RPM_E_INVAL, "inflight_max of %u, maximum %u", ours->inflight_max,
                         RPMI_INFLIGHT_MAX);
    if (ours->staging_bytes < STAGING_MIN || !rpmi_is_aligned(ours->staging_bytes, RPMI_LINE_BYTES))
        return rpmi_fail(RPM_E_INVAL, "staging_bytes of %zu; it is at least %u, a multiple of %u",
                         (size_t)ours->staging_bytes, STAGING_MIN, RPMI_LINE_BYTES);
    return 0;
}

static uint32_t entries_count(const struct rpm_log_opts *opts)
{
    uint32_t count = 1;

    while (count < opts->inflight_max)
        count *= 2;
    return count;
}

/* A writer needs queues, a reader only the handle. */
static size_t arena_bytes(const struct rpm_log_opts *opts)
{
    size_t bytes = rpmi_arena_cost(sizeof(struct rpm_log));

    if ((opts->flags & RPM_LOG_WRITE) == 0)
        return bytes;
    return bytes + rpmi_arena_cost(entries_count(opts) * sizeof(struct rpmi_entry)) +
           rpmi_arena_cost(opts->inflight_max * sizeof(struct rpm_outcome)) +
           rpmi_arena_cost(RPMI_BATCH_OPS_MAX * sizeof(struct rpmi_op)) +
           rpmi_arena_cost(RPMI_BATCH_OPS_MAX * RPMI_LINE_BYTES);
}

size_t rpm_log_mem_bytes(const struct rpm_log_opts *opts)
{
    struct rpm_log_opts ours;

    return opts_read(opts, &ours) == 0 ? arena_bytes(&ours) : 0;
}

static int make_plans(struct rpm_log *log, uint32_t level)
{
    struct rpm_request request =
        rpmi_conn_request(log->conn, RPM_REQUEST_APPEND, level, log->method);
    int err = rpmi_plan_make(&log->conn->link->facts, &request, &log->plan);

    if (err != 0)
        return err;
    log->lag_mask = log->plan.level == RPM_DURABLE ? RPMI_FRAME_LAG_MAX : 0;
    log->fast_path = log->plan.write_kind == RPMI_OP_WRITE &&
                             (log->plan.seal_kind == RPMI_OP_DRAIN || log->plan.seal_kind == 0)
                         ? log->conn->link->fast_path
                         : NULL;
    return rpmi_plan_make_persist(&log->conn->link->facts, &request, &log->persist_plan);
}

static struct rpm_log *init_in_arena(struct rpmi_arena *arena, struct rpm_conn *conn,
                                     const struct rpm_log_opts *opts)
{
    struct rpm_log *log = rpmi_arena_take(arena, sizeof(*log));

    log->conn = conn;
    log->flags = opts->flags;
    log->method = opts->method;
    log->tier = opts->tier;
    log->inflight_max = opts->inflight_max;
    log->lag_from = &log->acked_lsn;
    log->owner.complete = rpmi_log_complete;
    log->owner.lost = rpmi_log_lost;
    log->owner.has_completion = rpmi_log_has_completion;
    log->owner.release = rpmi_log_release;
    if ((opts->flags & RPM_LOG_WRITE) != 0) {
        log->entries = rpmi_arena_take(arena, entries_count(opts) * sizeof(struct rpmi_entry));
        log->entries_mask = entries_count(opts) - 1;
        log->unknown = rpmi_arena_take(arena, opts->inflight_max * sizeof(struct rpm_outcome));
        log->ops = rpmi_arena_take(arena, RPMI_BATCH_OPS_MAX * sizeof(struct rpmi_op));
        log->headers = rpmi_arena_take(arena, RPMI_BATCH_OPS_MAX * RPMI_LINE_BYTES);
        /* No two outstanding appends share an entry. */
        RPM_ASSERT((log->entries_mask & (log->entries_mask + 1)) == 0 &&
                   log->entries_mask + 1 >= log->inflight_max);
    }
    log->arena = *arena;
    return log;
}

static int prepare_writer(struct rpm_log *log, const struct rpm_log_opts *opts)
{
    int err = make_plans(log, opts->level);

    if (err == 0)
        err = rpmi_decision_open(log);
    if (err != 0)
        return err;
    if (!rpmi_outbox_open(&log->outbox, log->conn->link, opts->staging_bytes))
        return rpmi_fail(RPM_E_NOMEM,
                         "the log takes %zu bytes of staging memory and its connection has fewer "
                         "left; raise staging_bytes of the connection",
                         (size_t)opts->staging_bytes);
    return 0;
}

static void set_record_max(struct rpm_log *log)
{
    log->record_max = rpmi_ring_record_max(log->capacity);
    if (log->outbox.base != NULL && !log->outbox.borrows &&
        log->record_max > rpmi_group_stage_max(log))
        log->record_max = rpmi_group_stage_max(log);
}

static int attach(struct rpm_log *log, const struct rpm_log_opts *opts,
                  const struct rpmi_member *member)
{
    uint32_t create = ((opts->flags & RPM_LOG_CREATE) != 0 ? RPMI_CALL_CREATE : 0) |
                      ((opts->flags & RPM_LOG_EXCL) != 0 ? RPMI_CALL_EXCL : 0);
    int err = rpmi_log_attach(log, create, opts->capacity_bytes, member);

    if (err != 0)
        return err;
    set_record_max(log);
    err = rpmi_log_head(log);
    if (err != 0 || (opts->flags & RPM_LOG_WRITE) == 0)
        return err;
    if (member != NULL) {
        log->dead = RPM_E_FENCED; /* until its seal */
        return 0;
    }
    err = rpmi_log_claim(log, (opts->flags & RPM_LOG_TAKEOVER) != 0 ? RPMI_CALL_TAKEOVER : 0);
    if (err == 0)
        err = rpmi_log_head(log);
    return err != 0 ? err : rpmi_log_recover(log, 0, NULL, NULL);
}

static void detach(struct rpm_log *log)
{
    struct rpmi_link *link = log->conn->link;

    rpmi_log_drop_keys(log);
    if (log->outbox.base != NULL)
        link->ops->unstage(link, log->outbox.base);
}

static void release(struct rpm_log *log)
{
    struct rpmi_arena arena = log->arena;

    rpmi_arena_close(&arena);
}

/* Make a handle that has joined @conn; undo() drops it. */
static int make(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                struct rpm_log **log)
{
    struct rpmi_arena arena;
    struct rpm_log *fresh;
    int err = rpmi_name_check(name);

    if (err == 0)
        err = rpmi_arena_open(&arena, opts->mem, arena_bytes(opts));
    if (err != 0)
        return err;
    fresh = init_in_arena(&arena, conn, opts);
    memcpy(fresh->name, name, strlen(name) + 1);
    err = rpmi_conn_join(conn, &fresh->owner);
    if (err != 0) {
        release(fresh);
        return err;
    }
    *log = fresh;
    return 0;
}

static void undo(struct rpm_log *log)
{
    /* The link reads no staged record any more, and none waits for a seal that never comes. */
    RPM_ASSERT(log->completed == log->submitted && log->pending == 0 && log->waiting == 0);
    detach(log);
    rpmi_conn_leave(log->conn, &log->owner);
    release(log);
}

int rpm_log_open(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                 struct rpm_log **log)
{
    rpmi_begin();
    return rpmi_log_open_as(conn, name, opts, NULL, log);
}

int rpmi_log_open_as(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                     const struct rpmi_member *member, struct rpm_log **log)
{
    struct rpm_log_opts ours;
    struct rpm_log *fresh;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL && log != NULL);
    err = opts_read(opts, &ours);
    if (err == 0)
        err = make(conn, name, &ours, &fresh);
    if (err != 0)
        return err;
    if ((ours.flags & RPM_LOG_WRITE) != 0)
        err = prepare_writer(fresh, &ours);
    if (err == 0)
        err = attach(fresh, &ours, member);
    if (err != 0) {
        undo(fresh);
        return err;
    }
    *log = fresh;
    return 0;
}

int rpmi_log_open_without_head(struct rpm_conn *conn, const char *name, struct rpm_log **log)
{
    struct rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log *fresh;
    int err = make(conn, name, &opts, &fresh);

    if (err != 0)
        return err;
    err = rpmi_log_attach(fresh, 0, 0, NULL);
    if (err != 0) {
        undo(fresh);
        return err;
    }
    *log = fresh;
    return 0;
}

int rpmi_log_replan(struct rpm_log *log)
{
    int err = make_plans(log, log->plan.level);

    /* No append is outstanding that the old plan would have to seal. */
    RPM_ASSERT(log->dead != 0 && log->completed == log->submitted && log->pending == 0);
    if (err != 0)
        return err;
    /* A new link may map the pool although the old one did not, or the other way round. */
    log->outbox.borrows = rpmi_conn_is_synchronous(log->conn);
    set_record_max(log);
    return 0;
}

int rpm_log_info(struct rpm_log *log, struct rpm_log_info *info)
{
    rpmi_begin();

    struct rpm_log_info ours = rpm_log_info_init();
    int damage = 0;
    int err;

    RPM_ASSERT(log != NULL && info != NULL);
    if (log->write_key == 0 || log->dead != 0) {
        err = rpmi_log_readable(log);
        if (err == 0)
            err = rpmi_log_head(log);
        if (err != 0)
            return err;
        damage = rpmi_log_scan(log, log->head.trim_lsn, NULL, NULL, &log->report);
        if (damage != 0 && damage != RPM_E_CORRUPT)
            return damage;
        log->tail_lsn = log->report.end_lsn;
    }
    ours.head_lsn = log->head.trim_lsn;
    ours.tail_lsn = log->tail_lsn;
    ours.capacity_bytes = log->capacity;
    ours.records = log->report.records;
    ours.torn = log->report.torn;
    ours.epoch = log->head.epoch;
    ours.scan_bytes = log->report.bytes;
    ours.scan_ns = log->report.ns;
    ours.level = log->plan.level;
    ours.method = log->plan.method;
    ours.stranded = log->report.stranded;
    ours.head_copies_lost = (uint64_t)__builtin_popcount(log->head_lacking);
    err = rpmi_opts_out(info, &ours, sizeof(ours));
    return err != 0 ? err : damage;
}

size_t rpm_log_record_max(const struct rpm_log *log)
{
    RPM_ASSERT(log != NULL);
    return log->record_max;
}

void rpm_log_close(struct rpm_log **log)
{
    RPM_ASSERT(log != NULL);
    if (*log == NULL)
        return;
    RPM_ASSERT((*log)->guarded == 0);
    rpm_log_abandon(*log);
    if ((*log)->dead == 0 && (*log)->write_key != 0)
        (void)rpmi_log_flush(*log);
    /* The appends of a fenced log have ended for the caller, and not yet for the link. */
    rpmi_conn_drain((*log)->conn, &(*log)->owner);
    undo(*log);
    *log = NULL;
}
