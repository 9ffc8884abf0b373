/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operations.h: what the kernel may ask for, by kind of file. Each function has the signature of an
 * operation of libfuse, starts a coroutine and returns.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_OPERATIONS_H
#define FS_MOUNT_OPERATIONS_H

#include "mount/daemon.h"

namespace rfs
{

inline Daemon &daemon_of(fuse_req_t handle)
{
    return *static_cast<Daemon *>(fuse_req_userdata(handle));
}

/* The kernel knows files by the numbers that the daemon has given it. 0, which no file has, is that
 * of the folder of statistics.h and its files. */
inline uint32_t number_of(fuse_ino_t ino)
{
    return is_statistics(ino) ? 0 : static_cast<uint32_t>(ino);
}

/* The same of a request that a thread makes only if it has got hold of the file. */
inline uint32_t number_in_use(fuse_req_t handle, fuse_ino_t ino)
{
    daemon_of(handle).directories().used(ino, fuse_req_ctx(handle)->pid);
    return number_of(ino);
}

/* Was the file opened to be written? Its handle is odd then. The kernel makes a file that is opened
 * by O_RDONLY | O_TRUNC shorter by its handle, and has not asked whether the caller may write. */
inline bool may_write(const fuse_file_info &file)
{
    return (file.fh & 1) != 0;
}

/* Look a regular file up by its number, for the refresher. */
void look_up_number(fuse_req_t handle, uint32_t ino);

/* Names and attributes. */
void add_tree_operations(fuse_lowlevel_ops &operations);
/* Open files and directories. */
void add_file_operations(fuse_lowlevel_ops &operations);
/* Extended attributes. */
void add_xattr_operations(fuse_lowlevel_ops &operations);
/* Locks of files. */
void add_lock_operations(fuse_lowlevel_ops &operations);

/* Awaited: drop locks. */
dtx::Task<> drop_locks(Daemon &daemon, HeldLocks::Taken &taken);

} // namespace rfs
#endif
