// SPDX-License-Identifier: BSD-3-Clause
// canary_test.cpp: removes one rule at a time (lib/base/canary.h); the crash suite must then report
// a violation. With all rules in force the same runs must report none.
#include "base/canary.h"
#include "crash/bodies.h"
#include "support/catch.h"

#include <cstdio>
#include <cstdlib>

using namespace cuts;

namespace
{

// Several writers in turn leave records of one size outstanding when the power fails; the next
// writer appends a record of that size where the first gap was.
void stale(Run &run)
{
    LogOracle &oracle = log_of(run, "a");

    run.begin();
    for (unsigned who : { 0u, 1u, 2u, 3u }) {
        try {
            Writer writer(run, who, oracle, RPM_LOG_TAKEOVER);

            if (who != 0)
                writer.append(40);
            for (int i = 0; i < 5; i++)
                writer.async(40, RPM_MORE); // all outstanding at once, not held back for a flush
            for (uint64_t i = run.chance.below(60); i > 0; i--)
                rpm_sim_step(run.sim());
            run.inject(Fault::reorder);
            rpm_sim_kill_client(run.client(who));
        } catch (const Lost &) {
        }
        run.restart();
    }
}

const Scenario STALE = { "stale", stale };

struct Canary {
    int which;
    const char *rule;
    std::vector<const char *> scenarios; // scenarios that are likely to show it, in this order
    uint64_t runs = 400;                 // on each setup
};

const std::vector<Canary> &canaries()
{
    static const std::vector<Canary> list = {
        { RPMI_CANARY_NO_FLUSH, "no flush after a write", { "append_blocking" } },
        { RPMI_CANARY_OTHER_QP, "flush on the other queue pair", { "append_blocking" } },
        { RPMI_CANARY_READ_DDIO, "READ as a flush although DDIO is on", { "append_blocking" } },
        { RPMI_CANARY_NO_FENCE, "no fence before a dependent write", { "write_flag" } },
        { RPMI_CANARY_NO_SUM, "checksum not checked", { "append_pipelined", "large", "wrap" } },
        { RPMI_CANARY_NO_EPOCH, "epoch not checked", { "stale" } },
        { RPMI_CANARY_LATE_EPOCH,
          "epoch raised after the first append",
          { "recover_again", "many_writers", "same_size" } },
        { RPMI_CANARY_EARLY_ACK, "acknowledged before the flush", { "append_blocking" } },
        { RPMI_CANARY_OLD_FLUSH,
          "acknowledged by a flush before the write",
          { "append_shared", "append_pipelined" } },
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
          { "trim_killed", "create_halfway" } },
        { RPMI_CANARY_EARLY_DETACH, "locks freed while writes may land", { "inherit" } },
        { RPMI_CANARY_HEAD_IN_PLACE, "head written over the one in force", { "trim_reuse" } },
        { RPMI_CANARY_EARLY_STATE, "entry in force before its body", { "create", "replace_log" } },
        { RPMI_CANARY_NO_LOG_ID, "log's id not in the checksum", { "replace_log" } },
        { RPMI_CANARY_OLD_HEADER, "slots of an older log kept", { "replace_log" } },
        { RPMI_CANARY_WEAK_ZEROS, "new region's zeros not durable", { "replace_region" } },
        { RPMI_CANARY_EARLY_STEPS, "steps answered before the drain", { "write_steps" } },
        { RPMI_CANARY_VISIBLE_HEAD, "space freed by a head not durable", { "trim_halfway" } },
        { RPMI_CANARY_ONE_HEAD, "one copy of the head", { "rotten_head" } },
        { RPMI_CANARY_EARLY_LAG,
          "acknowledgement claimed of what was posted",
          { "append_pipelined", "append_shared" } },
        { RPMI_CANARY_STORE_VISIBLE, "stored before it is durable", { "tier_pipelined" } },
    };

    return list;
}

// The legal setups; for the canary about READ, the setup that it wrongly treats as legal.
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

// The first violation that the scenarios report without the rule; "": they report none. A canary is
// looked for with all runs, of which the first that finds it is the last.
std::string noticed(const Canary &canary, int which)
{
    for (const char *name : canary.scenarios)
        for (Setup setup : setups_for(canary)) {
            uint64_t runs = which == RPMI_CANARY_NONE ? scaled(canary.runs) : canary.runs;
            Budget budget = { runs, {}, true };
            Tally tally;

            setup.scenario = name;
            setup.canary = which;
            tally =
                explore(std::string(name) == STALE.name ? STALE : scenario_of(name), setup, budget);
            if (tally.violations > 0)
                return tally.first;
        }
    return "";
}

} // namespace

TEST_CASE("canary: the scenarios detect every rule that is removed", "[canary]")
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
            continue; /* refused while the rule is in force: nothing to run */
        INFO(canary.rule);
        CHECK(noticed(canary, RPMI_CANARY_NONE) == "");
    }
}
