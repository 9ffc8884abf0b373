/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h: read a log from any record to its tail, and follow the tail while a writer appends.
 */
#ifndef LIBRPM_READER_H
#define LIBRPM_READER_H

#include <librpm/log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_reader;

struct rpm_reader_opts {
    size_t size;           /* sizeof this struct as the caller compiled it */
    uint64_t from_lsn;     /* start of a record; 0: the log's head, or the oldest record of tier */
    uint32_t level;        /* enum rpm_level that a record must have to be returned; 0:
                              RPM_VISIBLE */
    uint32_t buffer_bytes; /* read-ahead buffer; 0: 256 KiB; enlarged to hold the largest record */
    struct rpm_tier *tier; /* of <librpm/tier.h>: records that were trimmed, or are damaged in the
                              log, are read from its segments; NULL: they are RPM_E_TRIMMED or
                              RPM_E_CORRUPT. Borrowed until rpm_reader_close() */
    const char *engine;    /* copy engine that fetches bytes of the log. "cpu": this CPU copies them
                              from a pool that is mapped (shm: in mode direct). "rdma": READs of the
                              link; where a READ does not complete on post, the reader returns the
                              records of one while the next is outstanding. NULL: the reader waits
                              for one READ at a time. If the engine fails or is late, the reader
                              does so for the same bytes, and rpm_conn_stats.copy_fallbacks counts
                              it. Borrowed until return */
};

static inline struct rpm_reader_opts rpm_reader_opts_init(void)
{
    struct rpm_reader_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

struct rpm_record {
    const void *data;  /* payload. Returned: valid until the next call on the reader */
    size_t len;        /* bytes */
    uint64_t lsn;      /* of this record */
    uint64_t next_lsn; /* where the following one will start, to resume from */
    uint64_t epoch;    /* of the writer that appended it */
};

/**
 * rpm_reader_open: start reading.
 *
 * @log     open. Borrowed until rpm_reader_close().
 * @opts    NULL: from the head, at RPM_VISIBLE. Borrowed until return.
 * @reader  out, set only on 0. Taken by the caller: rpm_reader_close().
 *
 * Errors:   RPM_E_TRIMMED (from_lsn is before the head, and in no segment), RPM_E_RANGE (beyond
 *           head + capacity, or no record begins there), RPM_E_NOCAP (level), RPM_E_OPTS,
 *           RPM_E_INVAL, RPM_E_NOMEM, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_CORRUPT (the head is
 *           damaged, or the record at from_lsn is, and no segment has it); with a tier those of
 *           rpm_tier_reader_open(); with an engine RPM_E_INVAL (unknown), RPM_E_NOCAP ("cpu": the
 *           pool is not mapped), and with "rdma" RPM_E_LIMIT (the engine counts as one log of the
 *           connection), RPM_E_NOMEM (also: 256 KiB of staging memory are not left).
 * Threads:  one per conn.
 * Cost:     one read of the log's head; allocates all that the reader will ever need, with an
 *           engine two buffers.
 */
RPM_MUST_CHECK int rpm_reader_open(struct rpm_log *log, const struct rpm_reader_opts *opts,
                                   struct rpm_reader **reader);

/**
 * rpm_reader_next: the next record, if there is one.
 *
 * @reader  Borrowed.
 * @record  out, set only when 1 is returned.
 *
 * Returns 1 with a record, 0 at the tail (call again later: this follows a live writer).
 * Durable:  a record returned at RPM_DURABLE survives power loss; at RPM_VISIBLE it may not be
 *           durable yet, and be lost by a power loss.
 * Errors:   RPM_E_TRIMMED (overtaken by a trim, and no segment has the record), RPM_E_RANGE
 *           (from_lsn is not the start of a record, or the records read before did not survive),
 *           RPM_E_CORRUPT (the log's head is
 *           damaged, or older than its records, or a record that was durable is damaged:
 *           rpm_log_repair(); or a segment is), RPM_E_LOST, RPM_E_TIMEDOUT; with a tier also
 *           RPM_E_NOMEM, and those of rpm_tier_reader_open().
 *
 * A damaged record is not taken for the tail, but reported as RPM_E_CORRUPT, if the head or a later
 * record proves that it was acknowledged at RPM_DURABLE. The head proves this for all records that
 * a writer at RPM_DURABLE found when it opened the log; a record proves it for the records that
 * were acknowledged before it was appended. Damage that nothing proves looks like appends that a
 * power cut tore: the call returns 0 there, and the log ends. This is possible only
 *   - in the last blocking append, or batch, since the log was last opened for writing; or in
 *     several, if all later records are damaged too, so that no whole record follows;
 *   - in asynchronous appends that were not acknowledged when the last append was made, and in up
 *     to three times as many bytes in front of these;
 *   - in records appended below RPM_DURABLE, until a writer at RPM_DURABLE opens the log;
 *   - in the first line of a record longer than 1 MiB and twice the longest that this reader read
 *     before it.
 * A reader looks for whole records behind the tail when it first reaches it, and again when it has
 * waited there for 100 ms without a record: until then it returns 0.
 *
 * If segments of the tier have the damaged record, and the last record in them is the same as the
 * log's record at that LSN, the call returns the record from the segment, adds 1 to
 * rpm_conn_stats.damaged, and goes on in the segments; where they end it returns to the log.
 *
 * Threads:  one per conn.
 * Cost:     one large read for many records. The first time at the tail, and then at growing
 *           intervals while it waits, a read of 1 MiB and twice the longest record. No allocation,
 *           but for a segment of a tier, which is read as a whole.
 */
RPM_MUST_CHECK int rpm_reader_next(struct rpm_reader *reader, struct rpm_record *record);

/**
 * rpm_reader_wait: the next record, waiting for a writer to append it.
 *
 * @reader      Borrowed.
 * @timeout_us  longest wait in microseconds; 0: as rpm_reader_next().
 * @record      out, set only when 1 is returned.
 *
 * Returns 1 with a record, 0 when none was appended in time.
 * Errors:   as rpm_reader_next().
 * Threads:  one per conn.
 * Cost:     reads the line at the tail, with pauses that grow to 1 ms; after a millisecond at the
 *           same place the server waits instead, if it can (it cannot for a direct link, where a
 *           read is a few nanoseconds, nor in the device model) and no other operation of the
 *           connection is outstanding or held back: then one message for up to a second of waiting,
 *           and its answer has a record that is not longer than the one before.
 * Source:   lib/log/follow.c, lib/serve/watches.c.
 */
RPM_MUST_CHECK int rpm_reader_wait(struct rpm_reader *reader, uint64_t timeout_us,
                                   struct rpm_record *record);

/**
 * rpm_reader_close: stop reading. Safe on NULL; sets @reader to NULL.
 *
 * @reader  Taken.
 *
 * Threads:  one per conn.
 */
void rpm_reader_close(struct rpm_reader **reader);

#ifdef __cplusplus
}
#endif
#endif
