/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h: names of files by path: create, link, remove and rename, as the system calls of the same
 * names. attributes.h, xattrs.h and directory.h have the other calls on paths.
 *
 * A path is followed within the call's transaction: the whole path was so at one time. A relative
 * path begins at the root directory, of which ".." leads to itself. @who needs permission to search
 * each directory on the way. A call that creates, removes or renames does not follow the last name
 * of a path if it is a symbolic link.
 *
 * A new file belongs to @who, in a directory with the set-group-ID bit to the directory's group; a
 * new directory in it gets that bit. No umask is applied.
 *
 * A change survives what durable data on the servers survive. After an error nothing has changed,
 * unless the function says otherwise.
 *
 * Errors:  of a path: -ENOENT (a name does not exist, or the path is empty), -ENOTDIR (a name on
 *          the way, or one with a slash behind it, is no directory), -EACCES (no permission to
 *          search a directory on the way), -ELOOP (more than 40 symbolic links), -ENAMETOOLONG (a
 *          name of more than 255 bytes, or a path of more than 4095), -EINVAL (a path or @who is
 *          NULL, or @who has groups that are NULL); those of client.h.
 */
#ifndef LIBRPMFS_TREE_H
#define LIBRPMFS_TREE_H

#include <librpmfs/client.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of rfs_rename(), with the values of renameat2(2). */
enum rfs_rename_flag {
    RFS_RENAME_NOREPLACE = 1, /* -EEXIST if the new name exists */
    RFS_RENAME_EXCHANGE = 2   /* both names exist, and each gets the other's file */
};

/**
 * rfs_mkdir: make a directory.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the directory. Borrowed until return.
 * @mode    permission bits and S_ISVTX; other bits are ignored.
 *
 * Durable:  on 0 the directory is there on all copies; on -EIO it may be.
 * Errors:   -EEXIST (@path exists), -EACCES (also: no permission to write the directory that gets
 *           the name), -ENOSPC, -EMLINK (that has 64998 directories already), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_mkdir(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode);

/**
 * rfs_mknod: make a file without contents: a regular file, a device file, a FIFO or a socket.
 *
 * A device file needs no privilege: the library does not open devices.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @mode    type and permission bits; S_IFREG, S_IFCHR, S_IFBLK, S_IFIFO or S_IFSOCK.
 * @device  of a device file: up to 12 bits of a major and 20 bits of a minor number; others are
 *          cut off.
 *
 * Durable:  on 0 the file is there on all copies; on -EIO it may be.
 * Errors:   -EINVAL (also: another type), -EEXIST (@path exists), -EACCES (also: no permission to
 *           write the directory that gets the name), -ENOSPC, those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_mknod(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode, dev_t device);

/**
 * rfs_symlink: make a symbolic link.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @target  the path to which it leads, of 1 to 4095 bytes; it need not exist. Borrowed until
 *          return.
 * @path    of the link. Borrowed until return.
 *
 * Durable:  on 0 the link is there on all copies; on -EIO it may be.
 * Errors:   -EEXIST (@path exists), -EACCES (also: no permission to write the directory that gets
 *           the name), -ENOSPC, -ENOENT (also: @target is empty), -ENAMETOOLONG (also: @target),
 *           -EINVAL (also: @target is NULL), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_symlink(struct rfs_client *client, const struct rfs_cred *who,
                               const char *target, const char *path);

/**
 * rfs_link: give a file another name.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. Needs no permission of the file.
 * @from    a path of the file. If it is a symbolic link, that gets the name, unless a slash is
 *          behind it. Borrowed until return.
 * @to      the new name. Borrowed until return.
 *
 * Durable:  on 0 the name is there on all copies; on -EIO it may be.
 * Errors:   -EEXIST (@to exists), -EACCES (also: no permission to write the directory that gets
 *           the name), -EPERM (@from is a directory), -EMLINK (it has 65000 names already),
 *           -ENOSPC, those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_link(struct rfs_client *client, const struct rfs_cred *who, const char *from,
                            const char *to);

/**
 * rfs_unlink: remove a name of a file, and the file if that was the last one.
 *
 * A file that a client has open stays until it is closed. While other clients have the volume open,
 * its blocks are freed when each of them has looked whether it has the file open (rfs_turn()).
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    the name. Borrowed until return.
 *
 * Durable:  on 0 the name is gone on all copies; on -EIO, or an error of <librpm/error.h>, it may
 *           be. What is not freed then, this client or another one frees later.
 * Errors:   -EISDIR (a directory), -EACCES (also: no permission to write the directory), -EPERM
 *           (the directory has the sticky bit, and @who owns neither it nor the file), those of
 *           tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction. If it frees a file of more than 8 blocks, or with extended
 *           attributes, one more for each 8 MiB begun.
 */
