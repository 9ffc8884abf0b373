// SPDX-License-Identifier: BSD-3-Clause
// agent_canary_test.cpp: each rule of certificates and of carried records is removed in turn; the
// scenarios with an agent, an honest one or one that lies, must then report a violation.
#include "crash/bodies.h"
#include "support/catch.h"
#include "support/cuts_report.h"
#include "support/liar.h"

extern "C" {
#include "base/canary.h"
}

using namespace cuts;

namespace
{

struct Canary {
    int which;
    const char *rule;
    uint32_t method;
    Lie lie;
    std::vector<const char *> scenarios;
};

const char *rule_of(int which)
{
    static const std::map<int, const char *> rules = {
#define ROW(name, without) { RPMI_CANARY_##name, without },
        RPMI_AGENT_CANARIES(ROW)
#undef ROW
    };

    return rules.at(which);
}

// What finds out each of them.
std::vector<Canary> canaries()
{
    const uint32_t order = RPM_METHOD_ORDER;
    const uint32_t carry = RPM_METHOD_CARRY;
    const std::vector<std::tuple<int, uint32_t, Lie, std::vector<const char *>>> rows = {
        { RPMI_CANARY_CERTIFICATE_UNCHECKED, order, Lie::forges, { "append_blocking" } },
        { RPMI_CANARY_CERTIFICATE_BEYOND,
          order,
          Lie::skips,
          { "append_pipelined", "append_shared" } },
        { RPMI_CANARY_CERTIFICATE_EARLY,
          order,
          Lie::none,
          { "append_blocking", "append_pipelined" } },
        { RPMI_CANARY_CERTIFICATE_UNSEEN, order, Lie::none, { "append_pipelined", "wrap" } },
        { RPMI_CANARY_CERTIFICATE_HEADERS, order, Lie::none, { "large", "wrap" } },
        { RPMI_CANARY_ORDER_SHORT, order, Lie::none, { "append_pipelined", "wrap" } },
        // of records that the server flushes
        { RPMI_CANARY_ORDER_PART, RPM_METHOD_DEFAULT, Lie::none, { "append_more" } },
        { RPMI_CANARY_ORDER_ENDLESS, order, Lie::sleeps, { "append_blocking" } },
        { RPMI_CANARY_STALE_COMMITTED, order, Lie::none, { "decide_stale" } },
        { RPMI_CANARY_STAGED_EARLY, order, Lie::none, { "decide_killed" } },
        { RPMI_CANARY_DELEGATION_OUTLIVES,
          carry,
          Lie::late,
          { "takeover", "takeover_resume", "many_writers" } },
        { RPMI_CANARY_CARRY_REUSED, carry, Lie::repeats, { "trim_reuse", "wrap" } },
        { RPMI_CANARY_AGENT_UNDECLARED, carry, Lie::stranger, { "append_blocking" } },
        { RPMI_CANARY_CARRY_STAGED, carry, Lie::sleeps, { "append_blocking" } },
        // by an agent on a SoC
        { RPMI_CANARY_COPIED_DURABLE, carry, Lie::none, { "append_blocking", "append_pipelined" } },
    };
    std::vector<Canary> all;

    for (const auto &[which, method, lie, scenarios] : rows)
        all.push_back({ which, rule_of(which), method, lie, scenarios });
    return all;
}

// The first violation that is reported while @which is removed; "": none is.
std::string noticed(const Canary &canary, int which)
{
    for (const char *name : canary.scenarios)
        for (const char *preset : { "adr", "msync" }) {
            Budget budget = { 400, {}, true };
            Setup setup;

            setup.scenario = name;
            setup.preset = preset;
            setup.agent = true;
            setup.method = canary.method;
            setup.lie = static_cast<int>(canary.lie);
            setup.soc = canary.which == RPMI_CANARY_COPIED_DURABLE;
            setup.canary = which;
            Tally tally = explore(scenario_of(name), setup, budget);
            if (tally.violations > 0)
                return tally.first;
        }
    return "";
}

#define ONE(name, without) +1
const size_t RULES = RPMI_AGENT_CANARIES(ONE);
#undef ONE

} // namespace

TEST_CASE("canary: the scenarios with an agent detect every rule that is removed", "[canary]")
{
    size_t found = 0;

    REQUIRE(canaries().size() == RULES);
    for (const Canary &canary : canaries()) {
        std::string how = noticed(canary, canary.which);

        printf("%-66s %s\n", canary.rule, how.empty() ? "SURVIVED" : how.c_str());
        found += how.empty() ? 0 : 1;
        CHECK_FALSE(how.empty());
        CHECK(noticed(canary, RPMI_CANARY_NONE).empty());
    }
    printf("canaries %zu found %zu\n", RULES, found);
}
