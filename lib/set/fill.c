/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill.c: see fill.h. The frames of both logs are read in turn, some hundred of each, up to the
 * first that differs; the bytes from there on are copied.
 *
 * Tests: tests/unit/set/fill_test.cpp
 */
#include "set/fill.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <inttypes.h>

#define FRAMES_AT_ONCE 512u

/* Some frames of the best log, one behind the other. */
struct run {
    struct rpmi_frame frames[FRAMES_AT_ONCE];
    uint32_t count;
    uint32_t equal;    /* how many of them the other log has, the first ones */
    uint64_t tail_lsn; /* where the best log ends */
};

static bool collect(void *context, const struct rpmi_frame *frame)
{
    struct run *run = context;

    if (rpmi_frame_end(frame) > run->tail_lsn)
        return false;
    run->frames[run->count++] = *frame;
    return run->count < FRAMES_AT_ONCE && rpmi_frame_end(frame) < run->tail_lsn;
}

static bool is_same(const struct rpmi_frame *a, const struct rpmi_frame *b)
{
    return a->lsn == b->lsn && a->len == b->len && a->epoch == b->epoch && a->flags == b->flags &&
           a->lag == b->lag && a->sum == b->sum;
}

static bool compare(void *context, const struct rpmi_frame *frame)
{
    struct run *run = context;

    if (!is_same(frame, &run->frames[run->equal]))
        return false;
    run->equal++;
    return run->equal < run->count;
}

/* Some frames of @best from @lsn on, at least one, and how many of them @log has. */
static int compare_some(struct rpm_log *log, struct rpm_log *best, uint64_t lsn, struct run *run)
{
    int err;

    run->count = run->equal = 0;
    err = rpmi_log_walk(best, lsn, collect, run);
    if (err == 0 && run->count == 0)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "log '%s' has no record at %" PRIu64
                        " any more on the best member, but ended at %" PRIu64
                        "; its memory is damaged",
                        best->name, lsn, run->tail_lsn);
    return err != 0 ? err : rpmi_log_walk(log, lsn, compare, run);
}

/* @lsn: in, where both logs have the start of a record or end; out, the end of the records from
 * there on that both have. */
static int find_difference(struct rpm_log *log, struct rpm_log *best, uint64_t tail_lsn,
                           uint64_t *lsn)
{
    struct run *run = rpmi_alloc(sizeof(*run), RPMI_LINE_BYTES);
    int err = run != NULL ? 0 : RPM_E_NOMEM;

    while (err == 0 && *lsn < tail_lsn) {
        run->tail_lsn = tail_lsn;
        err = compare_some(log, best, *lsn, run);
        if (err != 0 || run->equal == 0)
            break;
        *lsn = rpmi_frame_end(&run->frames[run->equal - 1]);
        if (run->equal < run->count)
            break;
    }
    rpmi_free(run);
    return err;
}

/* A log that is sealed in its claim's epoch is trimmed by at most a ring at a time. */
static int trim_as(struct rpm_log *log, const struct rpm_log *best)
{
    int err = 0;

    while (err == 0 && log->head.trim_lsn < best->head.trim_lsn) {
        uint64_t further = best->head.trim_lsn - log->head.trim_lsn;

        err = rpmi_member_trim(log, log->head.trim_lsn +
                                        (further < log->capacity ? further : log->capacity));
    }
    return err;
}

static int copy(struct rpm_log *log, struct rpm_log *best, uint64_t from, uint64_t to)
{
    int err = 0;

    for (uint64_t at = from, len; at < to && err == 0; at += len) {
        uint64_t position = at % best->capacity;

        len = to - at < RPMI_BOUNCE_BYTES ? to - at : RPMI_BOUNCE_BYTES;
        if (len > best->capacity - position)
            len = best->capacity - position;
        err = rpmi_conn_read(best->conn, best->read_key, RPMI_LOG_HEADER_BYTES + position,
                             log->conn->bounce, len);
        if (err == 0)
            err = rpmi_member_store(log, at, len);
    }
    return err;
}

int rpmi_fill(struct rpm_log *log, struct rpm_log *best, uint64_t tail_lsn, uint64_t *filled)
{
    uint64_t lsn;
    int err;

    RPM_ASSERT(log != best && log->write_key != 0 && best->write_key != 0);
    RPM_ASSERT(tail_lsn >= best->head.trim_lsn);
    *filled = 0;
    if (log->capacity != best->capacity)
        return rpmi_fail(RPM_E_EXISTS,
                         "log '%s' has a capacity of %" PRIu64 " bytes on one member and %" PRIu64
                         " on another; members have the same",
                         log->name, log->capacity, best->capacity);
    err = trim_as(log, best);
    lsn = log->head.trim_lsn;
    if (err == 0 && lsn > tail_lsn)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "log '%s' begins at LSN %" PRIu64 " on a member, but ends at %" PRIu64
                        " on the best one; start the members "
                        "that have the later records",
                        log->name, lsn, tail_lsn);
    if (err == 0)
        err = find_difference(log, best, tail_lsn, &lsn);
    if (err == 0)
        err = copy(log, best, lsn, tail_lsn);
    if (err == 0)
        *filled = tail_lsn - lsn;
    return err;
}
