/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h: a table of locks in server DRAM. A lock word carries its owner and the owner's epoch, so
 * that a lock whose owner died can be recognised and broken. When the server notices that a client
 * died, it frees that client's locks itself, but only after no earlier write of that client can
 * still arrive: so the next owner of the lock is the only writer of what the lock protects
 * (<librpm/region.h>).
 */
#ifndef LIBRPM_LOCK_H
#define LIBRPM_LOCK_H

#include <librpm/conn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_locks;

struct rpm_lock_owner {
    uint32_t client; /* rpm_conn_client() of the holder, 0: free */
    uint32_t epoch;  /* of the server when it gave out this id */
    int alive;       /* 1: that client is connected; 0: it is not, and the lock can be broken */
};

/**
 * rpm_locks_open: open a lock table, creating it if there is none of that name.
 *
 * @conn   Borrowed until rpm_locks_close().
 * @name   1..RPM_NAME_MAX bytes. Borrowed.
 * @count  number of locks when created; 0: it must exist.
 * @locks  out, set only on 0. Taken by the caller: rpm_locks_close().
 *
 * Durable:  never: all locks are free when the server starts.
 * Errors:   RPM_E_NOENT, RPM_E_EXISTS (of another kind), RPM_E_NAME,
 *           RPM_E_NOSPACE (no DRAM left: rpm-server --dram), RPM_E_LIMIT, RPM_E_NOMEM, RPM_E_LOST,
 *           RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one message round trip.
 */
RPM_MUST_CHECK int rpm_locks_open(struct rpm_conn *conn, const char *name, uint64_t count,
                                  struct rpm_locks **locks);

/**
 * rpm_locks_count: how many locks the table has.
 *
 * @locks  Borrowed.
 *
 * Threads:  one per conn.
 */
uint64_t rpm_locks_count(const struct rpm_locks *locks);

/**
 * rpm_lock_try: take a lock if it is free.
 *
 * @locks  Borrowed.
 * @index  0..rpm_locks_count() - 1.
 *
 * Durable:  never.
 * Errors:   RPM_E_OWNED (held, also by the caller), RPM_E_RANGE, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one compare-and-swap, one round trip.
 * Source:   H8.
 */
RPM_MUST_CHECK int rpm_lock_try(struct rpm_locks *locks, uint64_t index);

/**
 * rpm_lock_acquire: take a lock, waiting for its owner.
 *
 * Between two tries the call waits, and the longer the more of this connection's last tries failed,
 * so that tries do not queue up in front of the owner's release. With RPM_PACE_EAGER it does not
 * wait.
 *
 * @locks  Borrowed.
 * @index  0..rpm_locks_count() - 1.
 *
 * Durable:  never.
 * Errors:   RPM_E_OWNED (held by the caller, or still by its owner after the connection's timeout),
 *           RPM_E_RANGE, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one compare-and-swap, one round trip, for each try; blocks up to the timeout.
 * Source:   SMART (ASPLOS 2024), conflict avoidance; lib/conn/backoff.c.
 */
RPM_MUST_CHECK int rpm_lock_acquire(struct rpm_locks *locks, uint64_t index);

/**
 * rpm_lock_release: free a lock that the caller holds.
 *
 * @locks  Borrowed.
 * @index  0..rpm_locks_count() - 1.
 *
 * Errors:   RPM_E_FENCED (no longer, or never, held by the caller), RPM_E_RANGE, RPM_E_LOST,
 *           RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one compare-and-swap, one round trip.
 */
RPM_MUST_CHECK int rpm_lock_release(struct rpm_locks *locks, uint64_t index);

/**
 * rpm_lock_owner: which client holds a lock, and is it still connected?
 *
 * @locks  Borrowed.
 * @index  0..rpm_locks_count() - 1.
 * @owner  out.
 *
 * Errors:   RPM_E_RANGE, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one read and one message round trip.
 */
RPM_MUST_CHECK int rpm_lock_owner(struct rpm_locks *locks, uint64_t index,
                                  struct rpm_lock_owner *owner);

/**
 * rpm_lock_break: take a lock over from an owner that died.
 *
 * @locks  Borrowed.
 * @index  0..rpm_locks_count() - 1.
 *
 * Errors:   RPM_E_OWNED (the owner lives, or another client was faster), RPM_E_RANGE, RPM_E_LOST,
 *           RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     as rpm_lock_owner() and one compare-and-swap.
 */
RPM_MUST_CHECK int rpm_lock_break(struct rpm_locks *locks, uint64_t index);

/**
 * rpm_locks_close: release the handle; locks held stay held. Safe on NULL; sets @locks to NULL.
 *
 * @locks  Taken.
 *
 * Threads:  one per conn.
 */
void rpm_locks_close(struct rpm_locks **locks);

#ifdef __cplusplus
}
#endif
#endif
