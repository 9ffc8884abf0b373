/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * append.h: add records to a log. Appends can be pipelined; each completes once, in order, when the
 * record is at the log's level.
 */
#ifndef LIBRPM_APPEND_H
#define LIBRPM_APPEND_H

#include <librpm/log.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_append_flag {
    RPM_MORE = 1 /* more appends follow at once: leave the flush to the last of them */
};

struct rpm_slice {
    const void *data;
    size_t len; /* bytes */
};

struct rpm_completion {
    void *context; /* as given to the append */
    uint64_t lsn;  /* where the record is, or would be */
    int status;    /* 0: at the log's level; RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_FENCED: unknown */
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
 *           it may or may not be in the log, ask rpm_log_resume(); on any other error it is not.
 * Errors:   RPM_E_INVAL (len 0), RPM_E_TOOBIG, RPM_E_FULL, RPM_E_BUSY (outstanding completions
 *           fill the queue: poll), RPM_E_FENCED, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_DENIED (log
 *           open read only), RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one write and one flush on the wire, one round trip; no allocation; no system call
 *           on shm: unless the far end sleeps. When full, one message.
 * Source:   H9; lib/plan/rule_chain.c.
 */
RPM_MUST_CHECK int rpm_log_append(struct rpm_log *log, const void *data, size_t len, uint64_t *lsn);

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
 *           RPM_E_FENCED a prefix may be in the log, ask rpm_log_resume(); on any other error none
 *           of them is.
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
 * Durable:  nothing until the completion says 0. On an error no completion follows and the record
 *           is not in the log.
 * Errors:   as rpm_log_append(), and RPM_E_BUSY when inflight_max appends are outstanding.
 * Threads:  one per conn.
 * Cost:     one copy; no allocation; does not wait. A run of RPM_MORE is flushed by the first
 *           append without it, by rpm_log_persist() or when the queue is full.
 */
RPM_MUST_CHECK int rpm_log_append_async(struct rpm_log *log, const void *data, size_t len,
                                        uint32_t flags, void *context, uint64_t *lsn);

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
 * Errors:   as rpm_log_append_async(); RPM_E_INVAL if nothing is reserved: rpm_log_resume() ends a
 *           reservation.
 * Threads:  one per conn.
 * Cost:     no copy of the payload on this side; no allocation.
 */
RPM_MUST_CHECK int rpm_log_commit(struct rpm_log *log, size_t len, uint32_t flags, void *context,
                                  uint64_t *lsn);

/**
 * rpm_log_abandon: give a reservation back unused. Safe if nothing is reserved.
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
 * Cost:     does not block; no allocation. Under sim: it lets model time go on.
 */
RPM_MUST_CHECK int rpm_log_poll(struct rpm_log *log, struct rpm_completion *done, uint32_t n);

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
