/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * llc.h: the written lines in the ways of the last-level cache that a load may use.
 *
 * Invariant: in a set the oldest lines come first, empty ways before all.
 *
 * Tests: tests/unit/sim/perf/llc_test.cpp
 */
#ifndef RPMI_SIM_PERF_LLC_H
#define RPMI_SIM_PERF_LLC_H

#include <stdbool.h>
#include <stdint.h>

struct rpmi_rng;

struct rpmi_llc {
    uint32_t *tag; /* line + 1; 0: empty */
    uint32_t sets;
    uint32_t ways;
    uint32_t victims; /* number of oldest lines of a set, one of which is evicted */
};

/* RPM_E_NOMEM. */
int rpmi_llc_open(struct rpmi_llc *llc, uint64_t sets, uint64_t ways, uint64_t victims);
void rpmi_llc_close(struct rpmi_llc *llc);

bool rpmi_llc_has(const struct rpmi_llc *llc, uint64_t line);

/* Insert a line that is not in the cache; returns the evicted line, or UINT64_MAX. */
uint64_t rpmi_llc_fill(struct rpmi_llc *llc, uint64_t line, struct rpmi_rng *rng);

#endif