RFS_MUST_CHECK int rfs_unlink(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path);

/**
 * rfs_rmdir: remove an empty directory.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the directory. Borrowed until return.
 *
 * Durable:  on 0 it is gone on all copies; on -EIO, or an error of <librpm/error.h>, it may be.
 * Errors:   -ENOTEMPTY (it has names, or the last name is ".."), -ENOTDIR (also: no directory),
 *           -EACCES (also: no permission to write the directory that has the name), -EPERM (that
 *           has the sticky bit, and @who owns neither), -EINVAL (also: the last name is "."),
 *           -EBUSY (the root directory), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction, and one more if it has extended attributes.
 */
RFS_MUST_CHECK int rfs_rmdir(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path);

/**
 * rfs_rename: rename a file or directory, replace another one by it, or exchange the two.
 *
 * Whatever is moved or replaced, it is one transaction. Two names of one file both stay. A file
 * that is replaced by a file, or an empty directory by a directory, loses its name as by
 * rfs_unlink() or rfs_rmdir().
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @from    the name. Borrowed until return.
 * @to      the new name. Borrowed until return.
 * @flags   0, or one of enum rfs_rename_flag.
 *
 * Durable:  on 0 the names have changed on all copies; on -EIO, or an error of <librpm/error.h>,
 *           they may have. What was replaced is freed as by rfs_unlink().
 * Errors:   -EEXIST (@to exists, and RFS_RENAME_NOREPLACE), -ENOENT (also: @to does not exist, and
 *           RFS_RENAME_EXCHANGE), -EACCES (also: no permission to write one of the two directories,
 *           or a directory that moves from one to the other), -EPERM (one of the two has the
 *           sticky bit, and @who owns neither it nor the file that would leave it), -EISDIR (a
 *           directory would be replaced by a file), -ENOTDIR (also: a file by a directory),
 *           -ENOTEMPTY (a directory that has names would be replaced), -EINVAL (also: a directory
 *           would be moved into itself; other flags), -EBUSY (the root directory, "." or ".."),
 *           -EMLINK (the directory that gets a directory has 64998), -ENOSPC, those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction. For a directory that moves to another one, it reads all
 *           directories above the new place. Further ones as of rfs_unlink().
 */
RFS_MUST_CHECK int rfs_rename(struct rfs_client *client, const struct rfs_cred *who,
                              const char *from, const char *to, unsigned int flags);

/**
 * rfs_readlink: the target of a symbolic link.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. Needs no permission of the link.
 * @path    of the link. Borrowed until return.
 * @into    out, without a zero byte at its end. Borrowed until return.
 * @size    of @into in bytes, at least 1; more of the target is cut off.
 *
 * Returns how many bytes it has put into @into.
 *
 * Errors:   -EINVAL (also: no symbolic link, or one with a slash behind it that leads to a
 *           directory; @into is NULL; @size is 0), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK ssize_t rfs_readlink(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, char *into, size_t size);

#ifdef __cplusplus
}
#endif
#endif
