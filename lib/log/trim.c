/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trim.c: free the space of the oldest records. The server writes the head; the writer reuses the
 * space only after the server's reply, which says that the new head is durable.
 *
 * Tests: tests/unit/log/trim_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>

#define RANGE_TEXT_BYTES 320

struct boundary {
    uint64_t lsn;
    bool found;
};

static void match_boundary(void *context, const struct rpmi_frame *frame)
{
    struct boundary *boundary = context;

    if (frame->lsn == boundary->lsn)
        boundary->found = true;
}

static int no_record_there(const struct rpm_log *log, uint64_t lsn, uint64_t tail)
{
    return rpmi_fail(RPM_E_RANGE,
                     "log '%s': no record starts at %" PRIu64 "; its head is %" PRIu64
                     ", its tail %" PRIu64 "; trim to an LSN that an append or a reader returned",
                     log->name, lsn, log->head.trim_lsn, tail);
}

/* Follow the frames from the head to find out whether a record starts at @lsn. */
static int check_by_walk(struct rpm_log *log, uint64_t lsn)
{
    struct boundary boundary = { .lsn = lsn };
    struct rpmi_scan_report report;
    int err = rpmi_log_scan(log, log->head.trim_lsn, match_boundary, &boundary, &report);

    if (err != 0)
        return err;
    if (boundary.found || lsn == report.end_lsn)
        return 0;
    return no_record_there(log, lsn, report.end_lsn);
}

static int check_as_writer(struct rpm_log *log, uint64_t lsn)
{
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;
    int err;

    RPM_ASSERT(log->acked_lsn <= log->tail_lsn && log->dead == 0);
    if (lsn > log->acked_lsn)
        return rpmi_fail(RPM_E_RANGE,
                         "%" PRIu64 " lies beyond the acknowledged tail %" PRIu64
                         ": trim to that at most, or call rpm_log_persist() first",
                         lsn, log->acked_lsn);
    /* The next frame begins there. It may be held back still, so its bytes prove nothing. */
    if (lsn == log->acked_lsn)
        return 0;
    if (!rpmi_is_aligned(lsn, RPMI_LINE_BYTES))
        return no_record_there(log, lsn, log->acked_lsn);
    /* Below the base other writers wrote, and an older frame may be inside the bytes that they
     * skipped. */
    if (lsn < log->head.base_lsn)
        return check_by_walk(log, lsn);
    err = rpmi_log_judge(log, lsn, &frame, &verdict);
    if (err == 0 && (verdict != RPMI_FRAME_VALID || frame.epoch != log->epoch))
        err = no_record_there(log, lsn, log->acked_lsn);
    return err;
}

int rpmi_log_trim_call(struct rpm_log *log, uint64_t lsn)
{
    struct rpmi_call call = { .kind = RPMI_CALL_TRIM,
                              .key = log->write_key != 0 ? log->write_key : log->read_key,
                              .lsn = lsn };
    bool unsealed = log->write_key != 0 && log->dead != 0; /* a seal will say where its tail is */
    struct rpmi_reply reply;
    int err = rpmi_conn_call(log->conn, &call, &reply);

    /* Outstanding appends are unknown now, as if their own completions had failed. */
    if (err == RPM_E_FENCED && log->dead == 0)
        rpmi_log_end(log, err);
    if (err != 0)
        return err;
    if (reply.value < lsn || reply.value >= RPMI_HEAD_LIMIT ||
        !rpmi_is_aligned(reply.value, RPMI_LINE_BYTES) ||
        (log->write_key != 0 && !unsealed && reply.value > log->tail_lsn))
        return rpmi_fail(RPM_E_PROTO,
                         "the server says that log '%s' begins at %" PRIu64
                         "; expected is a multiple of %u, from %" PRIu64 " to the tail",
                         log->name, reply.value, RPMI_LINE_BYTES, lsn);
    if (reply.value > log->head.trim_lsn)
        log->head.trim_lsn = reply.value;
    if (unsealed)
        return 0;
    RPM_ASSERT(log->write_key == 0 || log->free_lsn <= log->tail_lsn);
    if (reply.value > log->free_lsn)
        log->free_lsn = reply.value;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return 0;
}

/* @lsn seems not to be the start of a record. This proves nothing if a newer writer fenced us
 * during the search, trimmed and wrote there. */
static int out_of_range(struct rpm_log *log)
{
    char why[RANGE_TEXT_BYTES];
    int err;

    (void)snprintf(why, sizeof(why), "%s", rpm_last_error());
    err = rpmi_log_trim_call(log, 0);
    return err != 0 ? err : rpmi_fail(RPM_E_RANGE, "%s", why);
}

int rpm_log_trim(struct rpm_log *log, uint64_t lsn)
{
    rpmi_begin();

    bool writes;
    int err;

    err = rpmi_log_readable(log);
    if (err == 0)
        err = rpmi_log_head(log);
    if (err != 0 || lsn <= log->free_lsn)
        return err;
    /* Another client has trimmed further. Its trim may not be durable yet, so ask the server. */
    if (lsn <= log->head.trim_lsn)
        return rpmi_log_trim_call(log, 0);
    writes = log->write_key != 0 && log->dead == 0;
    err = writes ? check_as_writer(log, lsn) : check_by_walk(log, lsn);
    if (err == RPM_E_RANGE && writes)
        return out_of_range(log);
    if (err != 0)
        return err;
    if (RPMI_CANARY(LATE_TRIM)) {
        log->late_trim = lsn;
        log->head.trim_lsn = lsn;
        log->free_lsn = lsn;
        return 0;
    }
    RPM_ASSERT(!writes || lsn <= log->acked_lsn); /* no record without an outcome is trimmed */
    return rpmi_log_trim_call(log, lsn);
}
