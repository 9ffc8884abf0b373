/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h: the performance model: the throughput, latencies and media traffic of a load on a
 * modelled platform. It moves no bytes; the same preset and load give the same result on any
 * machine. The device model, which computes the bytes that survive a power cut, is <librpm/sim.h>.
 * Both are in librpm-sim.
 */
#ifndef LIBRPM_MODEL_H
#define LIBRPM_MODEL_H

#include <librpm/facts.h>
#include <librpm/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The processor that carries an operation out. */
enum rpm_load_by {
    RPM_BY_CORE = 0, /* cores of the server, on its own memory */
    RPM_BY_NIC = 1,  /* clients, one-sided */
    RPM_BY_CALL = 2  /* clients send a message; cores of the server carry the operation out and
                        reply */
};

enum rpm_load_op {
    RPM_LOAD_READ = 0,
    RPM_LOAD_WRITE = 1,
    RPM_LOAD_CAS = 2, /* 8 bytes, one-sided */
    RPM_LOAD_MIX = 3  /* reads, and write_percent of writes */
};

/* How a client makes a one-sided write persistent, and what it waits for. */
enum rpm_load_persist {
    RPM_PERSIST_NONE = 0, /* does not; waits for the completion of the WRITE */
    RPM_PERSIST_WAIT = 1, /* waits for the WRITE, posts a READ and waits for it: two round trips */
    RPM_PERSIST_CHAIN = 2 /* posts WRITE and READ together: one round trip */
};

enum rpm_load_memory { RPM_LOAD_NVM = 0, RPM_LOAD_DRAM = 1 };
enum rpm_load_pattern {
    RPM_LOAD_RANDOM = 0,
    RPM_LOAD_SEQUENTIAL = 1, /* each thread in its own area; in a mix it reads one area and writes
                                another */
    RPM_LOAD_APPEND = 2      /* all threads in one area: an operation takes the next address when it
                                reaches the server's NIC, as from a shared receive queue, or when a
                                core begins it */
};

struct rpm_load {
    size_t size;            /* sizeof this struct as the caller compiled it */
    uint32_t by;            /* enum rpm_load_by */
    uint32_t op;            /* enum rpm_load_op */
    uint32_t write_percent; /* RPM_LOAD_MIX: 0..100 */
    uint32_t copy;          /* enum rpm_copy: how a core writes; 0: RPM_COPY_STREAM */
    uint32_t persist;       /* enum rpm_load_persist */
    uint32_t memory;        /* enum rpm_load_memory: that is read, written or swapped */
    uint32_t flush_memory;  /* enum rpm_load_memory: what the READ of a persist reads */
    uint32_t pattern;       /* enum rpm_load_pattern */
    uint32_t passes;        /* over a thread's area, RPM_LOAD_SEQUENTIAL: each pass accesses the
                               next @bytes of what @align_bytes sets apart; 0: 1 */
    uint32_t words;         /* RPM_LOAD_CAS: so many words, each in its own line, one atomic at a
                               time on each; 0: any words of the region, at the same time */
    uint64_t bytes;         /* of an operation, 1 B..1 MiB; 0: 64 */
    uint64_t fence_bytes;  /* a core fences after this many; 0: each operation; UINT64_MAX: never */
    uint64_t pad_bytes;    /* a write's length is rounded up to this; 0: 1 */
    uint64_t align_bytes;  /* operations do not overlap, and start at multiples of this; 0: 64 */
    uint64_t skew_bytes;   /* plus this many bytes; 0..4095 */
    uint64_t region_bytes; /* that operations touch; 0: 1 GiB; at most 64 GiB */
    uint32_t threads;      /* clients' threads, or cores; 0: 1; at most 4096 (cores: 64) */
    uint32_t depth;        /* operations of one thread outstanding; 0: 1; at most 64. Cores: 1 */
    uint32_t cores;        /* RPM_BY_CALL: server cores that serve; 0: 10 */
    uint32_t remote_socket; /* 1: NIC and cores are on the socket that does not own the memory */
    uint32_t ddio;          /* enum rpm_answer; 0: as the preset says */
    uint32_t use_dimms;     /* modules that a thread uses; 0: all, and operations may span two */
    uint32_t own_dimms;   /* with use_dimms; 0: all threads use the first ones; 1: each thread uses
                              those that follow the ones of the thread before, and then the first */
    uint32_t writers_max; /* cores that may write to one module at a time, by the first
                              line of an operation; 0: any number */
    uint64_t interval_ps; /* a thread starts an operation no sooner than this after the one
                               before; 0: as soon as it can */
    uint64_t ops;         /* operations to measure, at most 16 Mi; 0: 20 000 */
    uint64_t seed;        /* of every choice the model makes */
};

