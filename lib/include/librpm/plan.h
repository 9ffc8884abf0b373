/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h: hints as switches, and why a request is carried out the way it is.
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
    RPM_REQUEST_WRITE = 3,  /* record write in place */
    RPM_REQUEST_ATOMIC = 4  /* compare-and-swap or fetch-and-add */
};

struct rpm_request {
    size_t size;         /* sizeof this struct as the caller compiled it */
    uint32_t kind;       /* enum rpm_request_kind */
    uint32_t level;      /* enum rpm_level; 0: RPM_DURABLE */
    uint64_t bytes;      /* payload of one record */
    uint64_t offset;     /* record write: where */
    uint32_t count;      /* batch: records; 0: 1 */
    uint32_t slot_bytes; /* record write: see struct rpm_region_opts */
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
 * rpm_hints_parse: hint switches from text.
 *
 * @text   "all", "none", "H6,H9" (only these), "-H3" (all but this one), "none,+H9". Borrowed.
 * @hints  out, set only on 0.
 *
 * Errors:   RPM_E_INVAL (unknown hint).
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_hints_parse(const char *text, uint32_t *hints);

/**
 * rpm_explain: the plan for a request, one operation a line, with the rule behind each.
 *
 * @facts    platform. Borrowed.
 * @request  Borrowed.
 * @text     out, NUL-terminated. Borrowed.
 * @bytes    room at @text.
 *
 * Returns the length of the whole text, as snprintf does; a refused request gives the reason as
 * text and RPM_E_NOCAP.
 * Errors:   RPM_E_NOCAP, RPM_E_INVAL, RPM_E_TOOBIG, RPM_E_OPTS.
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_explain(const struct rpm_facts *facts, const struct rpm_request *request,
                               char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
