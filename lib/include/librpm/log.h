/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h: a remote persistent log with one writer: open, trim, resume, settle, claim, query, close.
 * Records are added through append.h and read through reader.h.
 *
 * When a connection is lost, or another writer takes the log over (RPM_E_FENCED, which ends the
 * connection too), a writer calls rpm_conn_reconnect() and then
 *
 *   rpm_log_resume()  to learn which of its unknown appends are in the log, and go on writing;
 *                     RPM_E_FENCED if another writer claimed the log since, and perhaps closed it
 *   rpm_log_settle()  to learn which of its unknown appends are in the log, and stop writing
 *   rpm_log_claim()   after either, to become the writer again even if others wrote since
 */
#ifndef LIBRPM_LOG_H
#define LIBRPM_LOG_H

#include <librpm/conn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_log;

enum rpm_log_flag {
    RPM_LOG_WRITE = 1,       /* claim the log for writing: raises its epoch */
    RPM_LOG_CREATE = 2,      /* create it if there is none of that name */
    RPM_LOG_EXCL = 4,        /* with CREATE: fail if there is one */
    RPM_LOG_TAKEOVER = 8,    /* with WRITE: fence a living writer instead of RPM_E_OWNED */
    RPM_LOG_AGENT_TIER = 16, /* with WRITE: trim as the agent decides (<librpm/decision.h>) */
    RPM_LOG_LATE_FETCH = 32  /* with AGENT_TIER: ask it when the log is full, not before */
};

struct rpm_log_opts {
    size_t size;             /* sizeof this struct as the caller compiled it */
    uint32_t flags;          /* enum rpm_log_flag; 0: read only */
    uint32_t level;          /* enum rpm_level an append's completion promises; 0: RPM_DURABLE */
    uint64_t capacity_bytes; /* with CREATE: size of the ring, a multiple of 4096; a record takes at
                                most about half of it (rpm_log_record_max()); 0: an eighth of the
                                pool, at most 64 MiB, halved until it fits into what is free */
    uint32_t inflight_max;   /* appends outstanding; 0: 256 */
    uint64_t staging_bytes;  /* of the connection's staging memory; 0: 1 MiB */
    void *mem;               /* rpm_log_mem_bytes() bytes for the log's own use, aligned to 64;
                                NULL: malloc. Borrowed until rpm_log_close() */
    uint32_t method;         /* enum rpm_method to insist on, readers too; 0: the connection's */
    struct rpm_tier *tier;   /* appends trim what its segments have when the log is full; NULL: they
                                do not (<librpm/tier.h>). Borrowed until rpm_log_close() */
};

