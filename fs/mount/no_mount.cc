/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_mount.cc: instead of a mount, for a build without libfuse3.
 *
 * Tests: none
 */
#include "mount/mount.h"

#include <stdexcept>

namespace rfs
{

void mount_volume(const MountOptions &, const dtx::Options &)
{
    throw std::runtime_error(
        "rpm-fs was built without libfuse3: install libfuse3-dev, and build it "
        "again");
}

} // namespace rfs
