/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_arm64.c: the arm64 flush: clean each cache line to the point of persistence.
 *
 * The CPU has DC CVAP if the kernel reports HWCAP_DCPOP, and DC CVADP, whose bytes survive even the
 * loss of a backup supply, if it reports HWCAP2_DCPODP. If it reports neither, this CPU cannot
 * bring lines to persistent memory and rpmi_cpu.can_flush stays false: a pool in the domain ADR is
 * then refused.
 *
 * Copies are plain stores that are cleaned line by line: STNP is a hint that may leave the bytes in
 * the cache, so it saves no clean. Cleaning completes at a DSB; a DMB would only order it.
 *
 * Tests: tests/unit/pmem/cpu_arm64_test.cpp, tests/unit/pmem/cpu_copy_test.cpp
 */
#if defined(__aarch64__)

#include "pmem/cpu_lines.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

/* SYS encodings: the names need an assembler for armv8.2-a and armv8.5-a. */
#define DC_CVAP "sys #3, c7, c12, #1, %0"
#define DC_CVADP "sys #3, c7, c13, #1, %0"

/* Bytes that one clean covers at least: CTR_EL0.DminLine is the logarithm of a count of words. */
static inline uintptr_t clean_bytes(void)
{
    uint64_t ctr;

    __asm__("mrs %0, ctr_el0" : "=r"(ctr));
    return (uintptr_t)4 << ((ctr >> 16) & 15);
}

static void flush_cvap(const void *ptr, size_t len)
{
    uintptr_t step = clean_bytes();
    uintptr_t end = (uintptr_t)ptr + len;

    for (uintptr_t at = (uintptr_t)ptr & ~(step - 1); at < end; at += step)
        __asm__ volatile(DC_CVAP : : "r"(at) : "memory");
}

static void flush_cvadp(const void *ptr, size_t len)
{
    uintptr_t step = clean_bytes();
    uintptr_t end = (uintptr_t)ptr + len;

    for (uintptr_t at = (uintptr_t)ptr & ~(step - 1); at < end; at += step)
        __asm__ volatile(DC_CVADP : : "r"(at) : "memory");
}

bool rpmi_cpu_flush_arm64(unsigned long hwcap, unsigned long hwcap2)
{
    rpmi_cpu.can_flush = true;
    if ((hwcap2 & HWCAP2_DCPODP) != 0) {
        rpmi_cpu.flush = flush_cvadp;
        rpmi_cpu.flush_name = "dc cvadp";
    } else if ((hwcap & HWCAP_DCPOP) != 0) {
        rpmi_cpu.flush = flush_cvap;
        rpmi_cpu.flush_name = "dc cvap";
    } else {
        rpmi_cpu.can_flush = false;
    }
    return rpmi_cpu.can_flush;
}

void rpmi_cpu_choose_native(enum rpmi_cpu_copy best)
{
    (void)best; /* there is one kind of copy */
    (void)rpmi_cpu_flush_arm64(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

#endif
