// SPDX-License-Identifier: BSD-3-Clause
// record_test.cpp: durable writes in place under every fault at every event.
#include "crash/bodies.h"
#include "support/catch.h"
#include "support/cuts_report.h"

using namespace cuts;

static const uint64_t RUNS = 400;

TEST_CASE("crash: acknowledged writes stay, others are old or new, neighbours are untouched",
          "[crash]")
{
    std::vector<Scenario> scenarios;

    print_total_at_end();
    for (const Scenario &scenario : record_scenarios())
        if (std::string(scenario.name) != "write_async")
            scenarios.push_back(scenario);
    CHECK(explore_all(scenarios, legal_setups(RPM_DURABLE), scaled(RUNS)) == 0);
}

// Nobody fences a region: what a dead client had on the wire may still arrive after others looked.
TEST_CASE("crash: asynchronous writes are as promised while their client lives", "[crash]")
{
    const Budget budget = { scaled(RUNS),
                            { Fault::none, Fault::drop, Fault::tear, Fault::reorder, Fault::kill },
                            false,
                            false };

    print_total_at_end();
    for (Setup setup : legal_setups(RPM_DURABLE)) {
        setup.scenario = "write_async";
        if (!replaying() && wanted(scenario_of("write_async")))
            CHECK(explore(scenario_of("write_async"), setup, budget).violations == 0);
    }
}

TEST_CASE("crash: writes at lower levels survive the death of a server or a client", "[crash]")
{
    std::vector<Scenario> scenarios = { scenario_of("write_any"), scenario_of("write_flag") };

    print_total_at_end();
    CHECK(explore_all(scenarios, legal_setups(RPM_PROCESS), scaled(RUNS / 2)) == 0);
    CHECK(explore_all(scenarios, legal_setups(RPM_VISIBLE), scaled(RUNS / 2)) == 0);
}
