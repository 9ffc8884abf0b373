/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.h: how two sides on one machine stay out of each other's way, beginning with a store
 * followed by a load of something else, ordered at the cost of the rare side.
 *
 * Twice here one side stores A and loads B on every operation, while the other stores B and loads
 * A once in a while: a writer against a claimer (guard.h), a poster against a sleeper. Each must
 * see the other's store, or the other its own. That takes a full fence on both sides, or none on
 * the frequent side and a membarrier on the rare one, which makes every CPU that runs a registered
 * process go through a full fence.
 */
#ifndef RPMI_SHM_ORDER_H
#define RPMI_SHM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The CPU that this thread is bound to, plus 1; 0 if it may run on several. Two sides bound to the
 * same one must not spin: whoever does keeps the other from working. */
uint32_t rpmi_order_cpu(void);

/* Register this process. False: the kernel cannot, use full fences. */
bool rpmi_order_register(void);

/* The rare side. False: the kernel did not do it; the frequent side must have fenced itself. */
bool rpmi_order_all(void);

/* The frequent side. @light: both sides agreed on membarrier. */
static inline void rpmi_order_self(bool light)
{
    if (light)
        __asm__ volatile("" ::: "memory");
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
