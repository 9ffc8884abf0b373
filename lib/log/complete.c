/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complete.c: completions of appends, handed to the caller oldest first, each exactly once. An
 * append that fails is remembered as unknown, for rpm_log_resume() to settle.
 *
 * Tests: tests/unit/log/complete_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

static void add_unknown(struct rpm_log *log, const struct rpmi_entry *entry)
{
    RPM_ASSERT(log->unknown_count < log->inflight_max);
    log->unknown[log->unknown_count++] = (struct rpm_outcome){
        .context = entry->context,
        .lsn = entry->lsn,
    };
}

int rpmi_log_unsent(struct rpm_log *log, uint32_t n, int err)
{
    if (err != RPM_E_LOST && err != RPM_E_TIMEDOUT && err != RPM_E_FENCED)
        return err;
    if (log->dead == 0)
        rpmi_log_finish(log, log->submitted, err);
    RPM_ASSERT(log->dead != 0); /* outcomes are unknown until the log is resumed */
    if (log->unknown_count + n > log->inflight_max)
        return rpmi_fail(RPM_E_BUSY,
                         "log '%s': %u appends have unknown outcomes, the maximum is %u "
                         "(inflight_max); reconnect, then rpm_log_resume() or rpm_log_settle()",
                         log->name, log->unknown_count, log->inflight_max);
    for (uint32_t i = 0; i < n; i++)
        log->unknown[log->unknown_count++] = (struct rpm_outcome){ .lsn = RPM_LSN_NONE };
    return err;
}

void rpmi_log_mark_unknown(struct rpm_log *log, uint64_t from, uint64_t to)
{
    uint32_t n = (uint32_t)(to - from);

    RPM_ASSERT(log->dead != 0 && log->unknown_count + n <= log->inflight_max);
    RPM_ASSERT(from <= to && to <= log->completed);
    memmove(log->unknown + n, log->unknown, log->unknown_count * sizeof(log->unknown[0]));
    for (uint32_t i = 0; i < n; i++)
        log->unknown[i] = (struct rpm_outcome){
            .lsn = log->entries[(from + i) & log->entries_mask].lsn,
        };
    log->unknown_count += n;
}

void rpmi_log_finish(struct rpm_log *log, uint64_t seq, int status)
{
    RPM_ASSERT(seq <= log->submitted);
    /* Ops behind a refused op end as lost: report the reason of the refusal for them too. */
    if (status != 0 && log->dead != 0)
        status = log->dead;
    while (log->completed < seq) {
        struct rpmi_entry *entry = &log->entries[log->completed & log->entries_mask];

        RPM_ASSERT(entry->end_lsn > log->acked_lsn); /* in the order of the log */
        entry->status = status;
        log->outbox.head = entry->stage_end;
        if (status == 0)
            log->acked_lsn = entry->end_lsn;
        else
            add_unknown(log, entry);
        log->completed++;
    }
    if (status != 0 && log->dead == 0)
        log->dead = status;
    RPM_ASSERT(log->completed >= seq || log->completed == log->submitted);
    /* Acknowledged is only what a seal covers. */
    RPM_ASSERT(log->acked_lsn <= log->sealed_lsn || RPMI_CANARY(OLD_FLUSH));
}

void rpmi_log_complete(struct rpmi_owner *owner, uint64_t seq, int status)
{
    struct rpm_log *log = rpmi_log_of(owner);

    if (RPMI_CANARY(OLD_FLUSH))
        seq = log->submitted;
    /* A failed post may name entries that were never counted as submitted. */
    rpmi_log_finish(log, seq < log->submitted ? seq : log->submitted, status);
}

bool rpmi_log_has_completion(struct rpmi_owner *owner)
{
    struct rpm_log *log = rpmi_log_of(owner);

    rpmi_log_reap_silent(log);
    return log->reaped < log->completed;
}

void rpmi_log_reap_silent(struct rpm_log *log)
{
    while (log->reaped < log->completed && log->entries[log->reaped & log->entries_mask].silent)
        log->reaped++;
}

uint32_t rpmi_log_room(const struct rpm_log *log)
{
    /* Else there would seem to be room, and entries of outstanding appends would be reused. */
    RPM_ASSERT_SLOW(log->submitted + log->pending - log->reaped <= log->inflight_max);
    return log->inflight_max - (uint32_t)(log->submitted + log->pending - log->reaped);
}

int rpmi_log_wait(struct rpm_log *log, uint64_t seq)
{
    uint64_t deadline;
    int err = 0;

    if (log->completed >= seq)
        return 0;
    RPM_ASSERT(seq <= log->submitted); /* else the wait would never end */
    deadline = rpmi_conn_deadline(log->conn);
    while (err == 0 && log->completed < seq)
        err = rpmi_conn_wait(log->conn, deadline);
    return err;
}

uint32_t rpmi_log_take(struct rpm_log *log, struct rpm_completion *done, uint32_t n)
{
    uint32_t count = 0;

    RPM_ASSERT(log->completed - log->reaped <= log->inflight_max); /* none was overwritten */
    while (count < n && log->reaped < log->completed) {
        const struct rpmi_entry *entry = &log->entries[log->reaped & log->entries_mask];

        log->reaped++;
        if (entry->silent)
            continue;
        done[count++] = (struct rpm_completion){
            .context = entry->context,
            .lsn = entry->lsn,
            .status = entry->status,
        };
    }
    return count;
}

int rpm_log_poll(struct rpm_log *log, struct rpm_completion *done, uint32_t n)
{
    rpmi_begin();
    RPM_ASSERT(log != NULL && (done != NULL || n == 0));
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    if (n > INT32_MAX)
        return rpmi_fail(RPM_E_INVAL, "room for %u completions, maximum %d; pass a smaller n", n,
                         INT32_MAX);
    rpmi_conn_pump_unless_gathers(log->conn);
    return (int)rpmi_log_take(log, done, n);
}
