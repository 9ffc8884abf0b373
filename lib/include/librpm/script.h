/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script.h: what transactions cost on a modelled platform. A script is what one transaction does
 * far away, phase after phase; clients carry scripts out on several modelled servers.
 */
#ifndef LIBRPM_SCRIPT_H
#define LIBRPM_SCRIPT_H

#include <librpm/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operation does to the word it names. A transaction that fails at a word ends its phase,
 * gives back what it holds, rests, and begins anew. */
enum rpm_script_role {
    RPM_ROLE_NONE = 0,
    RPM_ROLE_LOOK = 1, /* READ: fails if another transaction holds the word, or if one has changed
                          it since this transaction first looked at it */
    RPM_ROLE_TAKE = 2, /* CAS: takes the word; fails if another transaction holds it */
    RPM_ROLE_GIVE = 3, /* WRITE or CAS: gives it back, changed */
    RPM_ROLE_SWAP = 4  /* CAS: changes the word, without holding it; fails as LOOK does */
};

/* One operation. Those of a phase stand side by side and are posted together; the next phase begins
 * when all have ended. Calls of a phase that stand side by side, to one server, are one message. No
 * field is ever added: scripts are arrays of these. */
struct rpm_script_op {
    uint32_t phase;        /* 0, then the same or one more; at most 64 operations in each */
    uint32_t server;       /* from 0 */
    uint32_t by;           /* RPM_BY_NIC or RPM_BY_CALL */
    uint32_t op;           /* RPM_LOAD_READ, _WRITE or _CAS (8 bytes) */
    uint32_t memory;       /* enum rpm_load_memory */
    uint32_t persist;      /* enum rpm_load_persist: of a one-sided write */
    uint32_t flush_memory; /* enum rpm_load_memory: what the READ of a persist reads */
    uint32_t copy;         /* enum rpm_copy: how a core writes; 0: RPM_COPY_STREAM */
    uint32_t pattern;      /* enum rpm_load_pattern; sequential: in its thread's own log there */
    uint32_t bytes;        /* 1 B..64 KiB */
    uint32_t pad_bytes;    /* a write's length is rounded up to this; 0: 1 */
    uint32_t align_bytes;  /* it begins at a multiple of this; 0: 64 */
    uint32_t word;         /* that other transactions touch too, 1 to load.words; 0: none. A NIC
                              carries out atomics on one word one after another */
    uint32_t role;         /* enum rpm_script_role; of one-sided operations with a word */
};

struct rpm_script {
    const struct rpm_script_op *ops;
    uint32_t count;  /* of them; at least 1 */
    uint32_t weight; /* how often, against the other scripts; 0: never */
};

struct rpm_script_load {
    size_t size;                      /* sizeof this struct as the caller compiled it */
    const struct rpm_script *scripts; /* drawn at random, by their weights */
    uint32_t count;                   /* of them; 1..65 536 */
    uint32_t servers;                 /* machines, each a platform of its own; 0: 1; at most 64 */
    uint32_t threads;                 /* of clients; 0: 1; at most 4096 */
    uint32_t coroutines;              /* of each, a transaction at a time; 0: 1; at most 64 */
    uint32_t machines;                /* that the threads are spread over, each with a NIC of the
                                         same kind; 0: enough of them for none to be a bottleneck */
    uint32_t cores;                   /* of each server, for calls; 0: 10; at most 64 */
    uint32_t far;                     /* 1: NIC and cores do not own the servers' memory */
    uint32_t ddio;                    /* enum rpm_answer; 0: as the preset says */
    uint32_t writers_max;             /* cores that may write to one module at a time; 0: any */
    uint32_t doorbells;               /* of each machine, that its threads share; 0: one a thread */
    uint32_t outstanding_max;         /* requests that a thread has under way at a time, or one
                                         phase, if that has more; 0: any number */
    uint32_t words;                   /* that operations name; at most 16 Mi */
    uint64_t backoff_ns;              /* rest after a failure: this, and up to as much again by
                                         chance; the first part doubles with each failure of one
                                         transaction; 0: none; at most 1 s */
    uint64_t backoff_max_ns;          /* that the first part grows to; 0: backoff_ns */
    uint64_t pause_ns;                /* of a coroutine after each transaction; at most 1 s */
    uint64_t region_bytes;            /* of a server that are touched; 0: 1 GiB; at most 64 GiB */
    uint64_t dram_bytes;              /* the same of its DRAM; 0: 64 MiB; at most 64 GiB */
    uint64_t transactions;            /* to measure, at most 16 Mi; 0: 20 000 */
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
 * rpm_model_run_scripts: carry out transactions on servers of the platform, from cold, and say what
 * they took. Transactions fail at the words that their operations name, at nothing else: without
 * words each finds its locks free and what it read unchanged.
 *
 * @model  Borrowed.
 * @load   Borrowed until return, with its scripts.
 * @cost   in: its size field; out: the rest, set only on 0. Operations are transactions here, from
 *         their first attempt to their end; the media are those of all servers.
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
