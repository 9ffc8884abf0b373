/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_ddio.c: H3: ask for DDIO off where only a NIC writes persistent memory, and on where the
 * server CPU takes part. With DDIO the cache evicts lines in no order, so that each line costs the
 * medium a read-modify-write of four lines. But messages are polled from that cache, and a server
 * CPU copies or flushes in order.
 *
 * The facts alone decide what is legal (legal.c); this rule has no part in that.
 *
 * Tests: tests/unit/plan/rule_ddio_test.cpp
 */
#include "plan/rule.h"

#define DDIO 3u

/* The setting that this plan asks for; RPM_UNKNOWN: either. */
static uint32_t wanted(const struct rpm_facts *facts, const struct rpm_request *request,
                       const struct rpmi_plan *plan)
{
    if (request->kind == RPM_REQUEST_ATOMIC || plan->method == RPM_METHOD_STORE ||
        !rpmi_is_persistent(facts))
        return RPM_UNKNOWN;
    switch (plan->method) {
    case RPM_METHOD_MESSAGE:
    case RPM_METHOD_IMMEDIATE:
    case RPM_METHOD_COPY:
    case RPM_METHOD_ORDER:
    case RPM_METHOD_CARRY:
        return RPM_YES;
    default:
        return RPM_NO;
    }
}

static int ddio_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                      struct rpmi_plan *plan)
{
    plan->ddio = rpmi_hint_on(plan, DDIO) ? wanted(facts, request, plan) : RPM_UNKNOWN;
    return 0;
}

/* Why the plan asks for neither setting. */
static const char *why_either(const struct rpm_request *request, const struct rpmi_plan *plan)
{
    if (request->kind == RPM_REQUEST_ATOMIC)
        return "an atomic writes one word: DDIO does not matter";
    if (plan->method == RPM_METHOD_STORE)
        return "no NIC writes the bytes: DDIO does not matter";
    return "no persistent memory: DDIO does not matter";
}

static const char *ddio_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                 const struct rpmi_plan *plan)
{
    static const char *const found[] = {
        [RPM_UNKNOWN] = "DDIO is taken as found: not known, so counted as on",
        [RPM_NO] = "DDIO is taken as found: off",
        [RPM_YES] = "DDIO is taken as found: on",
    };
    static const char *const off[] = {
        [RPM_UNKNOWN] = "DDIO is not known, and one-sided writes want it off: switch it off at the "
                        "server's port and declare it",
        [RPM_NO] = "DDIO is off, as one-sided writes want it",
        [RPM_YES] = "DDIO is on, and one-sided writes want it off: switch it off at the server's "
                    "port",
    };
    static const char *const on[] = {
        [RPM_UNKNOWN] = "DDIO is not known, and messages want it on",
        [RPM_NO] =
            "DDIO is off, and messages want it on: use a port that has it, or write one-sided",
        [RPM_YES] = "DDIO is on, as messages want it",
    };
    uint32_t ddio = facts->ddio <= RPM_YES ? facts->ddio : RPM_UNKNOWN;

    switch (wanted(facts, request, plan)) {
    case RPM_UNKNOWN:
        return why_either(request, plan);
    case RPM_NO:
        return rpmi_hint_on(plan, DDIO) ? off[ddio] : found[ddio];
    default:
        return rpmi_hint_on(plan, DDIO) ? on[ddio] : found[ddio];
    }
}

const struct rpmi_rule rpmi_rule_ddio = { DDIO, ddio_apply, ddio_describe };
