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

/* How an error text goes on about segments that are of another history of the log. */
#define OTHER_HISTORY                                                                              \
    ": one of the two was restored from a backup, or the log was repaired; move the log's folder " \
    "there to another place, then rpm-agent stores the log anew"

int rpmi_cold_check(struct rpm_log *log, struct rpm_tier *tier, uint64_t lsn, uint64_t sum)
{
    enum rpmi_verdict verdict = RPMI_FRAME_BLANK;
    struct rpmi_frame frame;
    int err = 0;

    /* A writer may trim and reuse the space while this reads: then a head shows it. */
    for (int turn = 0; turn < 2 && err == 0 && lsn >= log->head.trim_lsn; turn++) {
        err = rpmi_log_judge(log, lsn, &frame, &verdict);
        if (err != 0 || (verdict == RPMI_FRAME_VALID && frame.sum == sum))
            return err;
        err = rpmi_log_head(log);
    }
    if (err != 0 || lsn < log->head.trim_lsn)
        return err;
    if (verdict != RPMI_FRAME_VALID)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' has no whole record at LSN %" PRIu64
                         ", where the last one of its segments in '%s' is: it is damaged, or "
                         "the pool was restored from a backup; see what rpm-log repair finds",
                         log->name, lsn, rpmi_cold_of(tier)->where);
    return rpmi_fail(RPM_E_CORRUPT,
                     "log '%s' has another record at LSN %" PRIu64
                     " than its segments in '%s'" OTHER_HISTORY,
                     log->name, lsn, rpmi_cold_of(tier)->where);
}

int rpmi_cold_stored(struct rpm_log *log, struct rpm_tier *tier, uint64_t limit_lsn,
                     struct rpmi_stored *stored)
{
    uint64_t head = log->head.trim_lsn;
    int err = rpmi_cold_of(tier)->ops->stored(tier, log->log_id, head, limit_lsn, stored);

    if (err != 0)
        return err;
    RPM_ASSERT(stored->end_lsn > head);
    /* The head is never inside a record, so that record is not of this log. */
    if (stored->last_lsn < head)
        return rpmi_fail(RPM_E_CORRUPT,
                         "a segment in '%s' has a record from LSN %" PRIu64 " to %" PRIu64
                         ", and log '%s' begins inside of it, at %" PRIu64 OTHER_HISTORY,
                         rpmi_cold_of(tier)->where, stored->last_lsn, stored->end_lsn, log->name,
                         head);
    return rpmi_cold_check(log, tier, stored->last_lsn, stored->last_sum);
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
