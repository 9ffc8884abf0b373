/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membarrier.c: the membarrier system call. See membarrier.h.
 *
 * Tests: tests/conform/fence_test.cpp
 */
#include "transport/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static long membarrier(int command)
{
    return syscall(__NR_membarrier, command, 0, 0);
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
