/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.c: the CPU to which a thread is bound. See cpu.h.
 *
 * Tests: tests/unit/base/cpu_test.cpp
 */
#include "base/cpu.h"

#include <sched.h>

uint32_t rpmi_bound_cpu(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) != 1)
        return 0;
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu + 1;
    return 0;
}
