/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h: the time of day and random bytes, from the kernel.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#ifndef FS_CORE_CLIENT_CLOCK_H
#define FS_CORE_CLIENT_CLOCK_H

#include <cstddef>
#include <cstdint>

namespace rfs
{

/* Nanoseconds since 1970 began, UTC. */
int64_t wall_ns();

void fill_random(void *into, size_t bytes);

#ifdef RFS_TESTING
/* From now on random bytes follow from @seed alone, and the time of day is a fixed one that passes
 * by @tick_ns with each look at it. */
void set_clock(uint64_t seed, int64_t tick_ns);
#endif

} // namespace rfs
#endif
