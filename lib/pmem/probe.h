/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h: facts of a path and of this machine, read from the kernel and from libpmem2.
 *
 * Tests: tests/unit/pmem/probe_test.cpp
 */
#ifndef RPMI_PROBE_H
#define RPMI_PROBE_H

#include "pmem/backing.h"

#include <librpm/facts.h>
#include <stdint.h>

struct pmem2_map;

/* The medium of an open file; if it is unknown, @backing has the reason. */
enum rpm_medium rpmi_probe_medium(int fd, struct rpmi_backing *backing);

/* Store granularity of a mapping in bytes: 1, 64, 4096. */
uint32_t rpmi_probe_granularity(struct pmem2_map *map);

/* Domain of a medium with that granularity, before anything is declared. */
enum rpm_domain rpmi_probe_domain(enum rpm_medium medium, uint32_t granularity_bytes);

/* Domain that the NVDIMM bus reports in sysfs; RPM_DOMAIN_NONE when it reports nothing. */
enum rpm_domain rpmi_probe_bus_domain(void);

/* Node of the first RDMA device; -1: none, or unknown. */
int rpmi_probe_port_node(void);

/* DDIO state of the root ports above RDMA devices, from PCI configuration space. */
enum rpm_answer rpmi_probe_ddio(void);

#endif
