/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async.h: calls that are submitted now and complete later, so that one thread has many of them
 * under way on one client: how they complete. file_async.h and tree_async.h submit them.
 *
 * A submission returns an error, and no completion follows; or 0, and exactly one follows, by
 * rfs_poll() or rfs_wait(). The library sends submitted calls, together, and continues them only in
 * these two functions and in the client's blocking calls. It starts a thread only while it takes
 * over from a dead client; that thread gets no signals. Paths, ranges and credentials are copied. A
 * call may use other memory of the caller to which it has pointers until its completion was
 * returned: it writes there at any time before that, even if it fails.
 *
 * Calls that are under way at once take effect in any order, and complete in the order in which
 * they end. Each by itself is as its blocking form: one transaction, durable on all copies when it
 * completes. A program that needs an order submits a call when the one before has completed; for
 * one file it may also use rfs_fsync_async() and rfs_close_async(), which begin when all calls on
 * that file have ended that were submitted before.
 *
 * Reads, and writes to different files, go on beside each other. Each write changes the row of its
 * file, so of writes to one file one commits after the other, and a write that meets another one
 * begins again: many under way gain little.
 *
 * A program that has submitted calls keeps calling until it has all of their completions: each time
 * that rfs_client_fd() can be read. Calls under way may have locked rows that other clients wait
 * for, and a client that lets them wait for 2 s is taken for dead: its calls still complete, but it
 * may lose the locks of lock.h. The last completion comes when nothing is locked any more. A
 * program that has it may do other things for as long as it wants.
 *
 * Errors:  of a submission: -EAGAIN (rfs_opts.inflight_max calls were submitted whose completions
 *          were not returned: poll, then try again), -ENOMEM. The completion has the errors of the
 *          blocking form.
 */
#ifndef LIBRPMFS_ASYNC_H
#define LIBRPMFS_ASYNC_H

#include <librpmfs/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rfs_completion {
    void *context;     /* as given to the submission */
    int64_t result;    /* what the blocking form returns: bytes, 0, or a negative error */
    const char *error; /* what rfs_last_error() says of that error; "". Borrowed from the client:
                          valid until the next rfs_poll() or rfs_wait() */
};

/**
 * rfs_cancel: end the calls that wait for a lock.
 *
 * Each still completes: with -ECANCELED, or as it would have if the lock was set before. Calls of
 * other kinds cannot be cancelled.
 *
 * @client   Borrowed.
 * @context  of rfs_lock_async() and rfs_flock_async(): ends all that were submitted with it.
 *           Borrowed; never looked at.
 *
 * Errors:   -ENOENT (no such call is under way).
 * Threads:  one per client.
 * Cost:     does not block; the wait ends up to 50 ms later.
 */
RFS_MUST_CHECK int rfs_cancel(struct rfs_client *client, const void *context);

/**
 * rfs_poll: let calls go on that were submitted, and take completions, oldest first.
 *
 * @client  Borrowed.
 * @done    out, room for @n. Borrowed.
 * @n       at most this many.
 *
 * Returns the number of completions, 0 when none is ready.
 *
 * Errors:   -EINVAL (@done is NULL, and @n not 0), -ENOMEM.
 * Threads:  one per client.
 * Cost:     does not wait for servers, except that it blocks while it connects to one again.
 */
RFS_MUST_CHECK int rfs_poll(struct rfs_client *client, struct rfs_completion *done, uint32_t n);

/**
 * rfs_wait: take completions as rfs_poll() does, but block until there are @min of them.
 *
 * It returns with fewer when no call is under way any more, or at the timeout.
 *
 * @client      Borrowed.
 * @done        out, room for @n. Borrowed.
 * @n           at most this many.
 * @min         0 to @n; 0: as rfs_poll().
 * @timeout_us  longest wait in microseconds; UINT64_MAX: no limit.
 *
 * Returns the number of completions.
 *
 * Errors:   -EINVAL (also: @min is more than @n), -ENOMEM.
 * Threads:  one per client.
 * Cost:     busy-waits for about 50 us, then sleeps in the kernel.
 */
RFS_MUST_CHECK int rfs_wait(struct rfs_client *client, struct rfs_completion *done, uint32_t n,
                            uint32_t min, uint64_t timeout_us);

/**
 * rfs_client_fd: the descriptor of a client, for an event loop: poll, epoll, io_uring, libuv.
 *
 * It stays the same until rfs_unmount(). Only wait until it can be read: never read, write or close
 * it. It can be read only for what rfs_client_arm() armed it for.
 *
 * @client  Borrowed.
 *
 * Returns the descriptor.
 *
 * Errors:   RPM_E_NOMEM (no descriptors left).
 * Threads:  one per client; another thread may watch the descriptor.
 * Cost:     the first call opens it and makes system calls, later ones none.
 */
RFS_MUST_CHECK int rfs_client_fd(struct rfs_client *client);

/**
 * rfs_client_arm: arm the descriptor; returns 1 if rfs_poll() has something to do already.
 *
 * Call it last before each wait: any other call of the client may consume what the descriptor was
 * armed for. When it returns 1, and when the descriptor can be read, call rfs_poll(), take all
 * completions, and arm again. There need not be a completion each time: a call takes several round
 * trips. With no call under way it returns 0, and the descriptor cannot be read.
 *
 * @client  Borrowed.
 *
 * Returns 1 when there is something to do now, 0 when the descriptor is armed.
 *
 * Errors:   RPM_E_NOMEM (no descriptors left).
 * Threads:  one per client.
 * Cost:     does not block; a few system calls for each server.
 */
RFS_MUST_CHECK int rfs_client_arm(struct rfs_client *client);

#ifdef __cplusplus
}
#endif
#endif
