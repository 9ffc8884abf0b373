/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * llc.c: the written lines in the last-level cache: sets of ways, oldest first. A line that enters
 * a full set evicts one of its oldest lines, chosen at random; so neighbouring lines that entered
 * together are evicted at different times.
 *
 * Tests: tests/unit/sim/perf/llc_test.cpp
 */
#include "sim/perf/llc.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"

#include <librpm/error.h>
#include <string.h>

int rpmi_llc_open(struct rpmi_llc *llc, uint64_t sets, uint64_t ways, uint64_t victims)
{
    RPM_ASSERT(sets > 0 && ways > 0 && victims > 0);
    llc->sets = (uint32_t)sets;
    llc->ways = (uint32_t)ways;
    llc->victims = (uint32_t)(victims < ways ? victims : ways);
    llc->tag = rpmi_alloc(sets * ways * sizeof(*llc->tag), 64);
    return llc->tag == NULL ? RPM_E_NOMEM : 0;
}

void rpmi_llc_close(struct rpmi_llc *llc)
{
    rpmi_free(llc->tag);
}

static uint32_t *set_of(const struct rpmi_llc *llc, uint64_t line)
{
    return &llc->tag[line % llc->sets * llc->ways];
}

bool rpmi_llc_has(const struct rpmi_llc *llc, uint64_t line)
{
    const uint32_t *tag = set_of(llc, line);

    for (uint32_t i = 0; i < llc->ways; i++)
        if (tag[i] == (uint32_t)(line + 1))
            return true;
    return false;
}

uint64_t rpmi_llc_fill(struct rpmi_llc *llc, uint64_t line, struct rpmi_rng *rng)
{
    uint32_t *tag = set_of(llc, line);
    uint64_t way =
        tag[0] == 0 || RPMI_CANARY(MODEL_LLC_IN_ORDER) ? 0 : rpmi_rng_below(rng, llc->victims);
    uint32_t old = tag[way];

    memmove(&tag[way], &tag[way + 1], (llc->ways - way - 1) * sizeof(*tag));
    tag[llc->ways - 1] = (uint32_t)(line + 1);
    return old == 0 ? UINT64_MAX : old - 1u;
}
