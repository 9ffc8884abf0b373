/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.h: mount a volume at a directory.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_MOUNT_H
#define FS_MOUNT_MOUNT_H

#include <dtx/cluster.h>

#include <string>

namespace rfs
{

struct MountOptions {
    std::string volume;
    std::string directory;
    std::string kernel;      /* options for the kernel, separated by commas: ro,nosuid */
    bool xattrs = false;     /* offer extended attributes */
    bool foreground = false; /* serve until unmounted; else by a process of its own */
};

/* Mounts the volume, and returns when its files can be used; in the foreground, when it has been
 * unmounted. @servers: where the volume is. A dead mount at the directory, whose daemon was killed,
 * is unmounted first. Throws dtx::Error: as open_volume(); std::runtime_error: the kernel does not
 * mount it, with what to do. */
void mount_volume(const MountOptions &options, const dtx::Options &servers);

} // namespace rfs
#endif
