/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * append.h: add records to a log. Appends can be pipelined; each completes once, in order, when the
 * record is at the log's level.
 *
 * Asynchronous appends share flushes (group commit). If no flush of the log is outstanding, an
 * append is sent at once, followed by a flush of its own. If a flush is outstanding, or if the last
 * flush served more than one append, the library keeps the append unsent; the next flush then
 * serves all appends kept so. They are sent by rpm_log_poll() when it has no completion to return,
 * rpm_log_wait(), rpm_log_persist(), rpm_conn_arm(), rpm_conn_turn(), a blocking append, any call
 * that blocks on the connection, and an append that fills a queue. The library has no thread: a
 * caller that makes none of these calls leaves the appends unsent. Other operations on the
 * connection may reach the server before an unsent append.
 */
#ifndef LIBRPM_APPEND_H
#define LIBRPM_APPEND_H

#include <librpm/log.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_append_flag {
    RPM_MORE = 1 /* more appends follow at once: send this one without a flush. The first append
                    without RPM_MORE flushes all of the run */
};

struct rpm_slice {
    const void *data; /* ignored if len is 0 */
    size_t len;       /* bytes */
};

struct rpm_completion {
    void *context; /* as given to the append */
    uint64_t lsn;  /* of the record, whether or not it is in the log */
    int status;    /* 0: at the log's level; RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_FENCED: unknown until
                      rpm_log_resume() or rpm_log_settle() delivers the record's outcome */
};

/**
 * rpm_log_append: add one record at the tail and wait until it is at the log's level.
 *
 * Appends that are outstanding complete first; their completions stay to be polled.
 *
 * @log   open for writing. Borrowed.
 * @data  payload. Borrowed until return; never written.
 * @len   bytes, 1..rpm_log_record_max(log).
 * @lsn   out, may be NULL: bytes from the start of the log. Set only on 0.
 *
 * Durable:  on 0 the record is at the log's level; on RPM_E_LOST, RPM_E_TIMEDOUT and RPM_E_FENCED
 *           it may or may not be in the log: the next rpm_log_resume() or rpm_log_settle() that
 *           succeeds delivers one outcome for it, even if it was never sent; on any other error it
 *           is not in the log and has no outcome.
 * Errors:   RPM_E_INVAL (len 0), RPM_E_TOOBIG, RPM_E_FULL, RPM_E_BUSY (outstanding completions
 *           fill the queue: poll; or inflight_max appends are unknown: resume or settle),
 *           RPM_E_FENCED (another writer claimed the log; this also ends the connection: reconnect,
 *           then settle), RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_DENIED (log open read only), RPM_E_IO;
 *           when full, those of rpm_tier_entry(), and RPM_E_CORRUPT (the segments of
 *           rpm_log_opts.tier are of another history of the log).
 * Threads:  one per conn.
 * Cost:     one write and one flush on the wire, one round trip; no allocation; no system call
 *           on shm: unless the server sleeps. When full, one message; with rpm_log_opts.tier also a
 *           list of its folder, a read of each segment's header, two fsync() and a read of the log.
 * Source:   H9; lib/plan/rule_chain.c.
 */
RPM_MUST_CHECK int rpm_log_append(struct rpm_log *log, const void *data, size_t len, uint64_t *lsn);

/**
 * rpm_log_appendv: add one record that is gathered from several slices, and wait for it.
 *
 * @log     open for writing. Borrowed.
 * @slices  @n pieces of one payload, first piece first. Borrowed until return.
 * @n       number of pieces; together 1..rpm_log_record_max(log) bytes, and over shm: direct at
 *          most rpm_log_opts.staging_bytes.
 * @lsn     out, may be NULL. Set only on 0.
 *
 * Durable:  as rpm_log_append().
 * Errors:   as rpm_log_append().
 * Threads:  one per conn.
 * Cost:     as rpm_log_append(), and one copy of each slice into the staging memory.
 */
RPM_MUST_CHECK int rpm_log_appendv(struct rpm_log *log, const struct rpm_slice *slices, uint32_t n,
                                   uint64_t *lsn);

/**
 * rpm_log_append_batch: add several records with one flush, and wait for it.
 *
 * All or nothing is not promised: after a failure a prefix of the batch may be in the log.
 *
 * @log      open for writing. Borrowed.
 * @records  1..n payloads, each as for rpm_log_append(). Borrowed until return.
 * @n        1..inflight_max.
 * @lsns     out, may be NULL, room for @n. Set only on 0.
 *
 * Durable:  on 0 all records are at the log's level; on RPM_E_LOST, RPM_E_TIMEDOUT and
 *           RPM_E_FENCED a prefix may be in the log, and the next rpm_log_resume() or
 *           rpm_log_settle() delivers one outcome for each of the @n, in order; on any other error
 *           none of them is in the log.
 * Errors:   as rpm_log_append().
 * Threads:  one per conn.
 * Cost:     @n writes, one flush, one round trip; no allocation.
 * Source:   H9.
 */
RPM_MUST_CHECK int rpm_log_append_batch(struct rpm_log *log, const struct rpm_slice *records,
                                        uint32_t n, uint64_t *lsns);

