/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_async.h: calls on open files that are submitted now and complete later, as async.h says.
 * Each is as its blocking form in file.h or lock.h.
 */
#ifndef LIBRPMFS_FILE_ASYNC_H
#define LIBRPMFS_FILE_ASYNC_H

#include <librpmfs/async.h>
#include <librpmfs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rfs_open_async: submit rfs_open(); exactly one completion follows.
 *
 * @client   Borrowed until the file is closed.
 * @who      on whose behalf. Borrowed until return.
 * @path     as of rfs_open(). Borrowed until return.
 * @flags    as of rfs_open().
 * @mode     as of rfs_open().
 * @file     out, set with the completion, only if its result is 0. Borrowed until then. The file is
 *           taken by the caller: rfs_close() or rfs_close_async().
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_open().
 * Errors:   -EINVAL (@path, @who or @file is NULL, or @who has groups that are NULL), those of
 *           async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_open_async(struct rfs_client *client, const struct rfs_cred *who,
                                  const char *path, int flags, mode_t mode, struct rfs_file **file,
                                  void *context);

/**
 * rfs_close_async: submit rfs_close(); exactly one completion follows.
 *
 * The file is closed when all calls on it have ended that were submitted before; those that wait
 * for locks end with -ECANCELED. No further call may use it. The result is 0, or an error after
 * which the file is closed all the same.
 *
 * @file     Taken and set to NULL on 0; on an error still open.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_close().
 * Errors:   -EINVAL (@file, or what it points to, is NULL), those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_close_async(struct rfs_file **file, void *context);

/**
 * rfs_pread_async: submit rfs_pread(); exactly one completion follows, with its result.
 *
 * @file     open for reading. Borrowed until the completion was returned.
 * @into     out. Borrowed until the completion was returned; undefined after an error.
 * @size     bytes.
 * @offset   bytes from the start of the file.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Errors:   those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_pread_async(struct rfs_file *file, void *into, size_t size, uint64_t offset,
                                   void *context);

/**
 * rfs_pwrite_async: submit rfs_pwrite(); exactly one completion follows, with its result.
 *
 * With O_APPEND, calls that are under way at once append in any order, each MiB as a whole.
 *
 * @file     open for writing. Borrowed until the completion was returned.
 * @bytes    Borrowed until the completion was returned.
 * @size     bytes.
 * @offset   bytes from the start of the file; ignored with O_APPEND.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_pwrite().
 * Errors:   those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_pwrite_async(struct rfs_file *file, const void *bytes, size_t size,
                                    uint64_t offset, void *context);

/**
 * rfs_fsync_async: submit rfs_fsync(); exactly one completion follows.
 *
 * It follows when all calls on this open file have ended that were submitted before, except those
 * for locks. Each write reports its own error.
 *
 * @file     open. Borrowed until the completion was returned.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  changes nothing: a write that has ended without an error is durable already.
 * Errors:   those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_fsync_async(struct rfs_file *file, void *context);

/**
 * rfs_lock_async: submit rfs_lock(); exactly one completion follows.
 *
 * The result is -ECANCELED if rfs_cancel() or the closing of the file has ended the wait; then the
 * owner has what it had. rfs_interrupt() does not end it. Calls of one owner that are under way at
 * once end in any order.
 *
 * @file        as of rfs_lock(). Borrowed until the completion was returned.
 * @range       Borrowed until return.
 * @timeout_ms  as of rfs_lock(), from when the call begins: in the next rfs_poll(), rfs_wait() or
 *              blocking call.
 * @context     echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_lock().
 * Errors:   -EINVAL (@range is NULL, or is none, as of rfs_lock()), those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_lock_async(struct rfs_file *file, const struct rfs_lock_range *range,
                                  uint64_t timeout_ms, void *context);

/**
 * rfs_flock_async: submit rfs_flock(); exactly one completion follows.
 *
 * The result is -ECANCELED as of rfs_lock_async(), but then the owner has no lock.
 *
 * @file        open. Borrowed until the completion was returned.
 * @operation   as of rfs_flock().
 * @timeout_ms  as of rfs_lock_async().
 * @context     echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_flock().
 * Errors:   -EINVAL (@operation), those of async.h.
 * Threads:  one per client.
 * Cost:     an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_flock_async(struct rfs_file *file, int operation, uint64_t timeout_ms,
                                   void *context);

#ifdef __cplusplus
}
#endif
#endif
