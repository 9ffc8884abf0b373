/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h: directories, names and attributes of files, by path, as the system calls of the same
 * names. A relative path begins at the root directory.
 *
 * A path is followed within the call's transaction. Each function that takes one may return -ENOENT
 * (a name does not exist), -ENOTDIR (a name on the way is no directory), -EACCES (no permission to
 * search a directory on the way), -ELOOP (more than 40 symbolic links), -ENAMETOOLONG (a name of
 * more than 255 bytes, or a path of more than 4095).
 *
 * In all of these functions, @client, @who and the paths are borrowed until return. A client
 * belongs to one thread. On 0 the change survives what durable data on the servers survive; on an
 * error nothing has changed, except where client.h says otherwise.
 */
#ifndef LIBRPMFS_TREE_H
#define LIBRPMFS_TREE_H

#include <librpmfs/client.h>

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of rfs_rename(), with the values of renameat2(2). */
enum rfs_rename_flag {
    RFS_RENAME_NOREPLACE = 1, /* -EEXIST if the new name exists */
    RFS_RENAME_EXCHANGE = 2   /* both names exist, and each gets the other's file */
};

struct rfs_dir;

struct rfs_dirent {
    uint64_t ino;
    uint64_t cookie; /* for rfs_seekdir(): goes on behind this name */
    uint8_t type;    /* as d_type: DT_REG, DT_DIR, ... */
    char name[256];  /* ends with a zero byte */
};

/* Errors: -EEXIST, -EACCES, -ENOSPC, -EMLINK (a directory has 64998 directories). */
RFS_MUST_CHECK int rfs_mkdir(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode);
/* @mode: with its type; S_IFREG, S_IFCHR, S_IFBLK, S_IFIFO or S_IFSOCK. @device: of a device file.
 * Errors: as rfs_mkdir(); -EINVAL (no such type). */
RFS_MUST_CHECK int rfs_mknod(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode, dev_t device);
/* @target: 1 to 4095 bytes. Errors: as rfs_mkdir(). */
RFS_MUST_CHECK int rfs_symlink(struct rfs_client *client, const struct rfs_cred *who,
                               const char *target, const char *path);
/* Does not follow @from if it is a symbolic link. Errors: as rfs_mkdir(); -EPERM (a directory),
 * -EMLINK (65000 names). */
RFS_MUST_CHECK int rfs_link(struct rfs_client *client, const struct rfs_cred *who, const char *from,
                            const char *to);
/* Errors: -EISDIR, -EACCES, -EPERM (sticky bit). A file that a client has open stays until it is
 * closed. */
RFS_MUST_CHECK int rfs_unlink(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path);
/* Errors: -ENOTEMPTY, -EACCES, -EPERM (sticky bit), -EINVAL (the last name is "."), -EBUSY (the
 * root directory). */
RFS_MUST_CHECK int rfs_rmdir(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path);
/* One transaction, whatever is moved or replaced. @flags: enum rfs_rename_flag. Errors: as
 * rfs_unlink(), rfs_rmdir(), rfs_mkdir(); -EINVAL (a directory into itself, or flags), -EBUSY (the
 * root directory, "." or ".."). */
RFS_MUST_CHECK int rfs_rename(struct rfs_client *client, const struct rfs_cred *who,
                              const char *from, const char *to, unsigned int flags);
/* Into @into, without a zero byte, up to @size bytes. Returns how many. Errors: -EINVAL (no
 * symbolic link). */
RFS_MUST_CHECK ssize_t rfs_readlink(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, char *into, size_t size);

/* @stat: out, set only on 0. st_blocks counts units of 512 bytes. rfs_lstat() does not follow the
 * last name if it is a symbolic link. */
RFS_MUST_CHECK int rfs_stat(struct rfs_client *client, const struct rfs_cred *who, const char *path,
                            struct stat *stat);
RFS_MUST_CHECK int rfs_lstat(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, struct stat *stat);
/* @wanted: R_OK, W_OK, X_OK or F_OK. Errors: -EACCES. */
RFS_MUST_CHECK int rfs_access(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path, int wanted);
/* Errors: -EPERM (not the owner). */
RFS_MUST_CHECK int rfs_chmod(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, mode_t mode);
/* @uid, @gid: UINT32_MAX: unchanged. rfs_lchown() changes a symbolic link itself. Errors:
 * -EPERM. */
RFS_MUST_CHECK int rfs_chown(struct rfs_client *client, const struct rfs_cred *who,
                             const char *path, uint32_t uid, uint32_t gid);
