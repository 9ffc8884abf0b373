/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h: the clock of real time. A link of the device model has its own clock, see transport.h.
 *
 * Invariant: rpmi_clock_ns() never goes backwards in one thread, even if the system's clock does.
 */
#ifndef RPMI_CLOCK_H
#define RPMI_CLOCK_H

#include <stdint.h>

/* Monotonic nanoseconds. */
uint64_t rpmi_clock_ns(void);

/* Sleep about this long; may return early. */
void rpmi_clock_sleep_ns(uint64_t ns);

/* A pause inside a spin loop. */
static inline void rpmi_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* For tests: read @now_ns instead of the system's clock; NULL: the system's again. Begins a new
 * time line, in which any first value is accepted. */
void rpmi_clock_replace(uint64_t (*now_ns)(void));

#endif
