/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attributes.h: attributes of files by path: type, mode, owner, times and size. Paths are as in
 * tree.h, and so are errors of paths.
 *
 * A path is followed to the file to which its last name leads; of a function whose name has an l,
 * the last name is not followed if it is a symbolic link, unless a slash is behind it. file.h has
 * the attributes of open files.
 */
#ifndef LIBRPMFS_ATTRIBUTES_H
#define LIBRPMFS_ATTRIBUTES_H

#include <librpmfs/client.h>

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rfs_stat: the attributes of a file.
 *
 * st_dev is 0. st_blocks counts units of 512 bytes. The size of a directory is the number of its
 * names.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. Needs no permission of the file.
 * @path    of the file. Borrowed until return.
 * @stat    out, set only on 0. Borrowed until return.
 *
 * Errors:   -EINVAL (also: @stat is NULL), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_stat(struct rfs_client *client, const struct rfs_cred *who, const char *path,
                            struct stat *stat);

/**
 * rfs_lstat: the attributes of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. Needs no permission of the file.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @stat    out, set only on 0, as by rfs_stat(). Borrowed until return.
 *
 * Errors:   -EINVAL (also: @stat is NULL), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_lstat(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, struct stat *stat);

/**
 * rfs_access: what a caller may do with a file.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. User 0 may do all, but executes a regular file
 *          only if one of its x bits is set.
 * @path    of the file. Borrowed until return.
 * @wanted  F_OK, which asks whether the file exists, or a sum of R_OK, W_OK and X_OK.
 *
 * Errors:   -EACCES (also: not all of @wanted), -EINVAL (also: other bits in @wanted), those of
 *           tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_access(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path, int wanted);

/**
 * rfs_chmod: set the permission bits of a file.
 *
 * @client  Borrowed.
 * @who     its owner, or user 0. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @mode    permission, set-ID and sticky bits; others are ignored. If @who is not user 0, and not
 *          in the file's group, S_ISGID is ignored as well.
 *
 * Durable:  on 0 the mode is set on all copies; on -EIO it may be.
 * Errors:   -EPERM (not the owner), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_chmod(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode);

/**
 * rfs_chown: set the owner and the group of a file.
 *
 * A regular file loses its set-ID bits.
 *
 * @client  Borrowed.
 * @who     user 0; or the owner, who can only choose the group, of those that @who is in. Borrowed
 *          until return.
 * @path    of the file. Borrowed until return.
 * @uid     the new owner; UINT32_MAX: unchanged.
 * @gid     the new group; UINT32_MAX: unchanged.
 *
 * Durable:  on 0 both are set on all copies; on -EIO they may be.
 * Errors:   -EPERM (not for this user), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_chown(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, uint32_t uid, uint32_t gid);

/**
 * rfs_lchown: set the owner and the group of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     as of rfs_chown(). Borrowed until return.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @uid     the new owner; UINT32_MAX: unchanged.
 * @gid     the new group; UINT32_MAX: unchanged.
 *
 * Durable:  on 0 both are set on all copies; on -EIO they may be.
 * Errors:   -EPERM (not for this user), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_lchown(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path, uint32_t uid, uint32_t gid);

/**
 * rfs_utimens: set the times of last access and of last change of a file.
 *
 * @client  Borrowed.
 * @who     the owner, or user 0; who may write the file can set both to now. Borrowed until
 *          return.
 * @path    of the file. Borrowed until return.
 * @times   of last access, and of last change, up to 292 years from 1970; tv_nsec may be UTIME_NOW,
 *          or UTIME_OMIT: unchanged. If both are UTIME_OMIT, the call looks at nothing. NULL: both
 *          are now. Borrowed until return.
 *
 * Durable:  on 0 both are set on all copies; on -EIO they may be.
 * Errors:   -EPERM (not the owner, and a time other than now), -EACCES (also: not the owner, and
 *           no permission to write the file), -EINVAL (also: @times), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_utimens(struct rfs_client *client, const struct rfs_cred *who,
                               const char *path, const struct timespec times[2]);

/**
 * rfs_truncate: change the size of a file.
 *
 * New bytes read as zeros. If @who is not user 0, the file loses its set-ID bits. The call finds
 * the file in one transaction, and changes it in another one.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @size    bytes, up to 16 TiB.
 *
 * Durable:  on 0 the size is set on all copies; on -EIO, or an error of <librpm/error.h>, it may
 *           be. If blocks behind the end are left, the next call that opens or changes the file
 *           frees them.
 * Errors:   -EISDIR (a directory), -EINVAL (also: no regular file), -EACCES (also: no permission
 *           to write the file), -EFBIG (over 16 TiB), -ENOSPC, -ESTALE (another client has removed
 *           the file meanwhile), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; two transactions, and one more for each 8 MiB of blocks that it frees behind
 *           the first ones.
 */
RFS_MUST_CHECK int rfs_truncate(struct rfs_client *client, const struct rfs_cred *who,
                                const char *path, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
