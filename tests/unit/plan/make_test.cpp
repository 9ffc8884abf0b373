// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

#include <cstring>

namespace
{

rpm_plan made(const rpm_facts &facts, const rpm_request &request)
{
    rpm_plan plan = rpm_plan_init();

    REQUIRE(rpm_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.size == sizeof(plan));
    return plan;
}

rpm_facts nvm(rpm_answer ddio, rpm_method only)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, ddio, bit(only));

    facts.line_bytes = 256;
    return facts;
}

} // namespace

TEST_CASE("make: one-sided, all hints on", "[unit]")
{
    rpm_plan plan = made(nvm(RPM_NO, RPM_METHOD_READ), request_of(RPM_REQUEST_APPEND));

    CHECK(plan.method == RPM_METHOD_READ);
    CHECK(plan.level == RPM_DURABLE);
    CHECK(plan.hints == RPM_HINTS_ALL);
    CHECK(plan.round_trips == 1);
    CHECK(plan.pad_bytes == 64);
    CHECK(plan.large_bytes == 256);
    CHECK(plan.same_node == 1);
    CHECK(plan.ddio == RPM_NO);
    CHECK(plan.copy == 0);
    CHECK(plan.spread == 0);
    CHECK(plan.writers_max == 0);
    CHECK(plan.atomic_dram == 1);
    CHECK(plan.chained == 1);
}

TEST_CASE("make: one-sided, all hints off", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpm_plan plan;

    request.hints = RPM_HINTS_NONE;
    plan = made(nvm(RPM_NO, RPM_METHOD_READ), request);
    CHECK(plan.method == RPM_METHOD_READ);
    CHECK(plan.level == RPM_DURABLE);
    CHECK(plan.hints == 0);
    CHECK(plan.round_trips == 2);
    CHECK(plan.pad_bytes == 1);
    CHECK(plan.large_bytes == 64);
    CHECK(plan.same_node == 0);
    CHECK(plan.ddio == 0);
    CHECK(plan.copy == 0);
    CHECK(plan.spread == 0);
    CHECK(plan.atomic_dram == 0);
    CHECK(plan.chained == 0);
}

TEST_CASE("make: the server CPU copies, hints on and off", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpm_plan plan = made(nvm(RPM_YES, RPM_METHOD_COPY), request);

    CHECK(plan.round_trips == 1);
    CHECK(plan.ddio == RPM_YES);
    CHECK(plan.copy == RPM_COPY_STREAM);
    CHECK(plan.spread == 1);
    CHECK(plan.writers_max == 4);
    CHECK(plan.chained == 0); // nothing follows the message
    request.hints = RPM_HINTS_NONE;
    plan = made(nvm(RPM_YES, RPM_METHOD_COPY), request);
    CHECK(plan.round_trips == 1);
    CHECK(plan.ddio == 0);
    CHECK(plan.copy == RPM_COPY_CLWB);
    CHECK(plan.spread == 0);
    CHECK(plan.writers_max == 0);
}

TEST_CASE("make: the client CPU needs no round trip", "[unit]")
{
    rpm_plan plan = made(nvm(RPM_YES, RPM_METHOD_STORE), request_of(RPM_REQUEST_APPEND));

    CHECK(plan.round_trips == 0);
    CHECK(plan.chained == 1);
}

TEST_CASE("make: invalid requests and structs of other versions are refused", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_NONE, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpm_plan plan = rpm_plan_init();
    rpm_plan before = plan;

    CHECK(rpm_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    CHECK(std::memcmp(&plan, &before, sizeof(plan)) == 0);
    request.size = 1;
    CHECK(rpm_plan_make(&facts, &request, &plan) == RPM_E_INVAL);
    request = request_of(RPM_REQUEST_APPEND);
    facts = nvm(RPM_NO, RPM_METHOD_READ);
    plan.size = 0;
    CHECK(rpm_plan_make(&facts, &request, &plan) == RPM_E_INVAL);
    plan = rpm_plan_init();
    plan.size = offsetof(rpm_plan, level); // older: it knows the method alone
    CHECK(rpm_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
    CHECK(plan.level == 0);
}

TEST_CASE("make: the alternatives are legal, and the plan's own is the first", "[unit]")
{
    struct {
        uint32_t methods;
        rpm_answer ddio;
        uint32_t insisted;
        std::vector<uint32_t> alternatives;
    } rows[] = {
        { EVERY_METHOD, RPM_NO, 0, { RPM_METHOD_STORE, RPM_METHOD_READ, RPM_METHOD_COPY } },
        { EVERY_METHOD, RPM_NO, RPM_METHOD_COPY, { RPM_METHOD_COPY } },
        { bit(RPM_METHOD_READ) | bit(RPM_METHOD_MESSAGE), RPM_YES, 0, { RPM_METHOD_MESSAGE } },
        { bit(RPM_METHOD_MESSAGE) | bit(RPM_METHOD_COPY) | bit(RPM_METHOD_ORDER),
          RPM_YES,
          0,
          { RPM_METHOD_ORDER, RPM_METHOD_COPY, RPM_METHOD_MESSAGE } },
    };

    for (const auto &row : rows) {
        rpm_facts facts = facts_of(RPM_DOMAIN_ADR, row.ddio, row.methods);
        rpm_request request = request_of(RPM_REQUEST_APPEND);
        std::vector<uint32_t> found;

        request.method = row.insisted;
        rpm_plan plan = made(facts, request);
        for (uint32_t i = 0; i < plan.alternatives; i++) {
            uint32_t method = plan.alternative[i].method;

            found.push_back(method);
            CHECK(rpm_legal(&facts, static_cast<rpm_method>(method), RPM_DURABLE, nullptr) == 1);
            CHECK(plan.alternative[i].round_trips == (method == RPM_METHOD_STORE ? 0 : 1));
        }
        CHECK(found == row.alternatives);
        CHECK(plan.alternative[0].round_trips == plan.round_trips);
    }
}
