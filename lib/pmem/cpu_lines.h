/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_lines.h: the interface between the choice of instructions (cpu_choose.c), the general copy
 * (cpu_copy.c), and the loops that store whole lines with the instructions of one CPU architecture
 * (cpu_x86.c, cpu_arm64.c).
 */
#ifndef RPMI_CPU_LINES_H
#define RPMI_CPU_LINES_H

#include "pmem/cpu_copy.h"

/* What to write: head, then body, then zeros. */
struct rpmi_gather {
    const unsigned char *head;
    size_t head_bytes;
    const unsigned char *body;
    size_t body_bytes;
};

/* Write whole lines: @dst aligned to 64, @len a multiple of 64 and not 0. */
typedef void rpmi_lines_fn(void *dst, const struct rpmi_gather *from, size_t len);

/* The general case: edges by plain stores and flushes, the lines between them by @lines. */
void rpmi_edges_write(void *dst, const struct rpmi_gather *source, size_t len,
                      rpmi_lines_fn *lines);

/* All of it by plain stores and a flush. */
void rpmi_store_write(void *dst, const struct rpmi_gather *source, size_t len);

/* The same for one head and body: rpmi_cpu.nt_write of a CPU without non-temporal stores. */
rpmi_write_fn rpmi_flushed_write;

/* Set rpmi_cpu to the best instructions that this CPU and the operating system have, but none above
 * @best. */
void rpmi_cpu_choose_native(enum rpmi_cpu_copy best);

#if defined(__aarch64__)
/* Take the flush that these bits of AT_HWCAP and AT_HWCAP2 allow. False: there is none. */
bool rpmi_cpu_flush_arm64(unsigned long hwcap, unsigned long hwcap2);
#endif

#endif
