/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script.h: the performance model for transactions. A script lists the remote operations of one
 * transaction, phase by phase; modelled clients carry scripts out on modelled servers. In
 * librpm-sim, as model.h.
 */
#ifndef LIBRPM_SCRIPT_H
#define LIBRPM_SCRIPT_H

#include <librpm/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word models the lock and the version of a row: operations that name the same word conflict. The
 * role says what an operation does to its word. A transaction that meets a conflict completes its
 * phase, releases the words it holds, waits (backoff_ns), and runs again from its first phase. */
enum rpm_script_role {
    RPM_ROLE_NONE = 0,
    RPM_ROLE_READ = 1, /* READ of the version: a conflict if another transaction holds the lock, or
                            changed the version since this transaction's first READ or UPDATE */
    RPM_ROLE_LOCK = 2, /* CAS that locks: a conflict if another transaction holds the lock */
    RPM_ROLE_UNLOCK = 3, /* WRITE or CAS that unlocks and changes the version, in a later phase than
                            the LOCK */
    RPM_ROLE_UPDATE = 4  /* CAS that changes the version without locking; conflicts as READ does */
};

/* One operation. The operations of a phase are adjacent in the array and are posted together; the
 * next phase begins when all of them have completed. Adjacent calls of a phase to the same server
 * are sent as one message. The size of this struct never changes: scripts are arrays of it. */
struct rpm_script_op {
    uint32_t phase;        /* first 0; then equal to, or 1 more than, that of the operation before;
                              at most 64 operations in a phase */
    uint32_t server;       /* from 0 */
    uint32_t by;           /* RPM_BY_NIC or RPM_BY_CALL */
    uint32_t op;           /* RPM_LOAD_READ, _WRITE or _CAS (8 bytes) */
    uint32_t memory;       /* enum rpm_load_memory */
    uint32_t persist;      /* enum rpm_load_persist: of a one-sided write */
    uint32_t flush_memory; /* enum rpm_load_memory: what the READ of a persist reads */
    uint32_t copy;         /* enum rpm_copy: how a core writes; 0: RPM_COPY_STREAM */
    uint32_t pattern;      /* enum rpm_load_pattern; sequential: in a log of its thread at that
                              server */
    uint32_t bytes;        /* 1 B..64 KiB */
    uint32_t pad_bytes;    /* a write's length is rounded up to this; 0: 1 */
    uint32_t align_bytes;  /* the operation begins at a multiple of this; 0: 64 */
    uint32_t word;         /* number of the word it names, 1 to load.words; 0: none. A NIC carries
                              out atomic operations on the same word one after another */
    uint32_t role;         /* enum rpm_script_role; 0 unless by is RPM_BY_NIC and word is not 0 */
};

struct rpm_script {
    const struct rpm_script_op *ops;
    uint32_t count;  /* operations; at least 1 */
    uint32_t weight; /* share of transactions that run this script, relative to the other weights;
                        0: never */
};

struct rpm_script_load {
    size_t size;                      /* sizeof this struct as the caller compiled it */
    const struct rpm_script *scripts; /* each transaction runs one, chosen at random by weight */
    uint32_t count;                   /* scripts; 1..65 536 */
    uint32_t servers;                 /* each on a machine of the preset's platform; 0: 1; at most
                                         1024 */
    uint32_t threads;                 /* of clients; 0: 1; at most 4096 */
    uint32_t coroutines;              /* of each thread, each with one transaction at a time; 0: 1;
                                         at most 64 */
    uint32_t machines;                /* client machines, over which threads are spread, each with a
                                         NIC of the same kind; 0: enough that no client machine is a
                                         bottleneck */
    uint32_t cores;                   /* of each server, that answer calls; 0: 10; at most 64 */
    uint32_t remote_socket;           /* 1: NIC and cores are on a server's remote socket */
    uint32_t ddio;                    /* enum rpm_answer; 0: as the preset says */
    uint32_t writers_max;             /* cores that may write to one module at a time; 0: any */
    uint32_t doorbells;               /* doorbell registers of each client machine, shared by its
                                         threads; 0: each thread has its own. At most 4096; needs
                                         machines */
    uint32_t outstanding_max;         /* requests that a thread has outstanding; a phase with more
                                         is sent alone; 0: no limit */
    uint32_t words;                   /* number of words that operations may name; at most 16 Mi */
    uint64_t backoff_ns;              /* wait after a conflict, plus a random part of 0 to
                                         backoff_ns; without the random part it doubles with each
                                         conflict of a transaction; 0: no wait; at most 1 s */
    uint64_t backoff_max_ns;          /* limit of the doubling; 0: backoff_ns, no doubling */
    uint64_t pause_ns;                /* of a coroutine after each transaction; at most 1 s */
    uint64_t region_bytes;            /* of a server's NVM that operations touch; 0: 1 GiB; at most
                                         64 GiB */
    uint64_t dram_bytes;              /* of a server's DRAM that operations touch; 0: 64 MiB; at
                                         most 64 GiB */
    uint64_t transactions;            /* transactions to measure, at most 16 Mi; 0: 20 000 */
    uint64_t seed;                    /* of every choice the model makes */
};

static inline struct rpm_script_load rpm_script_load_init(void)
{
    struct rpm_script_load load;

    memset(&load, 0, sizeof(load));
    load.size = sizeof(load);
    return load;
}

/**
 * rpm_model_run_scripts: carry out transactions on servers of the platform, with cold caches, and
 * return their cost. Transactions conflict only at the words that their operations name: an
 * operation without a word finds its lock free and its version unchanged.
 *
 * @model  Borrowed.
 * @load   Borrowed until return, with its scripts.
 * @cost   in: its size field; out: the rest, set only on 0. In it an operation is one transaction,
 *         from the start of its first attempt to its commit; media traffic is the sum over all
 *         servers.
 *
 * Errors:   RPM_E_INVAL (a field outside its range, or two that exclude each other), RPM_E_OPTS,
 *           RPM_E_NOMEM.
 * Threads:  one per object.
 * Cost:     0.1 to 0.5 us for each event; memory of the servers' modelled caches.
 * Source:   lib/sim/README.md, "Cost"; the preset's own sources.
 */
RPM_MUST_CHECK int rpm_model_run_scripts(const struct rpm_model *model,
                                         const struct rpm_script_load *load, struct rpm_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
