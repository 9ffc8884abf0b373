/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tier.h: keep records of logs outside of the pool, as compressed segments in a folder, so that a
 * log can be trimmed and still be read from its first record on.
 *
 * An archiver copies records that are durable into segments, as rpm-agent does. A writer with
 * rpm_log_opts.tier trims its log by itself when it is full, as far as segments have its records
 * (one that cannot see the segments trims as an agent decides: <librpm/decision.h>). A
 * reader with rpm_reader_opts.tier reads trimmed records from the segments, and continues in the
 * log where they end. The folder alone is a backup: rpm_tier_reader_open().
 *
 * Records are never changed, and each keeps the checksum that its writer made. Segments are at
 * FOLDER/ID/FIRST-END.seg, where ID is the log's and FIRST and END are LSNs, in hexadecimal.
 *
 * Instead of a folder, a tier may be in an object store that speaks the HTTP API of S3, as
 * s3://BUCKET/PREFIX, in objects PREFIX/ID/FIRST-END.seg. rpm-agent(1) says which environment
 * variables name the store and the credentials.
 */
#ifndef LIBRPM_TIER_H
#define LIBRPM_TIER_H

#include <librpm/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_tier;
struct rpm_archiver;
struct rpm_tier_reader;

struct rpm_tier_opts {
    size_t size;           /* sizeof this struct as the caller compiled it */
    uint64_t segment_span; /* a segment ends where the next multiple of so many LSNs is reached: 64
                              KiB to 64 MiB, a power of two; 0: 4 MiB */
    const char *engine;    /* copy engine that fetches the bytes of a log for an archiver, as
                              rpm_reader_opts.engine; NULL: none. Borrowed until return */
    const char *codec;     /* by which an archiver compresses: lz4, zstd (smaller segments, more
                              time), none; NULL: lz4 if librpm has it. Borrowed until return */
};

