/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numa.c: NUMA nodes, by libnuma.
 *
 * Tests: tests/unit/pmem/probe_test.cpp, tests/unit/serve/server_test.cpp
 */
#include "pmem/numa.h"

#include "base/err.h"

#include <numa.h>
#include <numaif.h>
#include <stddef.h>

int rpmi_numa_node_of(const void *ptr)
{
    int node = -1;

    if (numa_available() < 0)
        return -1;
    if (get_mempolicy(&node, NULL, 0, (void *)(uintptr_t)ptr, MPOL_F_NODE | MPOL_F_ADDR) != 0)
        return -1;
    return node;
}

int rpmi_numa_bind(void *base, uint64_t bytes, int node)
{
    if (numa_available() < 0 || node > numa_max_node() || node < 0)
        return rpmi_fail(RPM_E_INVAL, "this machine has no NUMA node %d; its nodes are 0..%d", node,
                         numa_max_node());
    numa_tonode_memory(base, bytes, node);
    return 0;
}
