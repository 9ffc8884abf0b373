/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_async.h: calls on paths that are submitted now and complete later, as async.h says. Each is
 * as its blocking form in tree.h and attributes.h. Paths and credentials are copied.
 */
#ifndef LIBRPMFS_TREE_ASYNC_H
#define LIBRPMFS_TREE_ASYNC_H

#include <librpmfs/async.h>
#include <librpmfs/attributes.h>
#include <librpmfs/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rfs_stat_async: submit rfs_stat(); exactly one completion follows.
 *
 * @client   Borrowed.
 * @who      on whose behalf. Borrowed until return.
 * @path     as of rfs_stat(). Borrowed until return.
 * @stat     out. Borrowed until the completion was returned; set only if its result is 0.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Errors:   -EINVAL (@path or @who is NULL, or @who has groups that are NULL), those of async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_stat_async(struct rfs_client *client, const struct rfs_cred *who,
                                  const char *path, struct stat *stat, void *context);

/**
 * rfs_mkdir_async: submit rfs_mkdir(); exactly one completion follows.
 *
 * @client   Borrowed.
 * @who      on whose behalf. Borrowed until return.
 * @path     as of rfs_mkdir(). Borrowed until return.
 * @mode     as of rfs_mkdir().
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_mkdir().
 * Errors:   -EINVAL (@path or @who is NULL, or @who has groups that are NULL), those of async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_mkdir_async(struct rfs_client *client, const struct rfs_cred *who,
                                   const char *path, mode_t mode, void *context);

/**
 * rfs_unlink_async: submit rfs_unlink(); exactly one completion follows.
 *
 * @client   Borrowed.
 * @who      on whose behalf. Borrowed until return.
 * @path     as of rfs_unlink(). Borrowed until return.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_unlink().
 * Errors:   -EINVAL (@path or @who is NULL, or @who has groups that are NULL), those of async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_unlink_async(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, void *context);

/**
 * rfs_rmdir_async: submit rfs_rmdir(); exactly one completion follows.
 *
 * @client   Borrowed.
 * @who      on whose behalf. Borrowed until return.
 * @path     as of rfs_rmdir(). Borrowed until return.
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_rmdir().
 * Errors:   -EINVAL (@path or @who is NULL, or @who has groups that are NULL), those of async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_rmdir_async(struct rfs_client *client, const struct rfs_cred *who,
                                   const char *path, void *context);

/**
 * rfs_rename_async: submit rfs_rename(); exactly one completion follows.
 *
 * @client   Borrowed.
 * @who      on whose behalf. Borrowed until return.
 * @from     as of rfs_rename(). Borrowed until return.
 * @to       as of rfs_rename(). Borrowed until return.
 * @flags    as of rfs_rename().
 * @context  echoed in the completion. Borrowed until then; never looked at. Need not be unique.
 *
 * Durable:  nothing until the completion was returned; then as rfs_rename().
 * Errors:   -EINVAL (@from, @to or @who is NULL, or @who has groups that are NULL), those of
 *           async.h.
 * Threads:  one per client.
 * Cost:     copies and an allocation; no system call, and does not block.
 */
RFS_MUST_CHECK int rfs_rename_async(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *from, const char *to, unsigned int flags,
                                    void *context);

#ifdef __cplusplus
}
#endif
#endif
