/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admit.c: the checks before a record is accepted: its size, whether the log can still be written
 * (usable.c), room in the ring. All are made before any state changes.
 *
 * Tests: tests/unit/log/admit_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "log/cold.h"

#include <inttypes.h>

int rpmi_log_check(const struct rpm_log *log, uint64_t len)
{
    if (RPMI_UNLIKELY((log->flags & RPM_LOG_WRITE) == 0))
        return rpmi_fail(RPM_E_DENIED,
                         "log '%s' is open for reading only; open it with RPM_LOG_WRITE",
                         log->name);
    if (RPMI_UNLIKELY(log->dead != 0))
        return rpmi_log_refuse(log);
    if (RPMI_UNLIKELY(len == 0))
        return rpmi_fail(RPM_E_INVAL, "a record of 0 bytes; it has at least 1");
    if (RPMI_UNLIKELY(len > log->record_max))
        return rpmi_fail(RPM_E_TOOBIG,
                         "a record of %" PRIu64 " bytes, maximum %" PRIu64
                         " in log '%s'; split it, or raise the log's capacity or staging_bytes",
                         len, log->record_max, log->name);
    /* This handle has the claim, by a key of this link. */
    RPM_ASSERT_SLOW(log->write_key != 0 && log->link_generation == log->conn->generation);
    return 0;
}

/* Canary VISIBLE_HEAD only: take the bound from the head that is visible. */
static int free_by_reading(struct rpm_log *log)
{
    int err = rpmi_log_head(log);

    log->free_lsn = log->head.trim_lsn;
    return err;
}

int rpmi_log_admit(struct rpm_log *log, uint64_t end_lsn)
{
    int err;

    RPM_ASSERT(log->free_lsn <= log->tail_lsn && log->tail_lsn < end_lsn);
    if (RPMI_LIKELY(end_lsn - log->free_lsn <= log->capacity))
        return RPMI_LIKELY(!log->trims.on) ? 0 : rpmi_decision_look(log, end_lsn);
    /* Another client may have trimmed since, so ask the server for the durable head. A head that we
     * read may be visible and not durable, and a power cut would restore the old head, whose
     * records we are about to overwrite. */
    err = RPMI_CANARY(VISIBLE_HEAD) ? free_by_reading(log) : rpmi_log_trim_call(log, 0);
    if (err != 0)
        return err;
    if (end_lsn - log->free_lsn > log->capacity && log->tier != NULL)
        err = rpmi_log_let_go(log);
    if (err == 0 && end_lsn - log->free_lsn > log->capacity && log->trims.on)
        err = rpmi_decision_wait(log);
    if (err != 0 || end_lsn - log->free_lsn <= log->capacity)
        return err;
    if (log->trims.on)
        return rpmi_decision_full(log);
    if (log->tier != NULL)
        return rpmi_fail(RPM_E_FULL,
                         "log '%s' is full, and no segment in '%s' ends between its head, %" PRIu64
                         ", and its acknowledged tail, %" PRIu64
                         ": start rpm-agent with this folder, or try again when it has stored more",
                         log->name, rpmi_cold_of(log->tier)->where, log->free_lsn, log->acked_lsn);
    return rpmi_fail(RPM_E_FULL,
                     "log '%s' is full: %" PRIu64 " of %" PRIu64 " bytes in use; trim it, or "
                     "create a log with a larger capacity (rpm-log append --capacity)",
                     log->name, log->tail_lsn - log->free_lsn, log->capacity);
}
