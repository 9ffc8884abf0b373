/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory.h: open directories, whose names are read some at a time. Paths are as in tree.h.
 */
#ifndef LIBRPMFS_DIRECTORY_H
#define LIBRPMFS_DIRECTORY_H

#include <librpmfs/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rfs_dir;

/* A name in a directory. */
struct rfs_dirent {
    uint64_t ino;    /* number of the file, as st_ino */
    uint64_t cookie; /* for rfs_seekdir(): goes on behind this name */
    uint8_t type;    /* as d_type of <dirent.h>: DT_REG, DT_DIR, ... */
    char name[256];  /* ends with a zero byte */
};

/**
 * rfs_opendir: open a directory, to read its names.
 *
 * A directory that is removed while it is open has only "." and ".." from then on.
 *
 * @client  Borrowed until the directory is closed.
 * @who     on whose behalf. Borrowed until return. Needs permission to read the directory.
 * @path    of the directory. Borrowed until return.
 * @dir     out, set only on 0. Taken by the caller: rfs_closedir().
 *
 * Errors:   -ENOTDIR (also: no directory), -EACCES (also: no permission to read it), -EINVAL (also:
 *           @dir is NULL), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_opendir(struct rfs_client *client, const struct rfs_cred *who,
                               const char *path, struct rfs_dir **dir);

/**
 * rfs_readdir: the next name in a directory.
 *
 * "." and ".." come first. Each name that was there from rfs_opendir() to the end comes once; one
 * that was added or removed meanwhile may come.
 *
 * @dir    Borrowed.
 * @entry  out, set only on 1. Borrowed until return.
 *
 * Returns 1, or 0 at the end.
 *
 * Errors:   -EINVAL (@entry is NULL), -ESTALE (the directory was removed and freed, because this
 *           client did not answer for long), those of client.h.
 * Threads:  one per client.
 * Cost:     blocks; a transaction for each 64 names, and none for the others.
 */
RFS_MUST_CHECK int rfs_readdir(struct rfs_dir *dir, struct rfs_dirent *entry);

/**
 * rfs_seekdir: let rfs_readdir() go on behind a name.
 *
 * @dir     Borrowed.
 * @cookie  of a name that rfs_readdir() has returned, of this or an earlier rfs_opendir() of the
 *          directory; 0: the beginning.
 *
 * Threads:  one per client.
 * Cost:     none; the next rfs_readdir() is a transaction.
 */
void rfs_seekdir(struct rfs_dir *dir, uint64_t cookie);

/**
 * rfs_closedir: close a directory.
 *
 * @dir  Taken and set to NULL. NULL, or a pointer to NULL: nothing happens.
 *
 * Durable:  a directory that was removed is freed, unless another client has it open. If servers do
 *           not answer, it stays until a client frees it later.
 * Threads:  one per client.
 * Cost:     blocks; a transaction, and more if the directory was removed and is freed.
 */
void rfs_closedir(struct rfs_dir **dir);

#ifdef __cplusplus
}
#endif
#endif
