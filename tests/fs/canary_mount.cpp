// SPDX-License-Identifier: BSD-3-Clause
// canary_mount.cpp: mounts a volume with a rule of the mount removed (fs/core/base/canary.h), for
// tests/fs/canary_test.
//
//   fs_canary_mount none|timeout-shared|append-kernel-offset VOLUME DIRECTORY URL...
#include "core/base/canary.h"
#include "mount/mount.h"

#include <cstdio>
#include <exception>
#include <map>
#include <string>

int main(int argc, char **argv)
{
    const std::map<std::string, rfs::Canary> names = {
        { "none", rfs::Canary::none },
        { "timeout-shared", rfs::Canary::timeout_shared },
        { "append-kernel-offset", rfs::Canary::append_kernel_offset },
    };
    auto canary = argc > 4 ? names.find(argv[1]) : names.end();
    rfs::MountOptions options;
    dtx::Options servers;

    if (canary == names.end())
        return fprintf(stderr, "usage: fs_canary_mount CANARY VOLUME DIRECTORY URL...\n"), 2;
    rfs::canary_now = canary->second;
    options.volume = argv[2];
    options.directory = argv[3];
    servers.urls.assign(argv + 4, argv + argc);
    try {
        rfs::mount_volume(options, servers);
    } catch (const std::exception &error) {
        return fprintf(stderr, "%s\n", error.what()), 1;
    }
    return 0;
}
