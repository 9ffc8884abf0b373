/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.c: wait for appends: rpm_log_wait() until enough of them have completed or a time limit
 * ends, rpm_log_persist() until all of them are at the log's level.
 *
 * Two time limits end rpm_log_wait(). The caller's timeout ends only the call. The connection's
 * timeout_us closes the connection, as in an event loop: operations were outstanding for that long
 * and none completed.
 *
 * Tests: tests/unit/log/wait_test.cpp, tests/conform/wait_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/err.h"

/* Must appends of an RPM_MORE run without a flush be flushed to get @want completions? */
static bool needs_seal(const struct rpm_log *log, uint32_t want)
{
    uint32_t sealed = 0;

    if (log->sealed_lsn == log->tail_lsn)
        return false;
    for (uint64_t seq = log->completed; seq < log->submitted; seq++) {
        const struct rpmi_entry *entry = &log->entries[seq & log->entries_mask];

        if (entry->end_lsn > log->sealed_lsn)
            break;
        sealed += !entry->silent;
    }
    return sealed < want;
}

/* Wait until an operation completed, the connection was lost, or @until_ns (RPM_E_BUSY). */
static int wait_once(struct rpm_log *log, uint32_t want, uint64_t until_ns)
{
    if (needs_seal(log, want)) {
        int err = rpmi_group_seal(log);

        /* On a link that completes on post no operation is left to wait for. */
        if (err != RPM_E_BUSY && (err != 0 || log->completed == log->submitted))
            return err;
    }
    return rpmi_conn_wait_until(log->conn, until_ns);
}

int rpm_log_wait(struct rpm_log *log, struct rpm_completion *done, uint32_t n, uint32_t min,
                 uint64_t timeout_us)
{
    rpmi_begin();

    uint64_t now;
    uint64_t until_ns = UINT64_MAX;
    uint32_t count = 0;

    RPM_ASSERT(log != NULL && (done != NULL || n == 0));
    if (n > INT32_MAX || min > n)
        return rpmi_fail(RPM_E_INVAL,
                         "min is %u completions, but there is room for n = %u; pass a smaller min",
                         min, n);
    now = log->conn->link->ops->now_ns(log->conn->link);
    if (timeout_us < (UINT64_MAX - now) / 1000)
        until_ns = now + timeout_us * 1000;
    (void)rpmi_conn_pump(log->conn);
    for (;;) {
        count += rpmi_log_take(log, done + count, n - count);
        if (count >= min || log->completed == log->submitted + log->pending ||
            wait_once(log, min - count, until_ns) == RPM_E_BUSY)
            break;
    }
    if (count == 0 && min > 0 && log->dead != 0)
        return rpmi_log_refuse(log);
    return (int)count;
}

int rpmi_log_flush(struct rpm_log *log)
{
    uint64_t seq;
    int err;

    if (log->dead != 0)
        return rpmi_log_refuse(log);
    if (log->write_key == 0)
        return 0;
    seq = log->submitted + log->pending;
    while ((err = rpmi_group_seal(log)) == RPM_E_BUSY) {
        err = rpmi_conn_wait(log->conn, rpmi_conn_deadline(log->conn));
        if (err != 0)
            return err;
    }
    err = rpmi_log_wait(log, seq);
    /* What rpm_log_persist() promises: every record that was accepted is at the level. */
    RPM_ASSERT(err != 0 || log->dead != 0 || log->acked_lsn == log->tail_lsn);
    return log->dead != 0 ? log->dead : err;
}

int rpm_log_persist(struct rpm_log *log)
{
    rpmi_begin();
    RPM_ASSERT(log != NULL);
    return rpmi_log_explain(log, rpmi_log_flush(log));
}