RFS_MUST_CHECK int rfs_lchown(struct rfs_client *client, const struct rfs_cred *who,
                              const char *path, uint32_t uid, uint32_t gid);
/* @times: of last access and of last change, or NULL: now; tv_nsec may be UTIME_NOW or UTIME_OMIT.
 * Errors: -EPERM, -EACCES, -EINVAL (tv_nsec). */
RFS_MUST_CHECK int rfs_utimens(struct rfs_client *client, const struct rfs_cred *who,
                               const char *path, const struct timespec times[2]);
/* Errors: -EISDIR, -EINVAL (no regular file), -EACCES, -EFBIG (over 16 TiB), -ENOSPC. */
RFS_MUST_CHECK int rfs_truncate(struct rfs_client *client, const struct rfs_cred *who,
                                const char *path, uint64_t size);

/* Extended attributes, as of xattr(7). Names begin with "user.", "trusted." or "security."; a file
 * has up to 64 KiB of them, with their names and 4 bytes for each. The functions whose names have
 * an l do not follow the last name if it is a symbolic link. Errors of those with @name: -ERANGE
 * (@name is empty, or of more than 255 bytes), -EOPNOTSUPP (it begins otherwise), -EINVAL (it has
 * nothing behind its dot), -EACCES.
 *
 * @value: @size bytes; may be NULL if that is 0. @flags: of <sys/xattr.h>: XATTR_CREATE: -EEXIST if
 * the file has the attribute; XATTR_REPLACE: -ENODATA if it has not; 0. Errors: -E2BIG (the
 * value has over 64 KiB), -ENOSPC (all attributes of the file together would have, or the volume is
 * full), -EPERM ("trusted." or "security.", and @who is not user 0; or "user.", and the file is
 * neither a regular file nor a directory, or is a directory with the sticky bit that @who does not
 * own), -EINVAL (flags). */
RFS_MUST_CHECK int rfs_setxattr(struct rfs_client *client, const struct rfs_cred *who,
                                const char *path, const char *name, const void *value, size_t size,
                                int flags);
RFS_MUST_CHECK int rfs_lsetxattr(struct rfs_client *client, const struct rfs_cred *who,
                                 const char *path, const char *name, const void *value, size_t size,
                                 int flags);
/* Into @value, of @size bytes; 0: only the length is asked for. Returns the length. Errors:
 * -ENODATA (no such attribute, or not for this user), -ERANGE (also if @size is too small). */
RFS_MUST_CHECK ssize_t rfs_getxattr(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, const char *name, void *value, size_t size);
RFS_MUST_CHECK ssize_t rfs_lgetxattr(struct rfs_client *client, const struct rfs_cred *who,
                                     const char *path, const char *name, void *value, size_t size);
/* The names, each with a zero byte behind it, into @names, as rfs_getxattr(); "trusted." ones only
 * for user 0. */
RFS_MUST_CHECK ssize_t rfs_listxattr(struct rfs_client *client, const struct rfs_cred *who,
                                     const char *path, char *names, size_t size);
RFS_MUST_CHECK ssize_t rfs_llistxattr(struct rfs_client *client, const struct rfs_cred *who,
                                      const char *path, char *names, size_t size);
/* Errors: -ENODATA (no such attribute), -EPERM as of rfs_setxattr(). */
RFS_MUST_CHECK int rfs_removexattr(struct rfs_client *client, const struct rfs_cred *who,
                                   const char *path, const char *name);
RFS_MUST_CHECK int rfs_lremovexattr(struct rfs_client *client, const struct rfs_cred *who,
                                    const char *path, const char *name);

/* @dir: out, set only on 0. Taken by the caller: rfs_closedir(). Errors: -EACCES. */
RFS_MUST_CHECK int rfs_opendir(struct rfs_client *client, const struct rfs_cred *who,
                               const char *path, struct rfs_dir **dir);
/* The next name. Returns 1, or 0 at the end. Each name that was there from rfs_opendir() to the end
 * comes once; one that was added or removed meanwhile may come. "." and ".." come first. */
RFS_MUST_CHECK int rfs_readdir(struct rfs_dir *dir, struct rfs_dirent *entry);
/* @cookie: of a name that rfs_readdir() has returned, of this or an earlier rfs_opendir(); 0: the
 * beginning. */
void rfs_seekdir(struct rfs_dir *dir, uint64_t cookie);
/* Taken and set to NULL; NULL is allowed. */
void rfs_closedir(struct rfs_dir **dir);

#ifdef __cplusplus
}
#endif
#endif
