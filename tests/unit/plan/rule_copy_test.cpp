// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "unit/plan/support.h"

namespace
{

rpm_facts nvm(rpm_domain domain, rpm_method only)
{
    rpm_facts facts = facts_of(domain, RPM_NO, bit(only));

    facts.native_flush = RPM_YES;
    return facts;
}

} // namespace

TEST_CASE("rule_copy: with H4 a CPU copies by non-temporal stores, without it writes lines back",
          "[unit]")
{
    rpm_request request =
        request_of(GENERATE(RPM_REQUEST_APPEND, RPM_REQUEST_BATCH, RPM_REQUEST_WRITE));
    rpm_facts facts = nvm(RPM_DOMAIN_ADR, GENERATE(RPM_METHOD_COPY, RPM_METHOD_STORE));

    CHECK(plan_of(facts, request).copy == RPM_COPY_STREAM);
    CHECK((plan_of(facts, request).write_flags & RPMI_OP_CACHED) == 0);
    CHECK(plan_of(facts, without(request, 4)).copy == RPM_COPY_CLWB);
    CHECK((plan_of(facts, without(request, 4)).write_flags & RPMI_OP_CACHED) != 0);
    CHECK(said(rpmi_rule_copy, facts, request).find("non-temporal") != std::string::npos);
    CHECK(said(rpmi_rule_copy, facts, without(request, 4)) ==
          "the CPU copies with cached stores and writes each line back");
}

TEST_CASE("rule_copy: a NIC copies nothing, nor does an atomic", "[unit]")
{
    rpm_method method =
        GENERATE(RPM_METHOD_READ, RPM_METHOD_MESSAGE, RPM_METHOD_IMMEDIATE, RPM_METHOD_FLUSH);
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    CHECK(plan_of(nvm(RPM_DOMAIN_ADR, method), request).copy == 0);
    CHECK(plan_of(nvm(RPM_DOMAIN_ADR, method), without(request, 4)).copy == 0);
    CHECK(plan_of(nvm(RPM_DOMAIN_ADR, RPM_METHOD_COPY), request_of(RPM_REQUEST_ATOMIC)).copy == 0);
}

TEST_CASE(
    "rule_copy: nothing is written back if caches survive a power failure, or if nothing does",
    "[unit]")
{
    rpm_domain domain = GENERATE(RPM_DOMAIN_EADR, RPM_DOMAIN_MSYNC);
    rpm_request request = request_of(RPM_REQUEST_APPEND);

    CHECK(plan_of(nvm(domain, RPM_METHOD_COPY), request).copy == RPM_COPY_STORE);
    CHECK(plan_of(nvm(domain, RPM_METHOD_COPY), without(request, 4)).copy == RPM_COPY_STORE);
}

TEST_CASE("rule_copy: below durable the server CPU leaves bytes in its caches", "[unit]")
{
    rpm_request request = request_of(RPM_REQUEST_APPEND, GENERATE(RPM_VISIBLE, RPM_PROCESS));
    rpm_facts facts = nvm(RPM_DOMAIN_ADR, RPM_METHOD_COPY);

    CHECK(plan_of(facts, request).copy == RPM_COPY_STORE);
    CHECK(said(rpmi_rule_copy, facts, request) == "cached stores: this level asks for no more");
    CHECK(plan_of(nvm(RPM_DOMAIN_ADR, RPM_METHOD_STORE), request).copy == RPM_COPY_STREAM);
}
