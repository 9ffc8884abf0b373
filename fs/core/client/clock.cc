/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.cc: ask the kernel for time and random bytes.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#include "core/client/clock.h"

#include "core/base/assert.h"

#ifdef RFS_TESTING
#include <dtx/scheduler.h>

#include <cstring>
#include <optional>
#endif
#include <ctime>
#include <sys/random.h>

namespace rfs
{

#ifdef RFS_TESTING
namespace
{

struct TestClock {
    dtx::SplitMix64 random;
    int64_t now_ns;
    int64_t tick_ns;
};

std::optional<TestClock> test_clock;

} // namespace

void set_clock(uint64_t seed, int64_t tick_ns)
{
    test_clock = TestClock{ dtx::SplitMix64(seed), 1000000000ll * 1000000000, tick_ns };
}
#endif

int64_t wall_ns()
{
    timespec now{};

#ifdef RFS_TESTING
    if (test_clock)
        return test_clock->now_ns += test_clock->tick_ns;
#endif
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void fill_random(void *into, size_t bytes)
{
    RFS_ASSERT(bytes <= 256); /* up to which the kernel does not return less */
#ifdef RFS_TESTING
    if (test_clock) {
        for (size_t at = 0; at < bytes; at++)
            static_cast<unsigned char *>(into)[at] =
                static_cast<unsigned char>(test_clock->random.below(256));
        return;
    }
#endif
    ssize_t got = getrandom(into, bytes, 0);

    RFS_ASSERT(got == static_cast<ssize_t>(bytes));
}

} // namespace rfs
