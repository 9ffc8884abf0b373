// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

namespace
{

rpm_facts eadr(rpm_answer ddio, rpm_method only)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, ddio, bit(only));

    facts.native_flush = RPM_YES;
    return facts;
}

std::string says(rpm_answer ddio, rpm_method only)
{
    return said(rpmi_rule_ddio, eadr(ddio, only), request_of(RPM_REQUEST_APPEND));
}

const rpm_answer DDIO[] = { RPM_UNKNOWN, RPM_NO, RPM_YES };

} // namespace

TEST_CASE("rule_ddio: H3 wants DDIO off where the NIC alone writes", "[unit]")
{
    rpm_method method = GENERATE(RPM_METHOD_READ, RPM_METHOD_FLUSH);
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    for (rpm_answer ddio : DDIO) {
        CHECK(plan_of(eadr(ddio, method), request).ddio == RPM_NO);
        CHECK(plan_of(eadr(ddio, method), without(request, 3)).ddio == 0);
    }
    CHECK(says(RPM_NO, method) == "DDIO is off, as one-sided writes want it");
    CHECK(says(RPM_YES, method).find("switch it off") != std::string::npos);
    CHECK(says(RPM_UNKNOWN, method).find("switch it off") != std::string::npos);
}

TEST_CASE("rule_ddio: H3 wants DDIO on where messages are polled", "[unit]")
{
    rpm_method method = GENERATE(RPM_METHOD_MESSAGE, RPM_METHOD_IMMEDIATE, RPM_METHOD_COPY);
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    for (rpm_answer ddio : DDIO) {
        CHECK(plan_of(eadr(ddio, method), request).ddio == RPM_YES);
        CHECK(plan_of(eadr(ddio, method), without(request, 3)).ddio == 0);
    }
    CHECK(says(RPM_YES, method) == "DDIO is on, as messages want it");
    CHECK(says(RPM_NO, method).find("messages want it on") != std::string::npos);
    CHECK(says(RPM_UNKNOWN, method).find("messages want it on") != std::string::npos);
}

TEST_CASE("rule_ddio: with the rule off, it reports the DDIO state", "[unit]")
{
    rpm_request request = without(request_of(RPM_REQUEST_APPEND), 3);
    rpm_method method = GENERATE(RPM_METHOD_READ, RPM_METHOD_COPY);

    CHECK(said(rpmi_rule_ddio, eadr(RPM_NO, method), request) == "DDIO is taken as found: off");
    CHECK(said(rpmi_rule_ddio, eadr(RPM_YES, method), request) == "DDIO is taken as found: on");
    CHECK(said(rpmi_rule_ddio, eadr(RPM_UNKNOWN, method), request).find("not known") !=
          std::string::npos);
}

TEST_CASE("rule_ddio: without a NIC or persistent memory DDIO does not matter", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    CHECK(plan_of(eadr(RPM_YES, RPM_METHOD_STORE), request).ddio == 0);
    CHECK(plan_of(eadr(RPM_YES, RPM_METHOD_READ), request_of(RPM_REQUEST_ATOMIC)).ddio == 0);
    CHECK(plan_of(facts_of(RPM_DOMAIN_MSYNC, RPM_YES, EVERY_METHOD), request).ddio == 0);
}

TEST_CASE("rule_ddio: a recommendation does not make a method legal", "[unit]")
{
    rpm_answer ddio = GENERATE(RPM_UNKNOWN, RPM_YES);
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, ddio, EVERY_METHOD & ~bit(RPM_METHOD_STORE));
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    CHECK(plan_of(facts, request).method == RPM_METHOD_COPY);
    request.method = RPM_METHOD_READ;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
}
