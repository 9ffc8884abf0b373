/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_cold.c: a reader of records that were trimmed, or that are damaged in the log: it goes on in
 * the segments of its tier, and behind them in the log.
 *
 * Tests: tests/unit/log/read_cold_test.cpp
 */
#include "log/reader.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>

static int seek(struct rpm_reader *reader)
{
    const struct rpmi_cold *cold = rpmi_cold_of(reader->tier);

    RPM_ASSERT(reader->tier != NULL);
    rpmi_reader_cold_drop(reader);
    reader->have = 0;
    return cold->ops->seek(reader->tier, reader->log->log_id, reader->next_lsn, &reader->cursor);
}

/* The record at next_lsn is damaged in the log. The segments' copy of it is the same record if they
 * are of this history of the log: if their last record is the log's own. */
static int fall_for_damage(struct rpm_reader *reader)
{
    struct rpmi_stored stored = { 0 };
    char damage[256];
    int err;

    RPM_ASSERT(reader->cursor == NULL); /* else its record is of a segment */
    (void)snprintf(damage, sizeof(damage), "%s", rpm_last_error());
    err = rpmi_cold_stored(reader->log, reader->tier, UINT64_MAX, &stored);
    if (err == 0 && stored.end_lsn > reader->next_lsn)
        err = seek(reader);
    if (err != 0 && err != RPM_E_NOENT && err != RPM_E_RANGE && err != RPM_E_CORRUPT)
        return err; /* of the link or of the store: the segments may have it */
    if (err != 0 || reader->cursor == NULL)
        return rpmi_fail(RPM_E_CORRUPT, "%s; the segments in '%s' do not have it: %s", damage,
                         rpmi_cold_of(reader->tier)->where,
                         err != 0 ? rpm_last_error() : "they end before it");
    reader->log->conn->link->stats.damaged++;
    return 0;
}

int rpmi_reader_fall(struct rpm_reader *reader, int err)
{
    const struct rpmi_cold *cold;

    if (reader->tier == NULL)
        return err;
    if (err == RPM_E_CORRUPT && reader->misses_record)
        return fall_for_damage(reader);
    if (err != RPM_E_TRIMMED)
        return err;
    cold = rpmi_cold_of(reader->tier);
    err = seek(reader);
    if (err == RPM_E_NOENT)
        return rpmi_fail(RPM_E_TRIMMED,
                         "LSN %" PRIu64 " was trimmed; log '%s' begins at %" PRIu64
                         ", and no segment in '%s' has it",
                         reader->next_lsn, reader->log->name, reader->head.trim_lsn, cold->where);
    return err;
}

int rpmi_reader_cold_next(struct rpm_reader *reader, struct rpm_record *record)
{
    struct rpmi_frame frame;
    const void *payload;
    uint64_t end_lsn;
    int found = rpmi_cold_of(reader->tier)->ops->next(reader->cursor, &frame, &payload, &end_lsn);

    if (found == 0) {
        found = rpmi_log_head(reader->log);
        if (found == 0 && reader->has_last)
            found = rpmi_cold_check(reader->log, reader->tier, reader->last.lsn, reader->last.sum);
        if (found == 0) { /* else the next call finds the same */
            reader->next_lsn = end_lsn;
            rpmi_reader_cold_drop(reader);
        }
        return found;
    }
    if (found < 0)
        return found;
    *record = rpmi_record_of(&frame, payload);
    RPM_ASSERT(frame.lsn >= reader->next_lsn && record->next_lsn > frame.lsn);
    reader->next_lsn = record->next_lsn;
    reader->last = frame;
    reader->has_last = true;
    reader->prior_epoch = frame.epoch;
    if (record->next_lsn - frame.lsn > reader->longest)
        reader->longest = record->next_lsn - frame.lsn;
    reader->idle_reads = RPMI_IDLE_READS_MAX;
    return 1;
}

void rpmi_reader_cold_drop(struct rpm_reader *reader)
{
    if (reader->cursor == NULL)
        return;
    rpmi_cold_of(reader->tier)->ops->drop(reader->cursor);
    reader->cursor = NULL;
}
