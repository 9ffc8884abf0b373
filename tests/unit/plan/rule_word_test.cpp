// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

namespace
{

uint32_t pad_unit(rpm_method method, rpm_request request)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);
    rpmi_plan plan;

    facts.native_flush = RPM_YES;
    request.method = method;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    return plan.pad_unit;
}

const rpm_method BY_NIC[] = { RPM_METHOD_READ, RPM_METHOD_MESSAGE, RPM_METHOD_IMMEDIATE,
                              RPM_METHOD_FLUSH };
const rpm_method BY_CPU[] = { RPM_METHOD_COPY, RPM_METHOD_STORE };

} // namespace

TEST_CASE("rule_word: H6 pads writes of a NIC, and H7 does not", "[unit]")
{
    for (rpm_method method : BY_NIC)
        for (rpm_request_kind kind : { RPM_REQUEST_APPEND, RPM_REQUEST_BATCH }) {
            rpm_request request = request_of(kind);

            CAPTURE(rpm_method_name(method));
            CHECK(pad_unit(method, request) == 64);
            request.hints = RPM_HINTS_ALL & ~RPM_HINT(6);
            CHECK(pad_unit(method, request) == 1);
            request.hints = RPM_HINTS_ALL & ~RPM_HINT(7);
            CHECK(pad_unit(method, request) == 64);
        }
}

TEST_CASE("rule_word: H7 pads writes of a CPU, and H6 does not", "[unit]")
{
    for (rpm_method method : BY_CPU) {
        rpm_request request = request_of(RPM_REQUEST_APPEND);

        CAPTURE(rpm_method_name(method));
        CHECK(pad_unit(method, request) == 64);
        request.hints = RPM_HINTS_ALL & ~RPM_HINT(7);
        CHECK(pad_unit(method, request) == 1);
        request.hints = RPM_HINTS_ALL & ~RPM_HINT(6);
        CHECK(pad_unit(method, request) == 64);
    }
}

TEST_CASE("rule_word: a region write is padded only inside its own slot", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_WRITE);
    rpm_method method = GENERATE(RPM_METHOD_READ, RPM_METHOD_STORE);

    CHECK(pad_unit(method, request) == 1);
    request.slot_bytes = 128;
    CHECK(pad_unit(method, request) == 64);
    request.hints = RPM_HINTS_NONE;
    CHECK(pad_unit(method, request) == 1);
}

TEST_CASE("rule_word: an atomic is never padded", "[unit]")
{
    CHECK(pad_unit(RPM_METHOD_READ, request_of(RPM_REQUEST_ATOMIC)) == 1);
}
