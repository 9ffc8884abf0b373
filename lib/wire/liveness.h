/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.h: the liveness page, which the clients of shm: map, read only: a client reads there,
 * without a system call, whether the server lives and what its engine does.
 *
 * It holds a robust mutex that the server's control thread keeps locked. However that thread dies,
 * the kernel walks its list of robust mutexes and marks the first word of each (FUTEX_OWNER_DIED,
 * and the owner's id cleared). At a clean end the thread unlocks it: the word is then 0. So the
 * server lives exactly while the word holds a thread id, which a client sees by one load.
 *
 * Format: FORMAT.md, section 8.   Tests: tests/golden/, tests/unit/transport/shm/liveness_test.cpp
 */
#ifndef RPMI_LIVENESS_H
#define RPMI_LIVENESS_H

#include "base/limits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpmi_liveness {
    pthread_mutex_t holder; /* its first int is the futex word, in glibc and in musl's ABI alike */
    __attribute__((aligned(RPMI_LINE_BYTES)))
    uint32_t engine_sleeps; /* 1: the engine sleeps: a client notifies it after a post */
    uint32_t engine_cpu;    /* the CPU to which the engine is bound, plus 1; 0: several */
    uint32_t membarrier;    /* 1: the server uses membarrier, see transport/membarrier.h */
    uint32_t events;        /* 1: the engine sends events to a ring client that asks by
                               RPMI_WAITS_EVENT */
};

_Static_assert(sizeof(pthread_mutex_t) <= RPMI_LINE_BYTES, "the mutex has a line of its own");
_Static_assert(offsetof(struct rpmi_liveness, engine_sleeps) == RPMI_LINE_BYTES, "second line");
_Static_assert(sizeof(struct rpmi_liveness) == 2 * RPMI_LINE_BYTES, "two lines");

static inline uint32_t rpmi_liveness_word(const struct rpmi_liveness *liveness)
{
    return __atomic_load_n((const uint32_t *)(const void *)&liveness->holder, __ATOMIC_ACQUIRE);
}

static inline bool rpmi_liveness_alive(const struct rpmi_liveness *liveness)
{
    return (rpmi_liveness_word(liveness) & FUTEX_TID_MASK) != 0;
}

#endif
