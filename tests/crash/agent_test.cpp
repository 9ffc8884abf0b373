// SPDX-License-Identifier: BSD-3-Clause
// agent_test.cpp: logs whose records an agent has certified, under every fault at every event: the
// orders travel on another connection than the records, so they may arrive before them.
#include "crash/bodies.h"
#include "support/catch.h"
#include "support/cuts_report.h"
#include "support/liar.h"

using namespace cuts;

static const uint64_t RUNS = 300; // for each scenario on each setup

static std::vector<Scenario> log_scenarios()
{
    return scenarios_of(
        { "append_blocking", "append_pipelined", "append_shared",  "append_shared_two",
          "append_more",     "append_batch",     "append_reserve", "wrap",
          "large",           "trim_reuse",       "full_ring",      "recover_again",
          "takeover",        "takeover_resume",  "many_writers",   "resume",
          "resume_batch",    "resume_late",      "resume_two",     "follow" });
}

static std::vector<Setup> carry_setups(std::initializer_list<const char *> hints)
{
    return setups_of({ "adr", "adr-noddio", "eadr", "msync" }, hints, RPM_METHOD_CARRY);
}

// On the server's SoC, which stores what it carries by a copy engine.
static std::vector<Setup> on_soc(std::vector<Setup> setups)
{
    for (Setup &setup : setups)
        setup.soc = true;
    return setups;
}

static std::vector<Setup> order_setups(std::initializer_list<const char *> hints)
{
    return setups_of({ "adr", "adr-noddio", "eadr", "msync" }, hints, RPM_METHOD_ORDER);
}

TEST_CASE("crash: what an agent had certified survives every fault", "[crash]")
{
    print_total_at_end();
    if (replaying())
        REQUIRE(replay(all_scenarios()) == 0);
    CHECK(explore_all(log_scenarios(), order_setups({ "all" }), scaled(RUNS)) == 0);
}

// Some flushes go to the server and some to the agent, which is asked about some of the others too.
TEST_CASE("crash: by the agent or the server, records survive every fault", "[crash]")
{
    std::vector<Setup> setups = order_setups({ "all" });
    Setup lied;

    lied.lie = static_cast<int>(Lie::forges);
    setups.push_back(lied);
    for (Setup &setup : setups) {
        setup.method = RPM_METHOD_DEFAULT; // where a READ proves durability, the agent is not asked
        setup.agent = true;
    }
    CHECK(explore_all(log_scenarios(), setups, scaled(RUNS / 3)) == 0);
}

// A liar costs speed: each lie is found out, or waited for in vain, and the server flushes.
TEST_CASE("crash: an agent that lies loses and invents nothing", "[crash]")
{
    std::vector<Setup> setups;
    Setup setup;

    setup.method = RPM_METHOD_ORDER;
    for (const char *preset : { "adr", "msync" })
        for (int lie = 1; lie < ORDER_LIES; lie++) {
            setup.preset = preset;
            setup.lie = lie;
            setups.push_back(setup);
        }
    CHECK(explore_all({ scenario_of("append_blocking"), scenario_of("append_pipelined"),
                        scenario_of("takeover"), scenario_of("resume") },
                      setups, scaled(RUNS / 6)) == 0);
}

TEST_CASE("crash: with an agent, hints change nothing about what survives", "[crash]")
{
    CHECK(explore_all({ scenario_of("append_pipelined"), scenario_of("append_more") },
                      order_setups({ "none", "-H9" }), scaled(RUNS / 2)) == 0);
}

// The writer trims by lines of an agent, whose folder it does not see.
TEST_CASE("crash: what is trimmed by an agent's decision is in its segments", "[crash]")
{
    CHECK(explore_all(decision_scenarios(),
                      setups_of({ "adr", "msync" }, { "all" }, RPM_METHOD_ORDER),
                      scaled(RUNS)) == 0);
}

TEST_CASE("crash: what an agent has carried, and had certified, survives every fault", "[crash]")
{
    CHECK(explore_all(log_scenarios(), carry_setups({ "all" }), scaled(RUNS)) == 0);
}

// Of a declared agent too. What it stores late, or again, changes nothing: not after a takeover,
// nor after a trim and a whole lap.
TEST_CASE("crash: an agent that carries records and lies loses and invents nothing", "[crash]")
{
    std::vector<Setup> setups;
    Setup setup;

    setup.method = RPM_METHOD_CARRY;
    for (const char *preset : { "adr", "msync" })
        for (int lie = 1; lie < LIES; lie++) {
            setup.preset = preset;
            setup.lie = lie;
            setups.push_back(setup);
        }
    CHECK(explore_all(scenarios_of({ "append_blocking", "append_pipelined", "append_shared_two",
                                     "wrap", "trim_reuse", "takeover", "takeover_resume",
                                     "many_writers", "resume" }),
                      setups, scaled(RUNS / 6)) == 0);
}

TEST_CASE("crash: with an agent that carries, hints change nothing about what survives", "[crash]")
{
    CHECK(explore_all({ scenario_of("append_pipelined"), scenario_of("append_more") },
                      carry_setups({ "none", "-H9" }), scaled(RUNS / 2)) == 0);
}

// The engine's lines have no order with the records that the NIC writes, nor among themselves, and
// its completion proves nothing: the server's certificate does.
TEST_CASE("crash: what a SoC has copied, and the server certified, survives every fault", "[crash]")
{
    CHECK(explore_all(log_scenarios(), on_soc(carry_setups({ "all" })), scaled(RUNS / 2)) == 0);
    CHECK(explore_all(decision_scenarios(),
                      on_soc(setups_of({ "adr", "msync" }, { "all" }, RPM_METHOD_ORDER)),
                      scaled(RUNS / 3)) == 0);
}

TEST_CASE("crash: agents on a SoC die alone, or the server's CPU stops, and no record is lost",
          "[crash]")
{
    CHECK(explore_all(soc_scenarios(), on_soc(carry_setups({ "all" })), scaled(RUNS)) == 0);
}
