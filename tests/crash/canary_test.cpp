// SPDX-License-Identifier: BSD-3-Clause
// canary_test.cpp: take one rule away at a time; the crash suite must notice. With all rules in
// force the same runs must find nothing, else noticing would mean nothing.
#include "base/canary.h"
#include "crash/bodies.h"
#include "support/catch.h"

#include <cstdio>
#include <cstdlib>

using namespace cuts;

namespace
{

struct Canary {
    int which;
    const char *rule;
    std::vector<const char *> scenarios; // where it is likely to show; tried in this order
};

const std::vector<Canary> &canaries()
{
    static const std::vector<Canary> list = {
        { RPMI_CANARY_NO_FLUSH, "no flush after a write", { "append_blocking" } },
        { RPMI_CANARY_OTHER_QP, "flush on the other queue pair", { "append_blocking" } },
        { RPMI_CANARY_READ_DDIO, "READ as a flush although DDIO is on", { "append_blocking" } },
        { RPMI_CANARY_NO_FENCE, "no fence before a dependent write", { "write_flag" } },
        { RPMI_CANARY_NO_SUM, "checksum not checked", { "append_pipelined", "large", "wrap" } },
        { RPMI_CANARY_NO_EPOCH,
          "epoch not checked",
          { "same_size", "recover_again", "many_writers" } },
        { RPMI_CANARY_LATE_EPOCH,
          "epoch raised after the first append",
          { "recover_again", "many_writers", "same_size" } },
        { RPMI_CANARY_EARLY_ACK, "acknowledged before the flush", { "append_blocking" } },
        { RPMI_CANARY_LATE_TRIM, "trim durable after reuse", { "trim_reuse", "full_ring" } },
        { RPMI_CANARY_PAD_NEIGHBOUR, "padding over a neighbour", { "neighbours", "write_any" } },
        { RPMI_CANARY_BLIND_RESUME,
          "resume appends again blindly",
          { "resume", "resume_batch", "resume_late" } },
        { RPMI_CANARY_NO_RECOVERY_FLUSH,
          "recovered records not made durable",
          { "recover_again", "resume", "takeover", "many_writers" } },
        { RPMI_CANARY_NO_START_FLUSH,
          "directory not made durable at a start",
          { "create", "create_region" } },
    };

    return list;
}

// Legal setups; for the canary about READ, the one that it wrongly takes for legal as well.
std::vector<Setup> setups_for(const Canary &canary)
{
    std::vector<Setup> setups = legal_setups(RPM_DURABLE);

    if (canary.which == RPMI_CANARY_READ_DDIO) {
        Setup setup;

        setup.preset = "adr";
        setup.method = RPM_METHOD_READ;
        setups = { setup };
    }
    return setups;
}

// The first violation that taking the rule away leads to; "" if nobody noticed.
std::string noticed(const Canary &canary, int which)
{
    for (const char *name : canary.scenarios)
        for (Setup setup : setups_for(canary)) {
            Budget budget = { scaled(400), {}, true };
            Tally tally;

            setup.scenario = name;
            setup.canary = which;
            tally = explore(scenario_of(name), setup, budget);
            if (tally.violations > 0)
                return tally.first;
        }
    return "";
}

} // namespace

TEST_CASE("canary: every rule that is taken away is missed", "[canary]")
{
    unsigned survived = 0;

    REQUIRE(canaries().size() == RPMI_CANARY_COUNT - 1);
    for (const Canary &canary : canaries()) {
        std::string how = noticed(canary, canary.which);

        printf("%-40s %s\n", canary.rule, how.empty() ? "SURVIVED" : how.c_str());
        survived += how.empty();
        CHECK(!how.empty());
    }
    printf("canaries %zu survived %u\n", canaries().size(), survived);
}

TEST_CASE("canary: with every rule in force the same runs find nothing", "[canary]")
{
    for (const Canary &canary : canaries()) {
        if (canary.which == RPMI_CANARY_READ_DDIO)
            continue; /* refused then: there is nothing to run */
        INFO(canary.rule);
        CHECK(noticed(canary, RPMI_CANARY_NONE) == "");
    }
}
