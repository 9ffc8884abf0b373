/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.h: a page in which a client reads, without a system call, whether the server lives.
 *
 * It holds a robust mutex that the server's control thread keeps locked. However that thread dies,
 * the kernel walks its list of robust mutexes and marks the first word of each (FUTEX_OWNER_DIED,
 * and the owner's id cleared). At a clean end the thread unlocks it: the word is then 0. So the
 * server lives exactly while the word holds a thread id, which a client sees by one load.
 *
 * Clients map the page read only; the memory file is sealed against writers other than the server.
 */
#ifndef RPMI_SHM_LIVENESS_H
#define RPMI_SHM_LIVENESS_H

#include "base/limits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct rpmi_liveness {
    pthread_mutex_t life; /* its first int is the futex word, in glibc and in musl's ABI alike */
    __attribute__((aligned(RPMI_LINE_BYTES)))
    uint32_t engine_sleeps; /* 1: the engine sleeps: a client notifies it after a post */
    uint32_t engine_cpu;    /* the CPU to which the engine is bound, plus 1; 0: several */
    uint32_t membarrier;    /* 1: the server uses membarrier, see membarrier.h */
    uint32_t events;        /* 1: the engine sends events to a ring client that asks by
                               RPMI_WAITS_EVENT */
};

_Static_assert(sizeof(struct rpmi_liveness) <= RPMI_PAGE_BYTES, "one page");

/* Server: the page, and a descriptor of it to hand out. RPM_E_NOMEM. */
int rpmi_liveness_open(struct rpmi_liveness **liveness, int *fd);

/* Server: unmap and close. Safe on NULL and -1. */
void rpmi_liveness_close(struct rpmi_liveness *liveness, int fd);

/* Server: from now on rpmi_liveness_alive() is true for clients, until this thread calls
 * rpmi_liveness_end() or dies. */
void rpmi_liveness_begin(struct rpmi_liveness *liveness);
void rpmi_liveness_end(struct rpmi_liveness *liveness);

/* Client: map what the server handed out. RPM_E_PROTO: it is not such a page. RPM_E_NOMEM. */
int rpmi_liveness_map(int fd, const struct rpmi_liveness **liveness);

void rpmi_liveness_unmap(const struct rpmi_liveness *liveness);

static inline uint32_t rpmi_liveness_word(const struct rpmi_liveness *liveness)
{
    return __atomic_load_n((const uint32_t *)(const void *)&liveness->life, __ATOMIC_ACQUIRE);
}

static inline bool rpmi_liveness_alive(const struct rpmi_liveness *liveness)
{
    return (rpmi_liveness_word(liveness) & FUTEX_TID_MASK) != 0;
}

#endif
