// SPDX-License-Identifier: BSD-3-Clause
// region_test.cpp: region writes under every fault at every event.
#include "crash/bodies.h"
#include "support/catch.h"
#include "support/cuts_report.h"

using namespace cuts;

static const uint64_t RUNS = 400;

TEST_CASE("crash: acknowledged writes survive, others are old or new, neighbours are unchanged",
          "[crash]")
{
    print_total_at_end();
    CHECK(explore_all(region_scenarios(), legal_setups(RPM_DURABLE), scaled(RUNS)) == 0);
}

TEST_CASE("crash: writes at lower levels survive the death of a server or a client", "[crash]")
{
    std::vector<Scenario> scenarios = { scenario_of("write_any"), scenario_of("write_flag") };

    print_total_at_end();
    CHECK(explore_all(scenarios, legal_setups(RPM_PROCESS), scaled(RUNS / 2)) == 0);
    CHECK(explore_all(scenarios, legal_setups(RPM_VISIBLE), scaled(RUNS / 2)) == 0);
}
