/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit.h: a bound on the operations outstanding on one connection.
 *
 * Invariant: used <= limit; every take is matched by one give.
 */
#ifndef RPMI_CREDIT_H
#define RPMI_CREDIT_H

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

struct rpmi_credit {
    uint32_t limit;
    uint32_t used;
};

static inline void rpmi_credit_open(struct rpmi_credit *credit, uint32_t limit)
{
    RPM_ASSERT(limit > 0);
    credit->limit = limit;
    credit->used = 0;
}

/* Take @n or nothing. */
static inline bool rpmi_credit_take(struct rpmi_credit *credit, uint32_t n)
{
    if (n > credit->limit - credit->used)
        return false;
    credit->used += n;
    return true;
}

/* Take @n credits that the caller knows to be available. */
static inline void rpmi_credit_use(struct rpmi_credit *credit, uint32_t n)
{
    RPM_ASSERT_SLOW(n <= credit->limit - credit->used);
    credit->used += n;
}

static inline void rpmi_credit_give(struct rpmi_credit *credit, uint32_t n)
{
    RPM_ASSERT(n <= credit->used);
    credit->used -= n;
}

#endif
