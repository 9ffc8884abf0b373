/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h: the performance model for the paths of a server with a DPU: clients that reach the host's
 * memory or the SoC's through one NIC, and copies between the two, side by side. In librpm-sim, as
 * model.h.
 */
#ifndef LIBRPM_PATH_H
#define LIBRPM_PATH_H

#include <librpm/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_path {
    RPM_PATH_HOST = 1,        /* client, NIC, host memory */
    RPM_PATH_SOC = 2,         /* client, NIC, SoC memory */
    RPM_PATH_COPY_NIC = 3,    /* 3R: SoC and host memory, by RDMA through the NIC */
    RPM_PATH_COPY_ENGINE = 4, /* 3D: SoC and host memory, by the SoC's copy engine */
    RPM_PATH_SOC_ONLY = 5     /* 4: a SoC core and SoC memory */
};

enum rpm_path_op {
    RPM_PATH_READ = 0,  /* of a copy: from the host to the SoC */
    RPM_PATH_WRITE = 1, /* of a copy: from the SoC to the host */
    RPM_PATH_SEND = 2   /* a message that a core of the path's end answers; paths 1 and 2 */
};

/* Operations of one kind, each posted when another ends. The size of this struct never changes:
 * loads have arrays of it. */
struct rpm_path_flow {
    uint32_t path;    /* enum rpm_path */
    uint32_t op;      /* enum rpm_path_op */
    uint32_t threads; /* of clients, or of the SoC; 0: 1; at most 4096 */
    uint32_t depth;   /* operations of a thread outstanding; 0: 1; at most 64 */
    uint64_t bytes;   /* of an operation, 1 B..16 MiB; 0: 64 */
    uint64_t
        piece_bytes; /* an operation is posted in pieces of this; 0: as a whole; at least 512 */
    uint32_t pieces; /* pieces of an operation outstanding; 0: 4; at most 16 */
    uint32_t ops;    /* to measure, at least; 0: what moves 64 MiB, 16..20 000 */
    uint64_t range_bytes; /* of memory that operations touch, from bytes to 64 GiB; 0: 1 GiB */
    uint64_t interval_ps; /* a thread starts an operation no sooner than this after the one
                             before; 0: as soon as it can; at most 1 s */
};

struct rpm_path_load {
    size_t size;                       /* sizeof this struct as the caller compiled it */
    const struct rpm_path_flow *flows; /* that run side by side */
    uint32_t count;                    /* of flows; 1..8 */
    uint32_t pad;                      /* 0 */
    uint64_t seed;                     /* of every choice the model makes */
};

static inline struct rpm_path_load rpm_path_load_init(void)
{
    struct rpm_path_load load;

    memset(&load, 0, sizeof(load));
    load.size = sizeof(load);
    return load;
}

/* What a flow's operations cost while all flows ran. Its size never changes. */
struct rpm_path_cost {
    uint64_t ops;         /* that ended in the measured time */
    uint64_t duration_ps; /* the measured time, the same of all flows */
    uint64_t bytes;       /* of these operations */
    uint64_t p50_ps;      /* latency of an operation, by nearest rank */
    uint64_t p99_ps;
    uint64_t max_ps;
    uint64_t mean_ps;
    uint64_t pcie0_bytes; /* data between switch and host, in both directions */
    uint64_t pcie1_bytes; /* data between NIC and switch, in both directions */
};

/**
 * rpm_model_run_paths: carry out the flows side by side on the platform, and return what each
 * costs. The measured time ends when each flow has ended as many operations as it measures.
 *
 * @model  Borrowed.
 * @load   Borrowed until return, with its flows.
 * @costs  out, load.count of them, set only on 0.
 *
 * Errors:   RPM_E_INVAL (a field outside its range, two that exclude each other, or a path that the
 *           platform does not have), RPM_E_OPTS, RPM_E_NOMEM.
 * Threads:  one per object.
 * Cost:     about 0.1 us for each event: some ten for each 512 bytes of an operation.
 * Source:   lib/sim/README.md, "Paths"; the preset's own sources.
 */
RPM_MUST_CHECK int rpm_model_run_paths(const struct rpm_model *model,
                                       const struct rpm_path_load *load,
                                       struct rpm_path_cost *costs);

#ifdef __cplusplus
}
#endif
#endif
