/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h: open files: read, write, change the size, allocate blocks, find holes.
 *
 * A call reads or writes up to 1 MiB in one transaction, as a whole or not at all; larger ones are
 * several transactions, in the order of their bytes. A call that has returned is durable on all
 * copies: there is nothing for rfs_fsync() to wait for but calls of async.h.
 *
 * A file that loses its last name while it is open can be read and written until it is closed. A
 * write or a change of the size by a user other than 0 takes the set-ID bits of the file away.
 *
 * Errors:  of an open file: -ESTALE (the file was freed, because this client did not answer for
 *          long), -EIO (also: the locks of the file are gone, as lock.h says), those of client.h.
 */
#ifndef LIBRPMFS_FILE_H
#define LIBRPMFS_FILE_H

#include <librpmfs/client.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rfs_file;

/**
 * rfs_open: open a file, and create it or truncate it to 0 bytes if the flags say so.
 *
 * @client  Borrowed until the file is closed.
 * @who     on whose behalf. Borrowed until return. Later calls on the file are made on its behalf.
 * @path    as tree.h has it. Borrowed until return.
 * @flags   as open(2): O_RDONLY, O_WRONLY or O_RDWR; O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
 *          O_DIRECTORY, O_NOFOLLOW. Others are ignored.
 * @mode    permission, set-ID and sticky bits of a file that is created; no umask is applied.
 * @file    out, set only on 0. Taken by the caller: rfs_close().
 *
 * Durable:  on 0 the file is created or truncated on all copies; on -EIO, or an error of
 *           <librpm/error.h>, it may be.
 * Errors:   -EEXIST (O_EXCL, and @path exists), -EISDIR (a directory, and to be written or
 *           truncated, or O_CREAT; a slash behind the last name, and O_CREAT), -EACCES (also: no
 *           permission to read, write or truncate the file, or to write the directory in which it
 *           would be created), -ENOSPC, -ENOTDIR (also: no directory, and O_DIRECTORY), -ELOOP
 *           (also: a symbolic link, and O_NOFOLLOW), -EINVAL (also: no access mode; O_CREAT with
 *           O_DIRECTORY; @file is NULL), those of tree.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction. If it truncates a file, one more for each 8 MiB of blocks that
 *           it frees behind the first ones.
 */
RFS_MUST_CHECK int rfs_open(struct rfs_client *client, const struct rfs_cred *who, const char *path,
                            int flags, mode_t mode, struct rfs_file **file);

/**
 * rfs_close: close a file, and drop the locks that were set by it (lock.h).
 *
 * Calls of async.h on it end first; those that wait for locks are cancelled.
 *
 * @file  Taken and set to NULL. NULL, or a pointer to NULL: nothing happens.
 *
 * Durable:  the locks are dropped, and a file without names is freed, unless another client has it
 *           open. If servers do not answer, the locks end when the client is unmounted, and the
 *           file is freed later.
 * Threads:  one per client.
 * Cost:     blocks; a transaction, and more if the file has no name any more and is freed.
 */
void rfs_close(struct rfs_file **file);

/**
 * rfs_pread: read from a file.
 *
 * @file    open for reading. Borrowed.
 * @into    out. Borrowed until return; undefined after an error.
 * @size    bytes.
 * @offset  bytes from the start of the file.
 *
 * Returns the bytes read: fewer than @size only at the end of the file.
 *
 * Errors:   -EBADF (not open for reading), -EISDIR, -EINVAL (neither a directory nor a regular
 *           file; @into is NULL; @size is over SSIZE_MAX), those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; for each MiB a transaction that reads the file's rows, then its blocks.
 */
RFS_MUST_CHECK ssize_t rfs_pread(struct rfs_file *file, void *into, size_t size, uint64_t offset);

/**
 * rfs_pwrite: write to a file, behind its end if it was opened with O_APPEND.
 *
 * @file    open for writing. Borrowed.
 * @bytes   Borrowed until return.
 * @size    bytes.
 * @offset  bytes from the start of the file; ignored with O_APPEND.
 *
 * Returns @size; fewer if an error occurred behind the first MiB.
 *
 * Durable:  what it returns is on all copies, each MiB as a whole. On -EIO, or an error of
 *           <librpm/error.h>, the first MiB may be.
 * Errors:   -EBADF (not open for writing), -EINVAL (no regular file; @bytes is NULL; @size is over
 *           SSIZE_MAX), -ENOSPC, -EFBIG (over 16 TiB), those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; for each MiB a transaction, which writes the blocks to all copies in one round
 *           trip before it commits.
 */
