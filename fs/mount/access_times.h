/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * access_times.h: does a mount set the times of last access? The kernel leaves that to the daemon
 * of a FUSE mount, and does not tell it of options: they are those of /proc/self/mountinfo.
 *
 * As on other file systems (relatime), reading sets the time only if it is not later than those of
 * the last changes, or a day old; so a file that is read again and again costs one transaction.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_ACCESS_TIMES_H
#define FS_MOUNT_ACCESS_TIMES_H

#include <cstdint>
#include <string>

namespace rfs
{

class AccessTimes
{
  public:
    /* @directory: where a file system was just mounted, an absolute path. */
    explicit AccessTimes(const std::string &directory);

    /* About once a second: options may have changed (mount -o remount). */
    void look();
    bool of_files() const
    {
        return files_;
    }
    bool of_directories() const
    {
        return directories_;
    }

  private:
    std::string mount_; /* its number; empty: not found, so no times are set */
    bool files_ = false;
    bool directories_ = false;
};

} // namespace rfs
#endif
