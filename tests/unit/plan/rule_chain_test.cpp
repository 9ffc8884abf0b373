// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

TEST_CASE("rule_chain: H9 off waits for the write before the seal", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    request.method = GENERATE(RPM_METHOD_READ, RPM_METHOD_MESSAGE, RPM_METHOD_STORE);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK((plan.write_flags & RPMI_OP_WAIT) == 0);
    CHECK(plan.seal_kind != 0);

    request.hints &= ~RPM_HINT(9);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK((plan.write_flags & RPMI_OP_WAIT) != 0);
    CHECK(plan.seal_kind != 0); // slower, with the same guarantee
    CHECK((plan.seal_flags & RPMI_OP_WAIT) == 0);
}

TEST_CASE("rule_chain: a write whose own answer proves durability needs no wait", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    request.method = GENERATE(RPM_METHOD_COPY, RPM_METHOD_IMMEDIATE);
    request.hints &= ~RPM_HINT(9);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.write_flags == RPMI_OP_DURABLE);
}

TEST_CASE("rule_chain: a client CPU that stores and fences needs no round trip", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    request.method = RPM_METHOD_STORE;
    request.hints = GENERATE(RPM_HINTS_ALL, RPM_HINTS_ALL & ~RPM_HINT(9));
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(std::string(rpmi_rule_chain.describe(&facts, &request, &plan)).find("no round trip") !=
          std::string::npos);
}