RFS_MUST_CHECK ssize_t rfs_pwrite(struct rfs_file *file, const void *bytes, size_t size,
                                  uint64_t offset);

/**
 * rfs_fsync: wait until all calls of async.h on an open file have ended that were submitted before,
 * except those for locks.
 *
 * @file  open. Borrowed.
 *
 * Durable:  changes nothing: a write that has ended without an error is durable already.
 * Errors:   -EIO (@file has lost its locks).
 * Threads:  one per client.
 * Cost:     nothing if no such call is under way.
 */
RFS_MUST_CHECK int rfs_fsync(struct rfs_file *file);

/**
 * rfs_ftruncate: change the size of an open file.
 *
 * New bytes read as zeros.
 *
 * @file  open for writing. Borrowed.
 * @size  bytes.
 *
 * Durable:  on 0 the size is set on all copies; on -EIO, or an error of <librpm/error.h>, it may
 *           be. Blocks behind the end are freed in several transactions: if some are left, the next
 *           call that opens or changes the file frees them.
 * Errors:   -EBADF (not open for writing), -EINVAL (no regular file), -EFBIG (over 16 TiB),
 *           -ENOSPC, those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction, and one more for each 8 MiB of blocks that it frees behind the
 *           first ones.
 */
RFS_MUST_CHECK int rfs_ftruncate(struct rfs_file *file, uint64_t size);

/**
 * rfs_fallocate: give blocks to a part of a file before it is written, or take them away, as
 * fallocate(2) on ext4.
 *
 * @file    open for writing. Borrowed.
 * @mode    0: holes get blocks that read as zeros, and the file grows to the end of the part;
 *          FALLOC_FL_ZERO_RANGE: so, and what is there becomes zeros. Each of them or'ed with
 *          FALLOC_FL_KEEP_SIZE: so, and the file does not grow. FALLOC_FL_PUNCH_HOLE |
 *          FALLOC_FL_KEEP_SIZE: whole blocks are freed, and parts of blocks become zeros.
 * @offset  bytes from the start of the file, up to INT64_MAX.
 * @length  bytes, 1 to INT64_MAX.
 *
 * A write puts its bytes into new blocks and then frees those that were allocated, so it still
 * fails if the volume has no free blocks for it at that time. Blocks behind the end of the file are
 * freed by rfs_ftruncate(), unless the file grows.
 *
 * Durable:  on all copies, in a transaction for each MiB, or more of a hole that is punched. After
 *           an error, from the start of the part up to some place in it.
 * Errors:   -EINVAL (@offset, @length), -EOPNOTSUPP (another @mode), -EBADF (not open for writing),
 *           -ENODEV (no regular file), -EFBIG (over 16 TiB), -ENOSPC, those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; for each MiB two transactions, of which the first finds out how many blocks
 *           are needed.
 */
RFS_MUST_CHECK int rfs_fallocate(struct rfs_file *file, int mode, uint64_t offset, uint64_t length);

/**
 * rfs_seek: where data or a hole begins in a file, as lseek(2).
 *
 * Data are blocks that were written; a hole is behind the last byte of each file.
 *
 * @file    open. Borrowed.
 * @offset  bytes from the start of the file.
 * @what    SEEK_DATA or SEEK_HOLE.
 *
 * Returns the first offset of that kind that is not less than @offset.
 *
 * Errors:   -ENXIO (@offset is not before the end of the file, or no data follow), -EINVAL
 *           (@what; no regular file), -EISDIR, those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; a transaction for each 8 MiB, without large holes, that it passes.
 */
RFS_MUST_CHECK int64_t rfs_seek(struct rfs_file *file, uint64_t offset, int what);

/**
 * rfs_fstat: the attributes of an open file.
 *
 * @file  open. Borrowed.
 * @stat  out, set only on 0, as by rfs_stat(). Borrowed until return.
 *
 * Errors:   -EINVAL (@stat is NULL), those of file.h.
 * Threads:  one per client.
 * Cost:     blocks; one transaction.
 */
RFS_MUST_CHECK int rfs_fstat(struct rfs_file *file, struct stat *stat);

#ifdef __cplusplus
}
#endif
#endif
