/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numa.h: find the NUMA node of memory, and bind memory to a node. numa.c calls libnuma; no_numa.c
 * replaces it if LIBRPM_NUMA is OFF.
 *
 * Tests: tests/unit/pmem/probe_test.cpp, tests/unit/serve/server_test.cpp
 */
#ifndef RPMI_NUMA_H
#define RPMI_NUMA_H

#include <stdint.h>

/* NUMA node of the page at @ptr, which was touched before; -1: unknown. */
int rpmi_numa_node_of(const void *ptr);

/* Allocate the pages of [@base, @base + @bytes) on @node. RPM_E_INVAL: there is no such node;
 * RPM_E_NOCAP: this build has no libnuma. */
int rpmi_numa_bind(void *base, uint64_t bytes, int node);

#endif
