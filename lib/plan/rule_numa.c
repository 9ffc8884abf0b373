/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_numa.c: H1: ask for the NIC's port and the polling cores on the NUMA node that owns the
 * memory. A write from another node crosses a link between sockets, and also writes the cache
 * directory, which is stored in the medium.
 *
 * A plan cannot move hardware or memory. On: the plan says which placement it asks for. Off: it
 * asks for none.
 *
 * Tests: tests/unit/plan/rule_numa_test.cpp
 */
#include "plan/rule.h"

#define NUMA 1u

static int numa_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                      struct rpmi_plan *plan)
{
    (void)facts, (void)request;
    plan->same_node = rpmi_hint_on(plan, NUMA);
    return 0;
}

static const char *numa_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                 const struct rpmi_plan *plan)
{
    (void)request;
    if (!rpmi_hint_on(plan, NUMA))
        return "placement is left as it is";
    if (plan->method == RPM_METHOD_STORE)
        return facts->memory_node < 0
                   ? "the node of the memory is not known: the client CPU belongs on it"
                   : "no port in between: the client CPU belongs on the memory's node";
    if (facts->memory_node < 0 || facts->port_node < 0)
        return "the nodes of memory and port are not both known: they belong on one, and so do "
               "polling cores";
    if (facts->memory_node != facts->port_node)
        return "memory and port are on different nodes: lend memory of the port's node "
               "(rpm-server --numa) and poll there";
    return "memory and port are on one node: polling cores belong there too";
}

const struct rpmi_rule rpmi_rule_numa = { NUMA, numa_apply, numa_describe };
