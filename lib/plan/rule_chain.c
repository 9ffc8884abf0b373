/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_chain.c: H9: post the writes and the seal that makes them durable together, behind one
 * doorbell, in one round trip. The seal need not wait for the completion of the writes, because a
 * queue pair executes in order.
 *
 * Off: the client waits for the last write before it posts the seal, which costs a second round
 * trip and proves nothing more.
 *
 * Tests: tests/unit/plan/rule_chain_test.cpp
 */
#include "plan/rule.h"

#define CHAIN 9u

static int chain_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                       struct rpmi_plan *plan)
{
    (void)facts, (void)request;
    if (plan->seal_kind != 0 && !rpmi_hint_on(plan, CHAIN))
        plan->write_flags |= RPMI_OP_WAIT;
    return 0;
}

static const char *chain_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                  const struct rpmi_plan *plan)
{
    bool on = rpmi_hint_on(plan, CHAIN);

    (void)facts;
    if (plan->seal_kind == 0)
        return "nothing to chain: there is no seal after the writes";
    if (plan->method == RPM_METHOD_STORE)
        return on ? "stores and fence together: the client CPU does both, no round trip"
                  : "the fence is posted by itself, after the stores: no round trip either";
    if (on && request->kind == RPM_REQUEST_APPEND)
        return "writes and seal chained behind one doorbell, one round trip; asynchronous appends "
               "that come meanwhile share the next seal";
    if (on)
        return "writes and seal chained behind one doorbell, one round trip";
    return "the last write is waited for before the seal is posted, two round trips";
}

const struct rpmi_rule rpmi_rule_chain = { CHAIN, chain_apply, chain_describe };
