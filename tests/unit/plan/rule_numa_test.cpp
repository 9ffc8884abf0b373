// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

namespace
{

rpm_facts on_nodes(int32_t memory, int32_t port, rpm_method only = RPM_METHOD_READ)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, bit(only));

    facts.memory_node = memory;
    facts.port_node = port;
    return facts;
}

std::string says(const rpm_facts &facts)
{
    return said(rpmi_rule_numa, facts, request_of(RPM_REQUEST_APPEND));
}

} // namespace

TEST_CASE("rule_numa: H1 demands one node on any platform", "[unit]")
{
    rpm_request request = request_of(GENERATE(RPM_REQUEST_APPEND, RPM_REQUEST_ATOMIC));
    rpm_facts facts = on_nodes(GENERATE(-1, 0, 1), GENERATE(-1, 0, 1));

    CHECK(plan_of(facts, request).same_node);
    CHECK_FALSE(plan_of(facts, without(request, 1)).same_node);
    CHECK(said(rpmi_rule_numa, facts, without(request, 1)) == "placement is left as it is");
}

TEST_CASE("rule_numa: H1 says whether the nodes agree", "[unit]")
{
    CHECK(says(on_nodes(1, 1)).find("are on one node") != std::string::npos);
    CHECK(says(on_nodes(0, 1)).find("are on different nodes") != std::string::npos);
    CHECK(says(on_nodes(1, 0)).find("are on different nodes") != std::string::npos);
    CHECK(says(on_nodes(-1, 0)).find("not both known") != std::string::npos);
    CHECK(says(on_nodes(0, -1)).find("not both known") != std::string::npos);
    CHECK(says(on_nodes(-1, -1)).find("not both known") != std::string::npos);
}

TEST_CASE("rule_numa: for stores of the client CPU there is no port", "[unit]")
{
    CHECK(says(on_nodes(0, -1, RPM_METHOD_STORE)).find("no port in between") == 0);
    CHECK(says(on_nodes(-1, -1, RPM_METHOD_STORE)).find("the node of the memory is not known") ==
          0);
}
