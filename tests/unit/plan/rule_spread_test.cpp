// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

namespace
{

rpm_facts nvm(rpm_method only)
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, bit(only));

    facts.native_flush = RPM_YES;
    return facts;
}

bool spreads(const rpm_facts &facts, const rpm_request &request)
{
    rpmi_plan plan = plan_of(facts, request);

    CHECK(plan.writers_max == (plan.spread ? 4 : 0));
    return plan.spread;
}

} // namespace

TEST_CASE("rule_spread: H2 spreads writes of the server CPU", "[unit]")
{
    rpm_request request =
        request_of(GENERATE(RPM_REQUEST_APPEND, RPM_REQUEST_BATCH, RPM_REQUEST_WRITE));

    CHECK(spreads(nvm(RPM_METHOD_COPY), request));
    CHECK(said(rpmi_rule_spread, nvm(RPM_METHOD_COPY), request).find("at most 4") !=
          std::string::npos);
    CHECK_FALSE(spreads(nvm(RPM_METHOD_COPY), without(request, 2)));
    CHECK(said(rpmi_rule_spread, nvm(RPM_METHOD_COPY), without(request, 2)) ==
          "CPU writers are not spread: any number may write to one module");
}

TEST_CASE("rule_spread: writes of a NIC are not spread", "[unit]")
{
    rpm_facts facts =
        nvm(GENERATE(RPM_METHOD_READ, RPM_METHOD_MESSAGE, RPM_METHOD_IMMEDIATE, RPM_METHOD_FLUSH));

    CHECK_FALSE(spreads(facts, request_of(RPM_REQUEST_APPEND)));
    CHECK(said(rpmi_rule_spread, facts, request_of(RPM_REQUEST_APPEND)) ==
          "a NIC is one ordered requester: one module is enough for it");
}

TEST_CASE("rule_spread: a log has one direct writer, a region many", "[unit]")
{
    rpm_facts facts = nvm(RPM_METHOD_STORE);

    CHECK_FALSE(spreads(facts, request_of(RPM_REQUEST_APPEND)));
    CHECK(said(rpmi_rule_spread, facts, request_of(RPM_REQUEST_BATCH)).find("one writer") == 0);
    CHECK(spreads(facts, request_of(RPM_REQUEST_WRITE)));
}

TEST_CASE("rule_spread: only modules of persistent memory, and only bytes", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_MSYNC, RPM_NO, bit(RPM_METHOD_COPY));

    CHECK_FALSE(spreads(facts, request_of(RPM_REQUEST_APPEND)));
    CHECK(said(rpmi_rule_spread, facts, request_of(RPM_REQUEST_APPEND)).find("no modules") == 0);
    CHECK_FALSE(spreads(nvm(RPM_METHOD_COPY), request_of(RPM_REQUEST_ATOMIC)));
}
