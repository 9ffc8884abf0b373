/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cold.c: a log and the segments that have its records: are they of the same log, and may the
 * writer trim what they have?
 *
 * Invariant: a log is trimmed only to the end of a segment that is durable and whose last record is
 * the log's own.
 *
 * Tests: tests/unit/log/cold_test.cpp
 */
#include "log/cold.h"

#include "base/assert.h"
#include "base/err.h"
#include "log/log.h"

#include <inttypes.h>

/* Does the log have the last record that is stored? Of a record that was trimmed nothing is known.
 */
static int check_history(struct rpm_log *log, const struct rpmi_cold *cold,
                         const struct rpmi_stored *stored)
{
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;
    int err;

    if (stored->last_lsn < log->head.trim_lsn)
        return 0;
    err = rpmi_log_judge(log, stored->last_lsn, &frame, &verdict);
    if (err != 0 || (verdict == RPMI_FRAME_VALID && frame.sum == stored->last_sum))
        return err;
    return rpmi_fail(RPM_E_CORRUPT,
                     "log '%s' and its segments in '%s' have different records at LSN %" PRIu64
                     ": one of the two was restored from a backup; move the segments to another "
                     "folder, and begin to store the log anew",
                     log->name, cold->where, stored->last_lsn);
}

int rpmi_cold_stored(struct rpm_log *log, struct rpm_tier *tier, uint64_t limit_lsn,
                     struct rpmi_stored *stored)
{
    const struct rpmi_cold *cold = rpmi_cold_of(tier);
    int err = cold->ops->stored(tier, log->log_id, log->head.trim_lsn, limit_lsn, stored);

    return err != 0 ? err : check_history(log, cold, stored);
}

int rpmi_log_let_go(struct rpm_log *log)
{
    struct rpmi_stored stored;
    int err;

    RPM_ASSERT(log->tier != NULL && log->write_key != 0);
    err = rpmi_cold_stored(log, log->tier, log->acked_lsn, &stored);
    if (err == RPM_E_NOENT)
        return 0;
    if (err != 0)
        return err;
    RPM_ASSERT(stored.end_lsn > log->head.trim_lsn && stored.end_lsn <= log->acked_lsn);
    return rpmi_log_trim_call(log, stored.end_lsn);
}
