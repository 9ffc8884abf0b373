/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torn.h: read a row again that is torn, because a client is writing it.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#ifndef FS_CORE_CHECK_TORN_H
#define FS_CORE_CHECK_TORN_H

#include <dtx/cluster.h>
#include <dtx/object.h>

#include <chrono>
#include <thread>
#include <vector>

namespace rfs
{

inline constexpr int kTornTries = 500; /* a row is torn for a microsecond or two */
inline constexpr std::chrono::microseconds kTornWait{ 200 };

/* @image: of the row, replaced. False: it stays torn. */
inline bool read_whole(const dtx::Cluster &cluster, dtx::Address address, uint32_t copy,
                       std::vector<unsigned char> &image)
{
    for (int tries = 0; tries < kTornTries; tries++) {
        if (tries > 0)
            std::this_thread::sleep_for(kTornWait);
        cluster.read_object(address, copy, image.data());
        if (dtx::is_whole(image.data(), static_cast<uint32_t>(image.size())))
            return true;
    }
    return false;
}

} // namespace rfs
#endif
