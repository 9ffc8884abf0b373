/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_copy.c: H4: a CPU, of the client or the server, copies bytes into persistent memory with
 * non-temporal stores. Cached stores read each line first and leave the order of the write-backs to
 * the cache.
 *
 * The copy routine chooses the length from which it uses them, by CPU (pmem/cpu_x86.c). Published
 * numbers for six threads: at 64 and 128 bytes cached stores that are written back are 1.4 to 1.6
 * times as fast (2.8 against 1.8, 5.0 against 3.6 GB/s), at 256 both are as fast (6.6 against 6.8),
 * above that non-temporal stores are twice as fast (Yang et al., FAST '20). So with this hint too,
 * shorter copies use cached stores and write-backs on CPUs where these were measured to be faster.
 *
 * Off: cached stores, each line written back, at every length. The bytes are durable in both cases.
 *
 * Tests: tests/unit/plan/rule_copy_test.cpp
 */
#include "plan/rule.h"

#define COPY 4u

/* Stores of the client's CPU are always durable: the fence at their end drains them. */
static bool leaves_caches(const struct rpm_facts *facts, const struct rpmi_plan *plan)
{
    return facts->domain == RPM_DOMAIN_ADR &&
           (plan->level == RPM_DURABLE || plan->method == RPM_METHOD_STORE);
}

static int copy_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                      struct rpmi_plan *plan)
{
    if (request->kind == RPM_REQUEST_ATOMIC || !rpmi_cpu_writes(plan))
        return 0;
    if (!leaves_caches(facts, plan)) {
        plan->copy = RPM_COPY_STORE;
    } else if (rpmi_hint_on(plan, COPY)) {
        plan->copy = RPM_COPY_STREAM;
    } else {
        plan->copy = RPM_COPY_CLWB;
        plan->write_flags |= RPMI_OP_CACHED;
    }
    return 0;
}

static const char *copy_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                 const struct rpmi_plan *plan)
{
    (void)request;
    switch (plan->copy) {
    case RPM_COPY_STREAM:
        return "the CPU copies with non-temporal stores, except lengths that are faster without";
    case RPM_COPY_CLWB:
        return "the CPU copies with cached stores and writes each line back";
    case RPM_COPY_STORE:
        if (facts->domain == RPM_DOMAIN_EADR)
            return "CPU caches survive: cached stores, with nothing to write back";
        return rpmi_is_persistent(facts) ? "cached stores: this level asks for no more"
                                         : "no persistent memory: cached stores";
    default:
        return "no CPU copies the bytes";
    }
}

const struct rpmi_rule rpmi_rule_copy = { COPY, copy_apply, copy_describe };
