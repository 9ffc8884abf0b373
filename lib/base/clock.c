/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c: real time that never goes backwards in a thread, even if the system's clock does.
 *
 * Each thread keeps the last value that it returned as a floor. When a test replaces the clock, a
 * new time line begins and the floor is dropped: else a test clock that starts at 0, or the
 * system's clock after a test clock that ran ahead of it, would stand still at the old floor.
 *
 * Tests: tests/unit/base/clock_test.cpp
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#define NS_PER_S 1000000000ull

static _Atomic(uint64_t (*)(void)) replacement;
static atomic_uint time_line; /* how many replacements of the clock there were */

static _Thread_local uint64_t floor_ns;
static _Thread_local unsigned floor_time_line;

static uint64_t system_ns(void);

uint64_t rpmi_clock_ns(void)
{
    unsigned current = atomic_load_explicit(&time_line, memory_order_acquire);
    uint64_t (*now_ns)(void) = atomic_load_explicit(&replacement, memory_order_relaxed);
    uint64_t now = now_ns != NULL ? now_ns() : system_ns();

    if (current == floor_time_line && now < floor_ns)
        return floor_ns;
    floor_time_line = current;
    floor_ns = now;
    return now;
}

void rpmi_clock_sleep_ns(uint64_t ns)
{
    struct timespec span = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };

    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

void rpmi_clock_replace(uint64_t (*now_ns)(void))
{
    atomic_store(&replacement, now_ns);
    atomic_fetch_add_explicit(&time_line, 1, memory_order_release);
}

static uint64_t system_ns(void)
{
    struct timespec now = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
