/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usable.c: whether an open log can still be read and written, and the error texts that say why not
 * and how a program continues.
 *
 * Invariant: an error that ended writing is reported with its text, also by later calls.
 *
 * Tests: tests/unit/log/usable_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>

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
