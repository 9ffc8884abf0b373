/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membarrier.c: the membarrier system call. See membarrier.h.
 *
 * Tests: tests/conform/fence_test.cpp
 */
#include "transport/shm/membarrier.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static long membarrier(int command)
{
    return syscall(__NR_membarrier, command, 0, 0);
}

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

bool rpmi_membarrier_register(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

bool rpmi_membarrier_all(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}
