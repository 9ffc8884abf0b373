/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.cc: ask the kernel for time and random bytes.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#include "core/client/clock.h"

#include "core/base/assert.h"

#include <ctime>
#include <sys/random.h>

namespace rfs
{

int64_t wall_ns()
{
    timespec now{};

    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void fill_random(void *into, size_t bytes)
{
    RFS_ASSERT(bytes <= 256); /* up to which the kernel does not return less */
    ssize_t got = getrandom(into, bytes, 0);

    RFS_ASSERT(got == static_cast<ssize_t>(bytes));
}

} // namespace rfs
