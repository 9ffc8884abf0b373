// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

#include <string>

TEST_CASE("rule_lock: H8 keeps atomics in DRAM, at level visible", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_ATOMIC);
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.level == RPM_VISIBLE);
    CHECK(plan.write_kind == RPMI_OP_CAS);
    CHECK(plan.seal_kind == 0);
    request.level = GENERATE(RPM_PROCESS, RPM_DURABLE);
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("H8") != std::string::npos);
}

TEST_CASE("rule_lock: with H8 off a durable atomic is sealed", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, EVERY_METHOD & ~bit(RPM_METHOD_STORE));
    rpm_request request = request_of(RPM_REQUEST_ATOMIC, RPM_DURABLE);
    rpmi_plan plan;

    request.hints &= ~RPM_HINT(8);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.write_kind == RPMI_OP_CAS);
    CHECK(plan.write_flags == 0);
    CHECK(plan.seal_kind == RPMI_OP_PERSIST);
}

TEST_CASE("rule_lock: an atomic works where nothing persists", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_NONE, RPM_UNKNOWN, bit(RPM_METHOD_WRITE));
    rpm_request request = request_of(RPM_REQUEST_ATOMIC);
    rpmi_plan plan;

    CHECK(rpmi_plan_make(&facts, &request, &plan) == 0);
}

TEST_CASE("rule_lock: other requests are left alone", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_WRITE);
    rpmi_plan with;
    rpmi_plan without;

    REQUIRE(rpmi_plan_make(&facts, &request, &with) == 0);
    request.hints &= ~RPM_HINT(8);
    REQUIRE(rpmi_plan_make(&facts, &request, &without) == 0);
    CHECK(with.write_kind == without.write_kind);
    CHECK(with.seal_kind == without.seal_kind);
}