static inline struct rpm_tier_opts rpm_tier_opts_init(void)
{
    struct rpm_tier_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

/* The segments of one log. */
struct rpm_tier_log {
    size_t size; /* sizeof this struct as the caller compiled it */
    uint64_t log_id;
    char name[RPM_NAME_MAX + 1];
    uint64_t first_lsn;    /* of the oldest record */
    uint64_t end_lsn;      /* behind the newest one */
    uint64_t gaps;         /* places in between where records are missing */
    uint64_t segments;     /* files */
    uint64_t records;      /* in them; one that is in two segments counts twice */
    uint64_t raw_bytes;    /* of the records with their headers, uncompressed */
    uint64_t stored_bytes; /* of the files */
};

static inline struct rpm_tier_log rpm_tier_log_init(void)
{
    struct rpm_tier_log log;

    memset(&log, 0, sizeof(log));
    log.size = sizeof(log);
    return log;
}

/**
 * rpm_tier_open: open a folder of segments, or an object store.
 *
 * @where  path of an existing folder, or s3://BUCKET/PREFIX. Borrowed until return.
 * @opts   NULL: defaults. Borrowed until return.
 * @tier   out, set only on 0. Taken by the caller: rpm_tier_close().
 *
 * Errors:   RPM_E_NOENT (no such folder or bucket), RPM_E_DENIED (also: no credentials, or others
 *           may read their file), RPM_E_INVAL (segment_span, engine, codec, URL, or a setting),
 *           RPM_E_NOCAP (librpm-s3 is missing, or the codec), RPM_E_OPTS, RPM_E_NOMEM, RPM_E_IO
 *           (also: the object store is away, slow, or answers what it must not).
 * Threads:  any. One thread at a time uses a tier, and so do appends to a log, and reads by a
 *           reader, that were opened with it.
 * Cost:     one system call; of an object store one request, and up to 4 attempts at each request.
 *           An attempt ends after 20 s, and 1 ms more for each KiB.
 */
RPM_MUST_CHECK int rpm_tier_open(const char *where, const struct rpm_tier_opts *opts,
                                 struct rpm_tier **tier);

/**
 * rpm_tier_entry: describe the segments of a log; count @index up from 0 for all logs.
 *
 * @tier   Borrowed.
 * @index  0, 1, ..., by log_id.
 * @log    in: its size field (rpm_tier_log_init()); out: the rest, when 1 is returned.
 *
 * Returns 1 with a log, 0 past the last one.
 * Errors:   RPM_E_CORRUPT (the header of a segment), RPM_E_FOREIGN, RPM_E_VERSION, RPM_E_DENIED,
 *           RPM_E_NOMEM, RPM_E_IO.
 * Threads:  one per tier.
 * Cost:     reads the header of each segment of that log.
 */
RPM_MUST_CHECK int rpm_tier_entry(struct rpm_tier *tier, uint32_t index, struct rpm_tier_log *log);

/**
 * rpm_tier_drop: remove the segments of a log that end before an LSN, or there.
 *
 * @tier    Borrowed.
 * @log_id  of rpm_tier_entry().
 * @lsn     UINT64_MAX: all of them.
 *
 * Returns the number of segments removed.
 * Durable:  what was removed stays removed; after an error that may be some of the oldest ones.
 * Errors:   RPM_E_DENIED, RPM_E_NOMEM, RPM_E_IO.
 * Threads:  one per tier.
 * Cost:     two system calls, or one request, for each segment.
 */
RPM_MUST_CHECK int rpm_tier_drop(struct rpm_tier *tier, uint64_t log_id, uint64_t lsn);

/**
 * rpm_tier_close: close a tier. Safe on NULL; sets @tier to NULL.
 *
 * @tier  Taken. Logs, readers and archivers that use it are closed before.
 *
 * Threads:  one per tier.
 */
void rpm_tier_close(struct rpm_tier **tier);

/**
 * rpm_archiver_open: begin to copy a log's records into segments.
 *
 * It goes on where the segments end that follow each other from the log's head on, or begins at the
 * head. A segment has at most a quarter of the log's LSNs, so that a writer and an archiver do not
 * wait for each other; a record of more than a quarter of the capacity may still find no room.
 * Several archivers may store one log, on any machines; their segments may overlap.
 *
 * @tier      Borrowed until rpm_archiver_close().
 * @log       open, for reading or writing. Borrowed until rpm_archiver_close().
 * @archiver  out, set only on 0. Taken by the caller.
 *
 * Errors:   RPM_E_CORRUPT (a segment; or the segments have other records than the log: the pool was
 *           restored from a backup, or the folder), those of rpm_reader_open() at RPM_DURABLE.
 * Threads:  one per conn, and per tier.
 * Cost:     reads the folder, and a record; allocates 2 x (segment_span + 16 MiB), of which only
 *           what a segment needs is touched.
 */
RPM_MUST_CHECK int rpm_archiver_open(struct rpm_tier *tier, struct rpm_log *log,
                                     struct rpm_archiver **archiver);

/**
 * rpm_archiver_turn: copy records until a segment is full and stored, or the tail is reached.
 *
 * @archiver  Borrowed.
 * @tail      0: records of a segment that is not full wait for more; 1: at the tail they are stored
 *            at once, as a shorter segment. For a backup, or before a program ends.
 *
 * Returns 1 if a segment was stored, 0 if there is no more to do now.
 * Durable:  the records of a segment that was stored survive a loss of power, of the pool too.
 * Errors:   those of rpm_reader_next(); RPM_E_NOSPACE (the file system is full), RPM_E_DENIED,
 *           RPM_E_IO, RPM_E_NOMEM: a further call tries to store the same segment again. After
 *           RPM_E_TRIMMED (records were trimmed before they were stored), RPM_E_RANGE,
 *           RPM_E_CORRUPT and RPM_E_LOST close the archiver and open it anew, which goes on at the
 *           log's head.
 * Threads:  one per conn, and per tier.
 * Cost:     blocks; reads the records once, compresses them, one file with two fsync(). Allocates
 *           for zstd only, 0.6 MiB once. Of an object store: three requests, memory to compare.
 */
RPM_MUST_CHECK int rpm_archiver_turn(struct rpm_archiver *archiver, int tail);

/**
 * rpm_archiver_drop: remove old segments of the log.
 *
 * @archiver    Borrowed.
 * @keep_bytes  segments stay that end less than so many LSNs before the newest stored record, and
 *              those that end behind the log's head.
 *
 * Returns the number of segments removed.
 * Durable:  as rpm_tier_drop().
 * Errors:   those of rpm_tier_drop(); RPM_E_CORRUPT (the log's head), RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn, and per tier.
 * Cost:     one read of the log's head, and as rpm_tier_drop().
 */
RPM_MUST_CHECK int rpm_archiver_drop(struct rpm_archiver *archiver, uint64_t keep_bytes);

/**
 * rpm_archiver_lsn: where the records end that are stored: how far a writer may trim the log.
 *
 * @archiver  Borrowed.
 *
 * Threads:  one per conn, and per tier.
 */
uint64_t rpm_archiver_lsn(const struct rpm_archiver *archiver);

/**
 * rpm_archiver_close: stop. Safe on NULL; sets @archiver to NULL.
 *
 * Records of a segment that is not full are dropped; the next archiver reads them again.
 *
 * @archiver  Taken.
 *
 * Threads:  one per conn, and per tier.
 */
void rpm_archiver_close(struct rpm_archiver **archiver);

/**
 * rpm_tier_reader_open: read a log from its segments alone, without a server.
 *
 * @tier      Borrowed until rpm_tier_reader_close().
 * @log_id    of rpm_tier_entry().
 * @from_lsn  start of a record; 0: the oldest one.
 * @reader    out, set only on 0. Taken by the caller.
 *
 * Errors:   RPM_E_NOENT (no segment has that LSN), RPM_E_RANGE (no record begins there),
 *           RPM_E_CORRUPT, RPM_E_FOREIGN, RPM_E_VERSION, RPM_E_NOCAP (this library was built
 *           without the codec of a segment), RPM_E_DENIED, RPM_E_NOMEM, RPM_E_IO.
 * Threads:  one per tier.
 * Cost:     reads the folder and one segment.
 */
RPM_MUST_CHECK int rpm_tier_reader_open(struct rpm_tier *tier, uint64_t log_id, uint64_t from_lsn,
                                        struct rpm_tier_reader **reader);

/**
 * rpm_tier_reader_next: the next record, if there is one.
 *
 * @reader  Borrowed.
 * @record  out, set only when 1 is returned.
 *
 * Returns 1 with a record, 0 where the segments end, or have a gap: more may be stored there later.
 * Errors:   as rpm_tier_reader_open(); the reader stays where it is.
 * Threads:  one per tier.
 * Cost:     reads, checks and uncompresses a segment as a whole, for which it allocates.
 */
RPM_MUST_CHECK int rpm_tier_reader_next(struct rpm_tier_reader *reader, struct rpm_record *record);

/**
 * rpm_tier_reader_close: stop reading. Safe on NULL; sets @reader to NULL.
 *
 * @reader  Taken.
 *
 * Threads:  one per tier.
 */
void rpm_tier_reader_close(struct rpm_tier_reader **reader);

#ifdef __cplusplus
}
#endif
#endif
