// SPDX-License-Identifier: BSD-3-Clause
// log_test.cpp: logs under every fault at every event, on every platform, by every legal method.
#include "crash/bodies.h"
#include "support/catch.h"
#include "support/cuts_report.h"

using namespace cuts;

static const uint64_t RUNS = 400;     // for each scenario on each setup
static const uint64_t RUNS_FEW = 200; // for setups that differ only in a detail

TEST_CASE("crash: one line replays one run", "[crash]")
{
    print_total_at_end();
    if (replaying())
        REQUIRE(replay(all_scenarios()) == 0);
    Setup setup;
    Setup read;
    Plan plan = { { 12, Fault::tear }, { 3, Fault::kill } };
    Plan plan_read;

    setup.scenario = "wrap";
    setup.method = RPM_METHOD_COPY;
    setup.seed = 77;
    REQUIRE(from_text(to_text(setup, plan), &read, &plan_read));
    REQUIRE(to_text(read, plan_read) == to_text(setup, plan));
}

TEST_CASE("crash: what a writer appended survives every fault", "[crash]")
{
    CHECK(explore_all(append_scenarios(), legal_setups(RPM_DURABLE), scaled(RUNS)) == 0);
}

TEST_CASE("crash: recovery, takeover and resuming lose and invent nothing", "[crash]")
{
    CHECK(explore_all(recover_scenarios(), legal_setups(RPM_DURABLE), scaled(RUNS)) == 0);
}

TEST_CASE("crash: epochs, tokens and the commit word of a member of a set survive every fault",
          "[crash]")
{
    CHECK(explore_all(member_scenarios(), legal_setups(RPM_DURABLE), scaled(RUNS)) == 0);
}

TEST_CASE("crash: what was stored in a tier before it was trimmed is never lost", "[crash]")
{
    CHECK(explore_all(tier_scenarios(),
                      setups_of({ "adr", "adr-noddio", "eadr", "msync" }, { "all" }),
                      scaled(RUNS_FEW)) == 0);
}

TEST_CASE("crash: hints change nothing about what survives", "[crash]")
{
    CHECK(explore_all(
              scenarios_of({ "append_pipelined", "append_more", "wrap", "large", "resume" }),
              setups_of({ "adr", "adr-noddio", "eadr" }, { "none", "-H5", "-H6", "-H7", "-H9" }),
              scaled(RUNS_FEW)) == 0);
}

// H4 changes something only where the server CPU copies.
TEST_CASE("crash: copies through the caches, written back, lose nothing", "[crash]")
{
    CHECK(
        explore_all(scenarios_of({ "append_pipelined", "append_more", "wrap", "large", "resume" }),
                    setups_of({ "adr", "eadr" }, { "none", "-H4" }, RPM_METHOD_COPY),
                    scaled(RUNS_FEW)) == 0);
}

TEST_CASE("crash: at lower levels the death of a server or a client takes nothing", "[crash]")
{
    auto scenarios =
        scenarios_of({ "append_blocking", "append_pipelined", "append_more", "append_batch", "wrap",
                       "trim_reuse", "takeover", "resume", "follow" });

    CHECK(explore_all(scenarios, legal_setups(RPM_PROCESS), scaled(RUNS_FEW)) == 0);
    CHECK(explore_all(scenarios, legal_setups(RPM_VISIBLE), scaled(RUNS_FEW)) == 0);
}
