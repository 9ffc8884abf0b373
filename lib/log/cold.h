/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cold.h: records that a log does not have any more, as its reader and its writer see them: the
 * part of <librpm/tier.h> that lib/log calls, by a table, because lib/tier lies above it.
 *
 * Threads: as the log.   Tests: tests/unit/log/cold_test.cpp, tests/unit/log/read_cold_test.cpp
 */
#ifndef RPMI_COLD_H
#define RPMI_COLD_H

#include "wire/frame.h"

#include <librpm/reader.h>
#include <stdint.h>

struct rpm_tier;
struct rpmi_cold_cursor;

/* Where the records end that are stored without a gap, and the last one of them. */
struct rpmi_stored {
    uint64_t end_lsn;
    uint64_t last_lsn;
    uint64_t last_sum;
};

struct rpmi_cold_ops {
    /* The oldest LSN stored of a log; RPM_E_NOENT: none. */
    int (*oldest)(struct rpm_tier *tier, uint64_t log_id, uint64_t *lsn);

    /* How far the records from @from_lsn on are stored durably, but not behind @limit_lsn.
     * RPM_E_NOENT: not at all. */
    int (*stored)(struct rpm_tier *tier, uint64_t log_id, uint64_t from_lsn, uint64_t limit_lsn,
                  struct rpmi_stored *stored);

    /* Read from a record on. RPM_E_NOENT: no segment has @lsn; RPM_E_RANGE: no record begins there;
     * RPM_E_CORRUPT, RPM_E_NOMEM, those of a store. */
    int (*seek)(struct rpm_tier *tier, uint64_t log_id, uint64_t lsn,
                struct rpmi_cold_cursor **cursor);
    /* 1 and the next record, valid until the next call; 0: the segments end at *@end_lsn. */
    int (*next)(struct rpmi_cold_cursor *cursor, struct rpmi_frame *frame, const void **payload,
                uint64_t *end_lsn);
    void (*drop)(struct rpmi_cold_cursor *cursor);
};

/* How a struct rpm_tier begins. */
struct rpmi_cold {
    const struct rpmi_cold_ops *ops;
    char where[256]; /* as it was opened, perhaps cut off: for error texts */
};

static inline const struct rpmi_cold *rpmi_cold_of(const struct rpm_tier *tier)
{
    return (const struct rpmi_cold *)tier;
}

/* The record of a frame, as readers return it. */
static inline struct rpm_record rpmi_record_of(const struct rpmi_frame *frame, const void *payload)
{
    return (struct rpm_record){ .data = payload,
                                .len = frame->len,
                                .lsn = frame->lsn,
                                .next_lsn = rpmi_frame_end(frame),
                                .epoch = frame->epoch };
}

/* cold.c: how far the records of a log from its head on are stored, but not behind @limit_lsn.
 * RPM_E_NOENT: not at all; RPM_E_CORRUPT: the log has another record where the last one is. */
int rpmi_cold_stored(struct rpm_log *log, struct rpm_tier *tier, uint64_t limit_lsn,
                     struct rpmi_stored *stored);

/* Does the log have the record that a segment has at @lsn, whose frame has the checksum @sum? 0: it
 * does, or has trimmed it; RPM_E_CORRUPT: it has another one. Reads the head again if it must. */
int rpmi_cold_check(struct rpm_log *log, struct rpm_tier *tier, uint64_t lsn, uint64_t sum);

/* read.c: the frame of the record that a reader returned last. */
const struct rpmi_frame *rpmi_reader_frame(const struct rpm_reader *reader);

#endif