static inline struct rpm_load rpm_load_init(void)
{
    struct rpm_load load;

    memset(&load, 0, sizeof(load));
    load.size = sizeof(load);
    return load;
}

/* The cost of a load, in modelled time. A 0 is a result: no field is left out. */
struct rpm_cost {
    size_t size;          /* sizeof this struct as the caller compiled it */
    uint64_t ops;         /* measured, after the warm-up */
    uint64_t duration_ps; /* of the measured operations */
    uint64_t bytes;       /* that operations asked for */
    uint64_t p50_ps;      /* latency of an operation, by nearest rank */
    uint64_t p90_ps;
    uint64_t p99_ps;
    uint64_t p999_ps;
    uint64_t max_ps;
    uint64_t mean_ps;
    uint64_t media_read_bytes; /* by all modules of the pool */
    uint64_t media_write_bytes;
    uint64_t module_read_bytes; /* that memory controllers asked modules for */
    uint64_t module_write_bytes;
    uint64_t partial_words; /* inbound writes of less than 64 bytes of a line */
    uint64_t events;        /* events of the model, warm-up included */
    uint64_t requests;      /* of scripts' clients: messages that they sent */
    uint64_t failures;      /* scripts: attempts of transactions that met a conflict */
};

static inline struct rpm_cost rpm_cost_init(void)
{
    struct rpm_cost cost;

    memset(&cost, 0, sizeof(cost));
    cost.size = sizeof(cost);
    return cost;
}

/* A number of a preset. The strings are valid until rpm_model_close(). */
struct rpm_model_number {
    const char *name;
    const char *value;  /* as in the preset's file, with its unit */
    const char *source; /* publication, data sheet or measurement that the value is from */
    const char *what;
};

struct rpm_model;

/**
 * rpm_model_open: load a preset, which describes a platform.
 *
 * @preset  a preset's name, or the path of a preset file (it contains a '/'), with numbers replaced
 *          after commas: "hints", "hints,dimms=1 dimms", "./mine.preset". NULL: "hints". Borrowed
 *          until return.
 * @model   out, set only on 0. Taken by the caller: rpm_model_close().
 *
 * Errors:   RPM_E_INVAL (rpm_last_error() names file, line and what is wrong), RPM_E_NOENT,
 *           RPM_E_IO, RPM_E_NOMEM.
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_model_open(const char *preset, struct rpm_model **model);

/**
 * rpm_model_close: free the model. Safe on NULL; sets @model to NULL.
 *
 * @model  Taken.
 *
 * Threads:  one per object.
 */
void rpm_model_close(struct rpm_model **model);

/**
 * rpm_model_facts: the facts that a link to such a platform reports.
 *
 * @model  Borrowed.
 * @facts  out.
 *
 * Threads:  one per object.
 */
void rpm_model_facts(const struct rpm_model *model, struct rpm_facts *facts);

/**
 * rpm_model_param: a number of the preset; count @index up from 0 to list all of them.
 *
 * @model  Borrowed.
 * @index  from 0.
 * @param  out, set only on 0.
 *
 * Errors:   RPM_E_NOENT (@index is past the last one).
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_model_param(const struct rpm_model *model, uint32_t index,
                                   struct rpm_model_number *param);

/**
 * rpm_model_run: carry out a load on the platform, with cold caches, and return its cost.
 *
 * @model  Borrowed.
 * @load   NULL: defaults. Borrowed until return.
 * @cost   in: its size field; out: the rest, set only on 0.
 *
 * Errors:   RPM_E_INVAL (a field outside its range, or two that exclude each other), RPM_E_OPTS,
 *           RPM_E_NOMEM.
 * Threads:  one per object.
 * Cost:     0.1 to 0.5 us for each event; memory of the modelled caches.
 * Source:   lib/sim/README.md, "Cost"; the preset's own sources.
 */
RPM_MUST_CHECK int rpm_model_run(const struct rpm_model *model, const struct rpm_load *load,
                                 struct rpm_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
