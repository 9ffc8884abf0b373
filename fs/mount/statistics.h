/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statistics.h: counters of a mount, which programs read in two files of it: /.rpmfs/stats has a
 * line "name value" for each, /.rpmfs/stats.json an object. The folder is part of the mount and not
 * of the volume: no list of the root directory has it, and it hides a file with that name. For the
 * refresher (refresher.h), and for no other process, each regular file of the volume has its number
 * as a name in it.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_STATISTICS_H
#define FS_MOUNT_STATISTICS_H

#include "mount/request.h"

#include <array>
#include <cstdint>

namespace rfs
{

/* What the kernel asks for, by names of libfuse. */
enum class RequestKind : uint8_t {
    lookup,
    getattr,
    setattr,
    readlink,
    mknod,
    mkdir,
    unlink,
    rmdir,
    rename,
    link,
    access,
    statfs,
    open,
    create,
    release,
    read,
    write,
    fallocate,
    lseek,
    opendir,
    readdir,
    readdirplus,
    getxattr,
    setxattr,
    listxattr,
    removexattr,
    getlk,
    setlk,
    flock,
    count
};

/* Since the mount began. */
struct Counts {
    std::array<uint64_t, static_cast<size_t>(RequestKind::count)> requests{};
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
    uint64_t faults = 0; /* requests that ended with EIO, as servers or rows were at fault */
    bool solo = false;   /* the kernel may keep names and attributes, by the last answer */
};

inline constexpr const char *kOwnFolder = ".rpmfs";

/* The kernel knows the folder and its files by numbers that no file of the volume has
 * (directories.h). */
inline bool is_statistics(fuse_ino_t ino)
{
    return ino >> 32 == 1;
}

/* Has the operations count requests, and serve the folder. @operations: all that the mount has. */
void add_statistics(fuse_lowlevel_ops &operations);

} // namespace rfs
#endif