static inline struct rpm_log_opts rpm_log_opts_init(void)
{
    struct rpm_log_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

#define RPM_LSN_NONE UINT64_MAX /* in struct rpm_outcome: the record got no LSN */

/* The outcome of an append that ended in RPM_E_LOST, RPM_E_TIMEDOUT or RPM_E_FENCED. */
struct rpm_outcome {
    void *context; /* as given to the append; NULL for a blocking one */
    uint64_t lsn;  /* the record's LSN; RPM_LSN_NONE: it was never sent, and present is 0 */
    int present;   /* 1: in the log, at the log's level; 0: not in the log, and never will be;
                      -1: cannot be known, other writers wrote to the log and trimmed this LSN */
};

struct rpm_log_info {
    size_t size;       /* sizeof this struct as the caller compiled it */
    uint64_t head_lsn; /* oldest record kept */
    uint64_t tail_lsn; /* where the next record goes */
    uint64_t capacity_bytes;
    uint64_t records;    /* valid records found by the last recovery scan */
    uint64_t torn;       /* frames behind the tail that this scan discarded */
    uint64_t epoch;      /* of the writer that last claimed the log */
    uint64_t scan_bytes; /* bytes that scan read */
    uint64_t scan_ns;    /* time it took; model time under sim: */
    uint32_t level;      /* enum rpm_level in force, 0 when open read only */
    uint32_t method;     /* enum rpm_method in force, 0 when open read only */
    uint64_t stranded;   /* of the torn frames, those that are intact: bytes in front of them were
                          damaged, or power failed while several appends were outstanding */
    uint64_t head_copies_lost; /* 0 or 1: copies of the head damaged or old when it was last read; 1
                                  for a moment while a writer works, else until the next writer */
};

static inline struct rpm_log_info rpm_log_info_init(void)
{
    struct rpm_log_info info;

    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    return info;
}

/**
 * rpm_log_open: open a log; for writing, fence older writers and recover its tail first.
 *
 * @conn  Borrowed until rpm_log_close().
 * @name  1..RPM_NAME_MAX bytes. Borrowed.
 * @opts  NULL: read only. Borrowed until return.
 * @log   out, set only on 0. Taken by the caller: rpm_log_close().
 *
 * Durable:  with WRITE, on 0 a new epoch is durable and every record found is at the level asked
 *           for; an older writer can add nothing any more. After an error the log is unchanged, or
 *           merely created or claimed.
 * Errors:   RPM_E_NOENT, RPM_E_EXISTS, RPM_E_NAME, RPM_E_OWNED (another writer lives, or a fenced
 *           one would not stop), RPM_E_FENCED (another took over meanwhile), RPM_E_NOCAP (the
 *           level cannot be proven, not by this method, or the link does not have the method:
 *           rpm_last_error() says why), RPM_E_NOSPACE (no room in the pool), RPM_E_LIMIT (too many
 *           objects in the pool, or too many open on this connection), RPM_E_CORRUPT (the log's
 *           head is damaged or older than its records, or with WRITE: a record that was durable is
 *           damaged, see <librpm/reader.h>; rpm_log_repair()), RPM_E_INVAL, RPM_E_OPTS,
 *           RPM_E_NOMEM, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     reads the log from head to tail, and behind it 1 MiB and twice the longest record;
 *           allocates all that the log will ever need.
 */
RPM_MUST_CHECK int rpm_log_open(struct rpm_conn *conn, const char *name,
                                const struct rpm_log_opts *opts, struct rpm_log **log);

/**
 * rpm_log_trim: free the space of every record before an LSN.
 *
 * @log  open, for writing or reading. Borrowed.
 * @lsn  start of a record, or the tail, or where the acknowledged records end. At or before the
 *       head nothing changes: returns 0 (the command 'rpm-log trim' refuses one before the head).
 *
 * Durable:  on 0 the new head is durable, and only then is the space reused.
 * Errors:   RPM_E_RANGE (beyond the acknowledged tail, or inside a record), RPM_E_FENCED,
 *           RPM_E_CORRUPT (the head is damaged, or a record that a scan met), RPM_E_LOST,
 *           RPM_E_TIMEDOUT, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one read and one message round trip; read only: a scan of what is trimmed.
 */
RPM_MUST_CHECK int rpm_log_trim(struct rpm_log *log, uint64_t lsn);

/**
 * rpm_log_resume: after a lost connection, learn the outcomes of unknown appends and go on writing.
 *
 * Poll first, for appends that succeeded, and call rpm_conn_reconnect(). The call delivers exactly
 * one outcome for each append, since the log was opened or outcomes were last delivered, that ended
 * in RPM_E_LOST, RPM_E_TIMEDOUT or RPM_E_FENCED, each record of a batch too. It drops their
 * completions that were not polled yet. The caller appends again the records that are not present.
 *
 * @log       was open for writing. Borrowed.
 * @outcomes  out, room for @room, oldest first. Borrowed.
 * @room      at least inflight_max.
 * @count     out: how many outcomes. Set on 0 and on RPM_E_FENCED.
 *
 * Durable:  on 0 what is present is at the log's level, what is absent never appears.
 * Errors:   RPM_E_FENCED (another writer claimed the log since, whether or not it is connected or
 *           has written: it keeps its claim, the outcomes are delivered, and this handle is read
 *           only until rpm_log_claim()). After any other error no outcome is delivered, and the
 *           call may be repeated: RPM_E_INVAL (open for writing, so that nothing is unknown; or
 *           @room is too small), RPM_E_DENIED (open read only), RPM_E_OWNED (the server could not
 *           stop a fenced writer), RPM_E_NOENT (the log was removed, or another log has its name
 *           now), RPM_E_NOCAP, RPM_E_CORRUPT, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     as rpm_log_open().
 */
RPM_MUST_CHECK int rpm_log_resume(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                                  uint32_t *count);

/**
 * rpm_log_settle: learn the outcomes of unknown appends, as rpm_log_resume() delivers them, and
 * stop writing.
 *
 * If this handle is still the writer, it gives up its claim; another writer keeps its own. The
 * handle is read only afterwards: appends end in RPM_E_FENCED until rpm_log_claim().
 *
 * @log       was open for writing. Borrowed.
 * @outcomes  out, room for @room, oldest first. Borrowed.
 * @room      at least inflight_max.
 * @count     out: how many outcomes. Set on 0 and on RPM_E_TRIMMED.
 *
 * Durable:  on 0 what is present is at the log's level, what is absent never appears.
 * Errors:   RPM_E_TRIMMED (other writers trimmed the log, so that the outcomes of some records
 *           cannot be known: all outcomes are delivered, these with present -1); otherwise as
 *           rpm_log_resume(), except that RPM_E_FENCED is not an error here.
 * Threads:  one per conn.
 * Cost:     as rpm_log_open().
 */
RPM_MUST_CHECK int rpm_log_settle(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                                  uint32_t *count);

/**
 * rpm_log_claim: become the writer again after rpm_log_settle(), or after rpm_log_resume() returned
 * RPM_E_FENCED, even if other writers wrote since.
 *
 * @log    was open for writing, and all outcomes have been delivered. Borrowed.
 * @flags  0: RPM_E_OWNED if another writer is connected; RPM_LOG_TAKEOVER: fence it.
 *
 * Durable:  as rpm_log_open() with WRITE.
 * Errors:   as rpm_log_open(); RPM_E_INVAL (this handle is the writer already; or outcomes are not
 *           delivered yet: rpm_log_settle() first).
 * Threads:  one per conn.
 * Cost:     as rpm_log_open().
 */
RPM_MUST_CHECK int rpm_log_claim(struct rpm_log *log, uint32_t flags);

/**
 * rpm_log_info: geometry, bounds and what the last recovery scan found.
 *
 * On a log opened read only this scans for the tail; for a writer it costs nothing.
 *
 * @log   Borrowed.
 * @info  in: its size field; out: the rest, set on 0, and on RPM_E_CORRUPT of a record.
 *
 * Errors:   RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_CORRUPT (the head is damaged; or a record, and then
 *           @info is set: the log is whole up to its tail_lsn, and stranded records are behind it).
 * Threads:  one per conn.
 */
RPM_MUST_CHECK int rpm_log_info(struct rpm_log *log, struct rpm_log_info *info);

/**
 * rpm_log_record_max: the largest payload in bytes that fits this log and its staging memory.
 *
 * A frame does not wrap around the end of the ring: this is at most about half of the capacity.
 *
 * @log  Borrowed.
 *
 * Threads:  one per conn.
 */
size_t rpm_log_record_max(const struct rpm_log *log);

/**
 * rpm_log_mem_bytes: what rpm_log_open() will allocate, or needs at opts.mem.
 *
 * @opts  NULL: defaults. Borrowed.
 *
 * Returns bytes, or 0 for options that rpm_log_open() would refuse.
 * Threads:  any.
 */
size_t rpm_log_mem_bytes(const struct rpm_log_opts *opts);

/**
 * rpm_log_close: release the log, and the claim on it. Safe on NULL; sets @log to NULL.
 *
 * @log  Taken. Regions that its claim guards (<librpm/region.h>) are closed before.
 *
 * Durable:  appends still outstanding may or may not be in the log.
 * Threads:  one per conn.
 */
void rpm_log_close(struct rpm_log **log);

#ifdef __cplusplus
}
#endif
#endif
