// SPDX-License-Identifier: BSD-3-Clause
// bodies.h: the scenarios that the crash and the canary suite share.
#ifndef TESTS_CRASH_BODIES_H
#define TESTS_CRASH_BODIES_H

#include "support/cuts.h"
#include "support/log_oracle.h"
#include "support/region_oracle.h"

const std::vector<cuts::Scenario> &append_scenarios();  // append_bodies.cpp: one writer
const std::vector<cuts::Scenario> &recover_scenarios(); // recover_bodies.cpp: after a loss
const std::vector<cuts::Scenario> &member_scenarios();  // member_bodies.cpp: a set's member
const std::vector<cuts::Scenario> &region_scenarios();  // region_bodies.cpp: region writes
const std::vector<cuts::Scenario> &tier_scenarios();    // tier_bodies.cpp: a log that is stored

const std::vector<cuts::Scenario> &decision_scenarios(); // decision_bodies.cpp: by an agent
const std::vector<cuts::Scenario> &soc_scenarios();      // soc_bodies.cpp: an agent on a SoC

// All scenarios, and one by its name.
std::vector<cuts::Scenario> all_scenarios();
const cuts::Scenario &scenario_of(const std::string &name);

// Every platform and method that can promise @level, with all hints on.
std::vector<cuts::Setup> legal_setups(uint32_t level);

// Each preset with each setting of the hints.
std::vector<cuts::Setup> setups_of(std::initializer_list<const char *> presets,
                                   std::initializer_list<const char *> hints,
                                   uint32_t method = RPM_METHOD_DEFAULT);

std::vector<cuts::Scenario> scenarios_of(std::initializer_list<const char *> names);

inline cuts::LogOracle &log_of(cuts::Run &run, const char *name, uint64_t capacity = 4096)
{
    return run.add(std::make_unique<cuts::LogOracle>(name, capacity));
}

inline cuts::RegionOracle &region_of(cuts::Run &run, const char *name, uint64_t bytes,
                                     uint32_t slot_bytes = 0)
{
    return run.add(std::make_unique<cuts::RegionOracle>(name, bytes, slot_bytes));
}

#endif
