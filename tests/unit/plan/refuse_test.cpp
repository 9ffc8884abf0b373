// SPDX-License-Identifier: BSD-3-Clause
// refuse_test.cpp: a refusal says its reason and what to change.
#include "unit/plan/support.h"

extern "C" {
#include "plan/refuse.h"
}
#include "support/catch.h"

#include <string>

using Catch::Matchers::Contains;

TEST_CASE("refuse: without a domain the text says how to declare one", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_NONE, RPM_NO, EVERY_METHOD);

    CHECK(rpmi_refuse(&facts, RPM_METHOD_DEFAULT, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("level durable cannot be proven"));
    CHECK_THAT(rpm_last_error(), Contains("loses its contents with the power"));
    CHECK_THAT(rpm_last_error(), Contains("rpm-server --domain"));
}

TEST_CASE("refuse: with DDIO on the text says to switch it off or to use the server CPU", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_YES, bit(RPM_METHOD_READ));

    CHECK(rpmi_refuse(&facts, RPM_METHOD_DEFAULT, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("needs one of: message, immediate, copy, store"));
    CHECK_THAT(rpm_last_error(), Contains("this link can: read;"));
    CHECK_THAT(rpm_last_error(), Contains("switch DDIO off"));

    CHECK(rpmi_refuse(&facts, RPM_METHOD_READ, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("method read does not reach durable here"));
    CHECK_THAT(rpm_last_error(), Contains("DDIO is on or unknown"));
}

TEST_CASE("refuse: for a page cache the text says to use the ring", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_MSYNC, RPM_NO, bit(RPM_METHOD_STORE));

    CHECK(rpmi_refuse(&facts, RPM_METHOD_DEFAULT, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("mode=ring"));
}

TEST_CASE("refuse: for a method of another link the text names those that reach the level",
          "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_MSYNC, RPM_NO, bit(RPM_METHOD_MESSAGE));

    CHECK(rpmi_refuse(&facts, RPM_METHOD_STORE, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("or take one that does: message"));
    CHECK_THAT(rpm_last_error(), !Contains("mode=ring"));
}

TEST_CASE("refuse: a level that does not exist is answered with those that do", "[unit]")
{
    CHECK(rpmi_level_check(RPM_DURABLE) == 0);
    CHECK(rpmi_level_check(9) == RPM_E_INVAL);
    CHECK_THAT(rpm_last_error(), Contains("level 9") && Contains("4 (durable)"));
}

TEST_CASE("refuse: a method that does not exist is refused", "[unit]")
{
    CHECK(rpmi_method_check(RPM_METHOD_DEFAULT) == 0);
    CHECK(rpmi_method_check(RPM_METHOD_COUNT - 1) == 0);
    CHECK(rpmi_method_check(RPM_METHOD_COUNT) == RPM_E_INVAL);
    CHECK_THAT(rpm_last_error(), Contains("method " + std::to_string(RPM_METHOD_COUNT)));
}

TEST_CASE("refuse: for anonymous memory the text says to use a file", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_NONE, RPM_NO, EVERY_METHOD);

    facts.medium = RPM_MEDIUM_DRAM;
    CHECK(rpmi_refuse(&facts, RPM_METHOD_DEFAULT, RPM_PROCESS) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("is lost when the server process ends"));
    CHECK_THAT(rpm_last_error(), Contains("rpm-server --pool"));
}

TEST_CASE("refuse: a legal method that the link lacks is said to be missing", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, bit(RPM_METHOD_READ));

    CHECK(rpmi_refuse(&facts, RPM_METHOD_COPY, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("cannot carry out method copy; it can: read"));
    facts.methods = 0;
    CHECK(rpmi_refuse(&facts, RPM_METHOD_COPY, RPM_DURABLE) == RPM_E_NOCAP);
    CHECK_THAT(rpm_last_error(), Contains("it can: none"));
}
