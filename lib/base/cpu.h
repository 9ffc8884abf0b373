/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.h: the CPU to which a thread is bound. When a client and the engine of its server are bound
 * to the same CPU, neither may spin: it would keep the other from running.
 */
#ifndef RPMI_CPU_H
#define RPMI_CPU_H

#include <stdint.h>

/* The CPU that this thread is bound to, plus 1; 0 if it may run on several. */
uint32_t rpmi_bound_cpu(void);

#endif
