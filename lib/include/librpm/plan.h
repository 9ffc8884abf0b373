/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h: the plan for a request: which hints apply, and by which method and operations the request
 * is carried out.
 */
#ifndef LIBRPM_PLAN_H
#define LIBRPM_PLAN_H

#include <librpm/facts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bit (1 << k) is hint Hk, k = 1..9. */
#define RPM_HINT(k) (1u << (k))
#define RPM_HINTS_ALL 0x3feu
#define RPM_HINTS_NONE 0u

enum rpm_request_kind {
    RPM_REQUEST_APPEND = 1, /* log append */
    RPM_REQUEST_BATCH = 2,  /* several appends, one flush */
    RPM_REQUEST_WRITE = 3,  /* region write */
    RPM_REQUEST_ATOMIC = 4  /* compare-and-swap or fetch-and-add */
};

struct rpm_request {
    size_t size;         /* sizeof this struct as the caller compiled it */
    uint32_t kind;       /* enum rpm_request_kind */
    uint32_t level;      /* enum rpm_level; 0: RPM_DURABLE */
    uint64_t bytes;      /* payload of one record */
    uint64_t offset;     /* region write: bytes from the start of the region */
    uint32_t count;      /* batch: records; 0: 1 */
    uint32_t slot_bytes; /* region write: see struct rpm_region_opts */
    uint32_t method;     /* enum rpm_method to insist on; 0: the cheapest legal one */
    uint32_t hints;      /* RPM_HINT() bits that are on */
};

static inline struct rpm_request rpm_request_init(void)
{
    struct rpm_request request;

    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.hints = RPM_HINTS_ALL;
    return request;
}

/**
 * rpm_hints_parse: parse the hints that are on.
 *
 * @text   "all", "none", "H6,H9" (only these), "-H3" (all but this one), "none,+H9". Borrowed.
 * @hints  out, set only on 0.
 *
 * Errors:   RPM_E_INVAL (unknown hint).
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_hints_parse(const char *text, uint32_t *hints);

/* How a CPU, of the client or the server, moves bytes into the pool. */
enum rpm_copy {
    RPM_COPY_STREAM = 1, /* non-temporal stores, where they are faster than cached ones */
    RPM_COPY_CLWB = 2,   /* cached stores, each line written back */
    RPM_COPY_STORE = 3   /* cached stores only: not durable, for experiments */
};

#define RPM_ALTERNATIVES_MAX 3

/* One way to carry out a request: each reaches the level. */
struct rpm_alternative {
    uint32_t method;      /* enum rpm_method */
    uint32_t round_trips; /* as in struct rpm_plan */
};

/* How a request is carried out, and the settings of the platform that the hints ask for. The value
 * named last in a comment is that of a hint that is off or does not apply. */
struct rpm_plan {
    size_t size;           /* sizeof this struct as the caller compiled it */
    uint32_t method;       /* enum rpm_method */
    uint32_t level;        /* enum rpm_level */
    uint32_t hints;        /* RPM_HINT() bits in force */
    uint32_t round_trips;  /* 0: the client's CPU writes and flushes */
    uint32_t pad_bytes;    /* H6, H7: lengths are rounded up to this: 64; 1: as they are */
    uint32_t large_bytes;  /* H5: frames over 256 bytes start at and fill this: 256; 64: packed */
    uint32_t same_node;    /* H1: 1: memory, NIC port and polling core on one node; 0: unchanged */
    uint32_t ddio;         /* H3: enum rpm_answer asked for; 0: unchanged */
    uint32_t copy;         /* H4: enum rpm_copy; 0: no CPU copies */
    uint32_t spread;       /* H2: 1: spread CPU writers over memory modules; 0: unchanged */
    uint32_t writers_max;  /* H2: at most so many CPU writers in a module at a time; 0: any */
    uint32_t atomic_dram;  /* H8: 1: atomics, if there are any, in DRAM only; 0: anywhere */
    uint32_t chained;      /* H9: 1: writes and seal behind one doorbell; 0: no seal, or the seal
                             waits */
    uint32_t alternatives; /* legal methods that the link can carry out, at most so many: */
    struct rpm_alternative alternative[RPM_ALTERNATIVES_MAX]; /* the plan's own, then the cheapest
                             others. With an agent, a link chooses between the plan's, order, and
                             the server CPU's by measured time */
};

static inline struct rpm_plan rpm_plan_init(void)
{
    struct rpm_plan plan;

    memset(&plan, 0, sizeof(plan));
    plan.size = sizeof(plan);
    return plan;
}

/**
 * rpm_plan_make: the plan for a request, as numbers: what a log or a region would use.
 *
 * @facts    platform. Borrowed.
 * @request  Borrowed.
 * @plan     in: its size field; out: the rest, set only on 0.
 *
 * Errors:   RPM_E_NOCAP, RPM_E_INVAL, RPM_E_TOOBIG, RPM_E_OPTS.
 * Threads:  any.
 * Cost:     no I/O, no allocation.
 */
RPM_MUST_CHECK int rpm_plan_make(const struct rpm_facts *facts, const struct rpm_request *request,
                                 struct rpm_plan *plan);

/**
 * rpm_explain: the plan for a request, one operation a line, with the rule behind each.
 *
 * @facts    platform. Borrowed.
 * @request  Borrowed.
 * @text     out, NUL-terminated. Borrowed.
 * @bytes    room at @text.
 *
 * Returns the length of the whole text, as snprintf does; for a refused request @text is the reason
 * and the call returns RPM_E_NOCAP.
 * Errors:   RPM_E_NOCAP, RPM_E_INVAL, RPM_E_TOOBIG, RPM_E_OPTS.
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_explain(const struct rpm_facts *facts, const struct rpm_request *request,
                               char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
