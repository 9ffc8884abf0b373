/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.h: the performance model for operations that take several steps on the paths of a server
 * with a DPU, such as a lookup that a SoC core answers when it has fetched the value from the host.
 * Several chains may do the same thing; threads then take one of them by fixed shares, or as the
 * library's selector says. In librpm-sim, as path.h.
 */
#ifndef LIBRPM_CHAIN_H
#define LIBRPM_CHAIN_H

#include <librpm/path.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPM_CHAIN_ALTERNATIVES 8u
#define RPM_CHAIN_PHASES 4u

/* Which thread or core carries out a step, by the step's operation and path. The thread is one of
 * the chain's group: of a client for READ, WRITE and CALL on paths 1 and 2, else of the host. Paths
 * have the names of path.h, not the values of enum rpm_path: 3R is RPM_PATH_COPY_NIC, 3D
 * RPM_PATH_COPY_ENGINE (value 4), and 4 RPM_PATH_SOC_ONLY (value 5). 0: the step has no path. */
enum rpm_chain_op {
    RPM_CHAIN_READ = 0,  /* as RPM_PATH_READ: paths 1 and 2 by the thread; 3R and 3D by a SoC core,
                            from the host; 4: a SoC core waits for its own memory */
    RPM_CHAIN_WRITE = 1, /* as RPM_PATH_WRITE, by the same */
    RPM_CHAIN_CALL = 2,  /* a message, which a core takes up: paths 1 and 2 from a client, 3R from
                            the host to the SoC */
    RPM_CHAIN_REPLY = 3, /* that core's answer with a payload, by the call's path */
    RPM_CHAIN_WORK = 4,  /* busy for work_ps: a core of the host (path 1) or of the SoC (path 2), or
                            the thread (path 0) */
    RPM_CHAIN_STORE = 5, /* path 2: the thread, one of the host, stores to SoC memory over PCIe and
                            does not wait; the step ends when the bytes are there */
    RPM_CHAIN_LOAD = 6,  /* path 2: the thread, one of the host, loads from there, and waits */
    RPM_CHAIN_WAIT = 7   /* path 0: work_ps pass, and no core is busy */
};

/* The size of this struct never changes: chains have arrays of it. */
struct rpm_chain_step {
    uint32_t op;          /* enum rpm_chain_op */
    uint32_t path;        /* enum rpm_path, or 0 */
    uint64_t bytes;       /* 1 B..16 MiB; 0: 64 */
    uint64_t work_ps;     /* of WORK and WAIT; at most 1 s */
    uint64_t range_bytes; /* of memory that the step touches, from bytes to 64 GiB; 0: 1 GiB */
    uint32_t phase;       /* 0..3: the times of steps with the same number are added up */
    uint32_t pad;         /* 0 */
};

/* Steps of one operation, one after another. Its size never changes. */
struct rpm_chain {
    const struct rpm_chain_step *steps;
    uint32_t count; /* of steps; 1..16 */
    uint32_t share; /* of the group's operations, in relation to the other chains' shares */
};

/* Threads that do the same thing by one of several chains. Its size never changes. */
struct rpm_chain_group {
    const struct rpm_chain *chains; /* alternatives */
    uint32_t count;                 /* of chains; 1..8, together at most 40 steps */
    uint32_t threads;               /* 0: 1; at most 4096 */
    uint32_t depth;                 /* operations of a thread outstanding; 0: 1; at most 64 */
    uint32_t ops;                   /* to measure, at least; 0: 20 000 */
    uint32_t select;                /* 1: the library's selector takes a chain for each operation,
                                       one selector for all threads; 0: shares decide */
    uint32_t pad;                   /* 0 */
    uint64_t interval_ps;           /* as in struct rpm_path_flow */
};

struct rpm_chain_load {
    size_t size;                          /* sizeof this struct as the caller compiled it */
    const struct rpm_chain_group *groups; /* that run side by side */
    uint32_t count;                       /* of groups; 1..8 */
    uint32_t pad;                         /* 0 */
    uint64_t seed;                        /* of every choice the model makes */
};

static inline struct rpm_chain_load rpm_chain_load_init(void)
{
    struct rpm_chain_load load;

    memset(&load, 0, sizeof(load));
    load.size = sizeof(load);
    return load;
}

/* What a group's operations cost while all groups ran. Its size never changes. */
struct rpm_chain_cost {
    struct rpm_path_cost all;                 /* bytes: those of all steps */
    uint64_t ops[RPM_CHAIN_ALTERNATIVES];     /* measured operations by each chain */
    uint64_t mean_ps[RPM_CHAIN_ALTERNATIVES]; /* of these; 0 of none */
    uint64_t phase_ps[RPM_CHAIN_PHASES];      /* mean of all operations */
    uint64_t thread_ps;                       /* mean time that the thread was busy */
    uint64_t host_ps;                         /* the same of the host's other cores */
    uint64_t soc_ps;                          /* and of the SoC's cores */
};

/**
 * rpm_model_run_chains: carry out the groups' chains side by side on the platform, and return what
 * each group costs. The measured time ends when each has ended as many operations as it measures.
 *
 * @model  Borrowed.
 * @load   Borrowed until return, with its groups, chains and steps.
 * @costs  out, load.count of them, set only on 0.
 *
 * Errors:   RPM_E_INVAL (a field outside its range, an operation that its path does not have, or a
 *           path that the platform does not have), RPM_E_OPTS, RPM_E_NOMEM.
 * Threads:  one per object.
 * Cost:     about 0.1 us for each event: some ten for each 512 bytes of a step.
 * Source:   lib/sim/README.md, "Chains"; the preset's own sources.
 */
RPM_MUST_CHECK int rpm_model_run_chains(const struct rpm_model *model,
                                        const struct rpm_chain_load *load,
                                        struct rpm_chain_cost *costs);

#ifdef __cplusplus
}
#endif
#endif
