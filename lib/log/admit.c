/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admit.c: the checks before a record is accepted: its size, whether the log can still be written,
 * room in the ring. All are made before any state changes.
 *
 * Tests: tests/unit/log/admit_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>
#include <string.h>

#define HEAD_READS_MAX 4u

int rpmi_log_refuse(const struct rpm_log *log)
{
    RPM_ASSERT(log->dead != 0);
    if (log->dead == RPM_E_FENCED)
        return rpmi_fail(log->dead,
                         "log '%s': another writer claimed it, or rpm_log_settle() ended writing; "
                         "reconnect, rpm_log_settle(), then rpm_log_claim() to write again",
                         log->name);
    return rpmi_fail(log->dead,
                     "log '%s': its connection was lost; reconnect, then rpm_log_resume()",
                     log->name);
}

int rpmi_log_explain(const struct rpm_log *log, int err)
{
    if (RPMI_LIKELY(err == 0) || err != log->dead)
        return err;
    if (rpmi_error_code != err || err == RPM_E_FENCED)
        return rpmi_log_refuse(log);
    if (strstr(rpm_last_error(), "rpm_log_resume()") != NULL)
        return err;
    return rpmi_fail(err,
                     "log '%s': its connection was lost (%s); reconnect, then rpm_log_resume()",
                     log->name, rpm_last_error());
}

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
    return 0;
}

int rpmi_log_readable(const struct rpm_log *log)
{
    if (log->dead != 0 && log->dead != RPM_E_FENCED)
        return rpmi_log_refuse(log);
    if (log->link_generation != log->conn->generation)
        return rpmi_fail(RPM_E_LOST,
                         "log '%s' was opened before the last reconnect; rpm_log_resume() it",
                         log->name);
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
        return 0;
    /* Another client may have trimmed since, so ask the server for the durable head. A head that we
     * read may be visible and not durable, and a power cut would restore the old head, whose
     * records we are about to overwrite. */
    err = RPMI_CANARY(VISIBLE_HEAD) ? free_by_reading(log) : rpmi_log_trim_call(log, 0);
    if (err != 0)
        return err;
    if (end_lsn - log->free_lsn <= log->capacity)
        return 0;
    return rpmi_fail(RPM_E_FULL,
                     "log '%s' is full: %" PRIu64 " of %" PRIu64 " bytes in use; trim it, or "
                     "create a log with a larger capacity (rpm-log append --capacity)",
                     log->name, log->tail_lsn - log->free_lsn, log->capacity);
}

/* The server writes the slots in turn while the client reads them, so a slot may be read torn. The
 * head is damaged only if repeated reads find no valid slot. */
static int read_head(struct rpm_log *log, struct rpmi_head *head)
{
    unsigned char slots[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE];
    int err = 0;

    for (uint32_t i = 0; i < HEAD_READS_MAX; i++) {
        err = rpmi_conn_read(log->conn, log->read_key, 0, slots, sizeof(slots));
        if (err != 0)
            return err;
        err = rpmi_head_pick(slots, head, &log->head_lacking);
        if (err == 0)
            return 0;
    }
    return rpmi_fail(err, "log '%s' needs 'rpm-log repair': %s", log->name, rpm_last_error());
}

int rpmi_log_head_now(struct rpm_log *log, struct rpmi_head *head)
{
    struct rpmi_head found;
    int err = read_head(log, &found);

    if (err != 0)
        return err;
    RPM_ASSERT(log->capacity != 0); /* the log is open before its head is read */
    if (found.log_id != log->log_id || found.capacity_bytes != log->capacity)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' needs 'rpm-log repair': its head belongs to another log",
                         log->name);
    *head = found;
    return 0;
}

int rpmi_log_head(struct rpm_log *log)
{
    return rpmi_log_head_now(log, &log->head);
}
