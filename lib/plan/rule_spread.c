/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_spread.c: H2: spread CPU writes over the memory modules, with few writers in one module at a
 * time. More writers wait for each other at the memory controller, and evict each other's lines
 * from the module's write-combining buffer before the lines are full.
 *
 * The public wording of H2 is uncertain. The rule does the union of the known readings: writers are
 * spread, and at most a few are in a module at a time. It is about writing CPUs, of clients or of
 * the server: a NIC is one ordered requester, and its writes scale on a single module.
 *
 * The limit: one module takes 2.2 GB/s of non-temporal stores from one to four threads, and less
 * from each further one (Yang et al., FAST '20).
 *
 * Tests: tests/unit/plan/rule_spread_test.cpp
 */
#include "plan/rule.h"

#define SPREAD 2u
#define WRITERS_MAX 4u

/* Why the rule does not apply; NULL: it does. */
static const char *exempt(const struct rpm_facts *facts, const struct rpm_request *request,
                          const struct rpmi_plan *plan)
{
    if (request->kind == RPM_REQUEST_ATOMIC)
        return "no bytes to spread: an atomic is one word";
    if (!rpmi_cpu_writes(plan))
        return "a NIC is one ordered requester: one module is enough for it";
    if (!rpmi_is_persistent(facts))
        return "no modules of persistent memory to spread over";
    if (plan->method == RPM_METHOD_STORE && request->kind != RPM_REQUEST_WRITE)
        return "one writer: the CPU of the client that claimed the log";
    return NULL;
}

static int spread_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                        struct rpmi_plan *plan)
{
    if (rpmi_hint_on(plan, SPREAD) && exempt(facts, request, plan) == NULL) {
        plan->spread = true;
        plan->writers_max = WRITERS_MAX;
    }
    return 0;
}

static const char *spread_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                   const struct rpmi_plan *plan)
{
    const char *why = exempt(facts, request, plan);

    if (why != NULL)
        return why;
    return rpmi_hint_on(plan, SPREAD)
               ? "CPU writers should be spread over the modules, at most 4 in one at a time"
               : "CPU writers are not spread: any number may write to one module";
}

const struct rpmi_rule rpmi_rule_spread = { SPREAD, spread_apply, spread_describe };
