/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_numa.c: replaces numa.c in a build without libnuma.
 *
 * Tests: tests/unit/serve/server_test.cpp, in preset nordma
 */
#include "pmem/numa.h"

#include "base/err.h"

int rpmi_numa_node_of(const void *ptr)
{
    (void)ptr;
    return -1;
}

int rpmi_numa_bind(void *base, uint64_t bytes, int node)
{
    (void)base, (void)bytes;
    return rpmi_fail(RPM_E_NOCAP,
                     "cannot bind memory to NUMA node %d: librpm was built without libnuma; build "
                     "it with -DLIBRPM_NUMA=ON, or bind the server (numactl --membind)",
                     node);
}
