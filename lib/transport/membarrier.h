/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * membarrier.h: order a store before a load of another word in two threads, by a system call in the
 * thread that does so rarely and no instruction in the thread that does so often.
 *
 * Twice in librpm one side stores A and loads B on every operation, while the other side stores B
 * and loads A rarely: a writer and the server that fences it (wire/guard.h), a client that posts
 * and an engine that goes to sleep. One of the two must see the other's store. That takes a full
 * fence on both sides; or none on the frequent side and a membarrier on the rare one, by which the
 * kernel makes every CPU that runs a registered process execute a full fence.
 */
#ifndef RPMI_MEMBARRIER_H
#define RPMI_MEMBARRIER_H

#include <stdbool.h>

/* Register this process for membarriers. False: the kernel cannot, use full fences. */
bool rpmi_membarrier_register(void);

/* The rare side. False: the kernel did not do it; the frequent side must have fenced itself. */
bool rpmi_membarrier_all(void);

/* The frequent side. @membarrier: both sides use membarrier; else this is a full fence. */
static inline void rpmi_membarrier_self(bool membarrier)
{
    if (membarrier)
        __asm__ volatile("" ::: "memory");
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
