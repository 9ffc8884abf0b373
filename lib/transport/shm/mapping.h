/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mapping.h: map the memory that a server lends, once for all connections of the process. Each
 * further mapping would have page tables of its own to fill and to tear down, which takes longer
 * than connecting.
 */
#ifndef RPMI_SHM_MAPPING_H
#define RPMI_SHM_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

/* The thread sanitizer would take one-sided operations of two connections on the same bytes, which
 * checksums and versions order, for races of one program: it sees each by a mapping of its own. */
#ifdef __SANITIZE_THREAD__
#define RPMI_SHARES_MAPPINGS false
#else
#define RPMI_SHARES_MAPPINGS true
#endif

struct rpmi_mapping;

/* Map @bytes of the file @fd, which is of enum rpm_medium @medium, or share the mapping of another
 * connection. The caller owns what it gets until it gives it back. RPM_E_PROTO: the file is
 * shorter. RPM_E_NOCAP: it is not on persistent memory. RPM_E_NOMEM. Any thread. */
int rpmi_mapping_get(int fd, uint64_t bytes, uint32_t medium, struct rpmi_mapping **mapping);

/* Fill the page tables of @bytes at @at now instead of by a fault at each page's first use, unless
 * a connection has done so. As for reading: that maps 16 pages of DRAM by one fault, for writes
 * too. Any thread. */
void rpmi_mapping_populate(struct rpmi_mapping *mapping, uint64_t at, uint64_t bytes);

/* Give back; the last one unmaps. Safe on NULL. Any thread. */
void rpmi_mapping_put(struct rpmi_mapping *mapping);

/* Where the file begins. */
unsigned char *rpmi_mapping_base(const struct rpmi_mapping *mapping);

#endif
