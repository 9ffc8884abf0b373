// SPDX-License-Identifier: BSD-3-Clause
// setups.cpp: the list of scenarios, and the platforms and methods that they run on.
#include "crash/bodies.h"

#include <stdexcept>

using namespace cuts;

static rpm_facts facts_of(const char *preset, uint32_t native_flush)
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_facts facts = rpm_facts_init();
    rpm_conn *conn = nullptr;
    rpm_sim *sim = nullptr;

    opts.preset = preset;
    opts.native_flush = native_flush;
    if (rpm_sim_open(&opts, &sim) != 0 || rpm_sim_connect(sim, 0, nullptr, &conn) != 0 ||
        rpm_conn_facts(conn, &facts) != 0)
        throw std::runtime_error(rpm_last_error());
    rpm_conn_close(&conn);
    rpm_sim_close(&sim);
    return facts;
}

std::vector<Setup> legal_setups(uint32_t level)
{
    std::vector<Setup> setups;

    for (const char *preset : { "adr", "adr-noddio", "eadr", "msync" }) {
        for (uint32_t native_flush : { 0, 1 }) {
            rpm_facts facts = facts_of(preset, native_flush);

            for (uint32_t method = 1; method < RPM_METHOD_COUNT; method++) {
                Setup setup;

                if (native_flush == 1 && method != RPM_METHOD_FLUSH)
                    continue; // the same without it
                if ((facts.methods & 1u << method) == 0 ||
                    rpm_legal(&facts, static_cast<rpm_method>(method),
                              static_cast<rpm_level>(level), nullptr) == 0)
                    continue;
                setup.preset = preset;
                setup.native_flush = native_flush;
                setup.method = method;
                setup.level = level;
                setups.push_back(setup);
            }
        }
    }
    return setups;
}

std::vector<Setup> setups_of(std::initializer_list<const char *> presets,
                             std::initializer_list<const char *> hints, uint32_t method)
{
    std::vector<Setup> setups;

    for (const char *preset : presets)
        for (const char *text : hints) {
            Setup setup;

            setup.preset = preset;
            setup.hints = text;
            setup.method = method;
            setups.push_back(setup);
        }
    return setups;
}

std::vector<Scenario> scenarios_of(std::initializer_list<const char *> names)
{
    std::vector<Scenario> scenarios;

    for (const char *name : names)
        scenarios.push_back(scenario_of(name));
    return scenarios;
}

std::vector<Scenario> all_scenarios()
{
    std::vector<Scenario> all = append_scenarios();

    all.insert(all.end(), recover_scenarios().begin(), recover_scenarios().end());
    all.insert(all.end(), member_scenarios().begin(), member_scenarios().end());
    all.insert(all.end(), region_scenarios().begin(), region_scenarios().end());
    all.insert(all.end(), tier_scenarios().begin(), tier_scenarios().end());
    all.insert(all.end(), decision_scenarios().begin(), decision_scenarios().end());
    all.insert(all.end(), soc_scenarios().begin(), soc_scenarios().end());
    return all;
}

const Scenario &scenario_of(const std::string &name)
{
    for (const auto *group :
         { &append_scenarios(), &recover_scenarios(), &member_scenarios(), &region_scenarios(),
           &tier_scenarios(), &decision_scenarios(), &soc_scenarios() })
        for (const Scenario &scenario : *group)
            if (name == scenario.name)
                return scenario;
    throw std::out_of_range(name);
}
