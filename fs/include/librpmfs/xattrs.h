/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.h: extended attributes of files by path, as of xattr(7). Paths are as in tree.h, and are
 * followed as in attributes.h: of a function whose name begins with l, a last name that is a
 * symbolic link is not followed.
 *
 * The part of a name before its first dot decides who may do what:
 *
 *   user.      who may read or write the file; only of regular files and directories
 *   trusted.   user 0; to others these attributes do not exist
 *   security.  all get them, user 0 sets them
 *
 * A file has up to 64 KiB of attributes, with their names and 4 bytes for each.
 */
#ifndef LIBRPMFS_XATTRS_H
#define LIBRPMFS_XATTRS_H

#include <librpmfs/client.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rfs_setxattr: set an extended attribute of a file.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 * @value   may be NULL if @size is 0. Borrowed until return.
 * @size    bytes, up to 64 KiB.
 * @flags   0, or of <sys/xattr.h>: XATTR_CREATE, the attribute must be new; XATTR_REPLACE, it must
 *          exist.
 *
 * Durable:  on 0 the attribute is set on all copies; on -EIO it may be.
 * Errors:   -ERANGE (@name is empty, or of more than 255 bytes), -EOPNOTSUPP (it begins
 *           otherwise), -EINVAL (also: nothing is behind its dot; @flags; @name or @value is NULL),
 *           -E2BIG (the value has over 64 KiB), -ENOSPC (all attributes of the file would have; the
 *           volume is full), -EACCES (also: "user.", and no permission to write the file), -EPERM
 *           ("trusted." or "security.", and @who is not user 0; "user.", and the file is neither a
 *           regular file nor a directory, or is a directory with the sticky bit that @who does not
 *           own), -EEXIST (XATTR_CREATE), -ENODATA (XATTR_REPLACE), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction, which reads all attributes of the file and writes the rows, of
 *           480 bytes, that change.
 */
RFS_MUST_CHECK int rfs_setxattr(struct rfs_client *client, const struct rfs_cred *who,
                                const char *path, const char *name, const void *value, size_t size,
                                int flags);

/**
 * rfs_lsetxattr: set an extended attribute of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 * @value   may be NULL if @size is 0. Borrowed until return.
 * @size    bytes, up to 64 KiB.
 * @flags   as of rfs_setxattr().
 *
 * Durable:  on 0 the attribute is set on all copies; on -EIO it may be.
 * Errors:   as rfs_setxattr(): -ERANGE, -EOPNOTSUPP, -EINVAL, -E2BIG, -ENOSPC, -EACCES, -EPERM
 *           (also: "user.", and a symbolic link), -EEXIST, -ENODATA, those of tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_setxattr().
 */
RFS_MUST_CHECK int rfs_lsetxattr(struct rfs_client *client, const struct rfs_cred *who,
                                 const char *path, const char *name, const void *value, size_t size,
                                 int flags);

/**
 * rfs_getxattr: the value of an extended attribute of a file.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 * @value   out, without a zero byte at its end; may be NULL if @size is 0. Borrowed until return.
 * @size    of @value in bytes; 0: only the length is asked for.
 *
 * Returns the length of the value in bytes.
 *
 * Errors:   -ERANGE (@name is empty, or of more than 255 bytes; @size is not 0 and too small),
 *           -EOPNOTSUPP (@name begins otherwise), -EINVAL (also: nothing is behind its dot; @name
 *           or @value is NULL), -EACCES (also: "user.", and no permission to read the file),
 *           -ENODATA (no such attribute, or not for this user), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction, which reads all attributes of the file.
 */
RFS_MUST_CHECK ssize_t rfs_getxattr(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, const char *name, void *value, size_t size);

/**
 * rfs_lgetxattr: the value of an extended attribute of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 * @value   out, as of rfs_getxattr(). Borrowed until return.
 * @size    of @value in bytes; 0: only the length is asked for.
 *
 * Returns the length of the value in bytes.
 *
 * Errors:   as rfs_getxattr(): -ERANGE, -EOPNOTSUPP, -EINVAL, -EACCES, -ENODATA, those of tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_getxattr().
 */
RFS_MUST_CHECK ssize_t rfs_lgetxattr(struct rfs_client *client, const struct rfs_cred *who,
                                     const char *path, const char *name, void *value, size_t size);

/**
 * rfs_listxattr: the names of the extended attributes of a file.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return. Needs no permission of the file; "trusted."
 *          names are listed only for user 0.
 * @path    of the file. Borrowed until return.
 * @names   out: each name with a zero byte behind it; may be NULL if @size is 0. Borrowed until
 *          return.
 * @size    of @names in bytes; 0: only the length is asked for.
 *
 * Returns the length of all names in bytes, with their zero bytes.
 *
 * Errors:   -ERANGE (@size is not 0 and too small), -EINVAL (also: @names is NULL), those of
 *           tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_getxattr().
 */
RFS_MUST_CHECK ssize_t rfs_listxattr(struct rfs_client *client, const struct rfs_cred *who,
                                     const char *path, char *names, size_t size);

/**
 * rfs_llistxattr: the names of the extended attributes of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     as of rfs_listxattr(). Borrowed until return.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @names   out, as of rfs_listxattr(). Borrowed until return.
 * @size    of @names in bytes; 0: only the length is asked for.
 *
 * Returns the length of all names in bytes, with their zero bytes.
 *
 * Errors:   as rfs_listxattr(): -ERANGE, -EINVAL, those of tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_getxattr().
 */
RFS_MUST_CHECK ssize_t rfs_llistxattr(struct rfs_client *client, const struct rfs_cred *who,
                                      const char *path, char *names, size_t size);

/**
 * rfs_removexattr: remove an extended attribute of a file.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 *
 * Durable:  on 0 the attribute is gone on all copies; on -EIO it may be.
 * Errors:   -ENODATA (no such attribute), and as rfs_setxattr(): -ERANGE, -EOPNOTSUPP, -EINVAL,
 *           -EACCES, -EPERM; those of tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_setxattr().
 */
RFS_MUST_CHECK int rfs_removexattr(struct rfs_client *client, const struct rfs_cred *who,
                                   const char *path, const char *name);

/**
 * rfs_lremovexattr: remove an extended attribute of a file, or of a symbolic link itself.
 *
 * @client  Borrowed.
 * @who     on whose behalf. Borrowed until return.
 * @path    of the file; its last name is not followed. Borrowed until return.
 * @name    of 1 to 255 bytes, as in xattrs.h. Borrowed until return.
 *
 * Durable:  on 0 the attribute is gone on all copies; on -EIO it may be.
 * Errors:   -ENODATA (no such attribute), and as rfs_lsetxattr(): -ERANGE, -EOPNOTSUPP, -EINVAL,
 *           -EACCES, -EPERM; those of tree.h.
 * Threads:  one per client.
 * Cost:     as rfs_setxattr().
 */
RFS_MUST_CHECK int rfs_lremovexattr(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, const char *name);

#ifdef __cplusplus
}
#endif
#endif
