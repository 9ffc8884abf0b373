/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h: advisory locks of open files: of ranges, as fcntl(2) has them, and of whole files, as
 * flock(2). They hold against all clients of the volume, and processes at its mounts. The two kinds
 * ignore each other.
 *
 * A lock belongs to an owner: the open file by which it is set, or one of the caller's numbers,
 * which stands for what a process is to the kernel: it may use several open files of one file, and
 * its own locks do not conflict. Owners of different clients are different.
 *
 * A lock ends when its owner unlocks it; when an open file by which the owner has set a lock on
 * this file is closed: then all locks of the owner on the file end; when its client is unmounted;
 * and when its client has died: then the next client that wants the lock, or looks for dead
 * clients, drops it. A client dies with its process. A client that keeps a row locked for 2 s which
 * another client needs is fenced as dead, too. A program that is stopped while it has locks of
 * files, but no row locked, keeps its locks. When a client that was fenced continues, each call on
 * an open file by which it had set a lock that was dropped fails with -EIO, and changes nothing,
 * until the file is closed. So a write that was begun under a lock does not take effect once
 * another client may have that lock.
 *
 * Deadlocks are not detected: a wait ends by its timeout, rfs_interrupt() or rfs_cancel().
 */
#ifndef LIBRPMFS_LOCK_H
#define LIBRPMFS_LOCK_H

#include <librpmfs/file.h>

#include <sys/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A lock of a range, wanted or found. */
struct rfs_lock_range {
    uint64_t start;  /* bytes from the start of the file, up to INT64_MAX */
    uint64_t length; /* bytes; 0: to the end of the file, wherever that is */
    uint64_t owner;  /* 0: the open file; 1 to INT64_MAX: an owner of the caller's */
    uint32_t pid;    /* told to those of this client who ask for the lock */
    int type;        /* F_RDLCK, F_WRLCK; F_UNLCK: to unlock; no lock was found */
};

/**
 * rfs_lock: lock a range of a file, change the type of a lock, or unlock a range.
 *
 * Ranges of one owner are split and merged as by fcntl(2).
 *
 * @file        open, for reading if a lock for reading is wanted, for writing if one for writing
 *              is. Borrowed.
 * @range       Borrowed until return.
 * @timeout_ms  longest wait for other owners, in milliseconds; 0: does not wait; UINT64_MAX: no
 *              limit. To unlock never waits for them.
 *
 * Durable:  the servers keep a lock as they keep files. On an error the owner has what it had,
 *           except that on -EIO the lock may be set: it ends when @file is closed.
 * Errors:   -EAGAIN (another owner has it, and @timeout_ms is 0), -ETIMEDOUT, -EINTR
 *           (rfs_interrupt()), -EBADF, -EINVAL (a range that ends behind INT64_MAX, owner, type),
 *           -ENOLCK (the file has 4096 locks, or the volume is full of them), those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction. While it waits it asks again, after 1 ms at first and every
 *           50 ms later: so much later it notices that the lock is free, and the end of its wait.
 *           The one that has waited longest need not be the next.
 */
RFS_MUST_CHECK int rfs_lock(struct rfs_file *file, const struct rfs_lock_range *range,
                            uint64_t timeout_ms);

/**
 * rfs_lock_test: find out which lock would keep an owner from locking a range.
 *
 * @file   open. Borrowed.
 * @range  in: the lock that is wanted, not F_UNLCK. Out, on 0: of the first lock that conflicts its
 *         range and type, and of one of this client also its pid, and its owner if that is one of
 *         the caller's; 0 otherwise. If there is none, its type is F_UNLCK, and the rest unchanged.
 *         Borrowed.
 *
 * Errors:   -EINVAL (also: F_UNLCK) as of rfs_lock(), -EIO (also: @file has lost its locks), those
 *           of client.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_lock_test(struct rfs_file *file, struct rfs_lock_range *range);

/**
 * rfs_flock: lock a whole file, change the type of its lock, or unlock it.
 *
 * The open file owns the lock.
 *
 * @file        open. Borrowed.
 * @operation   LOCK_SH, LOCK_EX or LOCK_UN; or'ed with LOCK_NB: as if @timeout_ms were 0.
 * @timeout_ms  as of rfs_lock().
 *
 * Durable:  as of rfs_lock(). But to change the type is no single step, as on Linux: a caller
 *           that has to wait unlocks first, and after an error has no lock.
 * Errors:   -EAGAIN, -ETIMEDOUT, -EINTR and -ENOLCK as of rfs_lock(), -EINVAL (@operation), those
 *           of file.h.
 * Threads:  one per client.
 * Cost:     as of rfs_lock().
 */
RFS_MUST_CHECK int rfs_flock(struct rfs_file *file, int operation, uint64_t timeout_ms);

/**
 * rfs_interrupt: end the wait of rfs_lock() or rfs_flock() with -EINTR.
 *
 * The one under way, or if there is none, the next one that has to wait; not those of async.h.
 *
 * @client  Borrowed. Must not be unmounted meanwhile.
 *
 * Threads:  any; a signal handler may call it.
 * Cost:     no system call, no allocation; the wait ends up to 50 ms later.
 */
void rfs_interrupt(struct rfs_client *client);

#ifdef __cplusplus
}
#endif
#endif