/**
 * rpm_log_append_async: submit one record; exactly one completion follows.
 *
 * @log      open for writing. Borrowed.
 * @data     payload. Borrowed until return: it is copied or sent before.
 * @len      bytes, 1..rpm_log_record_max(log).
 * @flags    enum rpm_append_flag.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 * @lsn      out, may be NULL: where the record goes. Set only on 0.
 *
 * Durable:  nothing until the completion says 0. On any error the record is not in the log, and
 *           neither a completion nor an outcome follows. If the connection is lost, an append that
 *           was accepted but not sent yet gets the same completion and outcome as a sent one.
 * Errors:   as rpm_log_append(), and RPM_E_BUSY when inflight_max appends are outstanding.
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait. One append at a time: one write and one flush,
 *           one round trip. Many outstanding: one flush serves all unsent appends (see the top of
 *           this file), at most two flushes are outstanding, and for a caller that keeps polling a
 *           record is at the log's level within two round trips. On shm: direct, and without hint
 *           H9, each append has its own flush. A run of RPM_MORE is flushed by the first append
 *           without it, by rpm_log_persist() or rpm_log_wait(), or when the queue is full.
 * Source:   H9; lib/log/group.c.
 */
RPM_MUST_CHECK int rpm_log_append_async(struct rpm_log *log, const void *data, size_t len,
                                        uint32_t flags, void *context, uint64_t *lsn);

/**
 * rpm_log_appendv_async: submit one record that is gathered from several slices.
 *
 * @log      open for writing. Borrowed.
 * @slices   as for rpm_log_appendv(). Borrowed until return.
 * @n        number of pieces, as for rpm_log_appendv().
 * @flags    enum rpm_append_flag.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 * @lsn      out, may be NULL. Set only on 0.
 *
 * Durable:  as rpm_log_append_async().
 * Errors:   as rpm_log_append_async().
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait.
 */
RPM_MUST_CHECK int rpm_log_appendv_async(struct rpm_log *log, const struct rpm_slice *slices,
                                         uint32_t n, uint32_t flags, void *context, uint64_t *lsn);

/**
 * rpm_log_reserve: room for one record inside the staging memory, to be filled in place.
 *
 * @log   open for writing, nothing reserved. Borrowed.
 * @len   bytes at most, 1..rpm_log_record_max(log).
 * @data  out: where to put the payload. Returned: owned by @log, the caller may write @len bytes
 *        until rpm_log_commit() or rpm_log_abandon().
 *
 * Errors:   as rpm_log_append_async(); RPM_E_INVAL if something is reserved already.
 * Threads:  one per conn.
 * Cost:     no copy, no allocation. No other append is possible until commit or abandon.
 */
RPM_MUST_CHECK int rpm_log_reserve(struct rpm_log *log, size_t len, void **data);

/**
 * rpm_log_commit: submit the reserved record; exactly one completion follows.
 *
 * @log      with a reservation, which ends here whatever the result. Borrowed.
 * @len      bytes used, 1..what was reserved.
 * @flags    enum rpm_append_flag.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 * @lsn      out, may be NULL. Set only on 0.
 *
 * Durable:  nothing until the completion says 0.
 * Errors:   as rpm_log_append_async(); RPM_E_INVAL if nothing is reserved: rpm_log_resume() and
 *           rpm_log_settle() end a reservation.
 * Threads:  one per conn.
 * Cost:     no copy of the payload on this side; no allocation.
 */
RPM_MUST_CHECK int rpm_log_commit(struct rpm_log *log, size_t len, uint32_t flags, void *context,
                                  uint64_t *lsn);

/**
 * rpm_log_abandon: end a reservation without appending. Safe if nothing is reserved.
 *
 * @log  Borrowed.
 *
 * Threads:  one per conn.
 */
void rpm_log_abandon(struct rpm_log *log);

/**
 * rpm_log_poll: reap completions of asynchronous appends, oldest first.
 *
 * @log   Borrowed.
 * @done  out, room for @n. Borrowed.
 * @n     at most this many.
 *
 * Returns the number of completions, 0 when none is ready.
 * Errors:   RPM_E_INVAL.
 * Threads:  one per conn.
 * Cost:     does not block; no allocation. When it returns 0 it has sent the unsent appends, unless
 *           two flushes are outstanding, or one flush that serves more appends than are unsent:
 *           then a later call sends them. Under sim: model time advances.
 */
RPM_MUST_CHECK int rpm_log_poll(struct rpm_log *log, struct rpm_completion *done, uint32_t n);

/**
 * rpm_log_wait: reap completions as rpm_log_poll() does, but block until there are @min of them.
 *
 * It returns with fewer than @min when no append is outstanding any more, or at the timeout.
 * Appends of an RPM_MORE run that have no flush yet are flushed if @min cannot be reached without
 * them.
 *
 * @log         Borrowed.
 * @done        out, room for @n. Borrowed.
 * @n           at most this many.
 * @min         0..@n; 0: as rpm_log_poll().
 * @timeout_us  longest wait in microseconds, of model time under sim:; 0: do not wait; UINT64_MAX:
 *              only the connection's own limit holds. That limit always holds: if no operation
 *              completes for rpm_conn_opts.timeout_us, the connection is closed and the completions
 *              say RPM_E_TIMEDOUT.
 *
 * Returns the number of completions.
 * Errors:   RPM_E_INVAL; RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_FENCED only after all completions have
 *           been delivered: reconnect, then resume or settle.
 * Threads:  one per conn.
 * Cost:     no allocation; busy-waits for about 50 us, then sleeps in the kernel.
 */
RPM_MUST_CHECK int rpm_log_wait(struct rpm_log *log, struct rpm_completion *done, uint32_t n,
                                uint32_t min, uint64_t timeout_us);

/**
 * rpm_log_persist: wait until every append submitted so far is at the log's level.
 *
 * @log  Borrowed.
 *
 * Durable:  on 0 all of them are; their completions stay to be polled.
 * Errors:   RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_FENCED, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     at most one flush and its round trip.
 */
RPM_MUST_CHECK int rpm_log_persist(struct rpm_log *log);

#ifdef __cplusplus
}
#endif
#endif
