// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

static uint32_t large_unit(uint32_t line_bytes, rpm_request request)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpmi_plan plan;

    facts.line_bytes = line_bytes;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    return plan.large_unit;
}

TEST_CASE("rule_xpline: H5 fills media lines of 256 bytes, and only those", "[unit]")
{
    rpm_request request = request_of(GENERATE(RPM_REQUEST_APPEND, RPM_REQUEST_BATCH));

    CHECK(large_unit(256, request) == 256);
    CHECK(large_unit(64, request) == 64);
    CHECK(large_unit(0, request) == 64);
    CHECK(large_unit(4096, request) == 64);
    request.hints &= ~RPM_HINT(5);
    CHECK(large_unit(256, request) == 64);
}

TEST_CASE("rule_xpline: region writes stay where the caller puts them", "[unit]")
{
    CHECK(large_unit(256, request_of(RPM_REQUEST_WRITE)) == 64);
}
