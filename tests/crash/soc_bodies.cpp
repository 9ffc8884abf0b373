// SPDX-License-Identifier: BSD-3-Clause
// soc_bodies.cpp: scenarios of a writer whose agent is on the SoC of the server: the agent dies
// alone while its copy engine still copies, and the server's CPU is stopped while NIC and engine
// write on.
#include "crash/bodies.h"

using namespace cuts;

namespace
{

const unsigned SECOND = 1;
const uint64_t STEPS = 120;           // events, at most, between an append and what happens then
const uint64_t STOPPED_NS = 12000000; // longer than an order waits for its agent

void pass_some_time(Run &run)
{
    for (uint64_t i = run.chance.below(STEPS); i > 0; i--)
        rpm_sim_step(run.sim());
}

void kill_agent(Run &run)
{
    pass_some_time(run);
    run.say("the agent dies");
    rpm_sim_kill_agent(run.sim(), 0);
}

// What it has not done is done without it.
void soc_killed(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    for (size_t len : { 40, 300, 8, 230 })
        writer.async(len);
    kill_agent(run);
    for (size_t len : { 40, 100 })
        writer.async(len);
    writer.poll(true);
    writer.append(200);
}

// Its copies that go on must not reach the records of another writer.
void soc_killed_takeover(Run &run)
{
    LogOracle &oracle = log_of(run, "a");
    Writer first(run, FIRST, oracle);

    first.append(40);
    run.client(SECOND);
    run.begin();
    for (size_t len : { 300, 40, 500 })
        first.async(len);
    kill_agent(run);
    Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
    oracle.read_all(run, second.log(), RPM_VISIBLE, true);
    second.append(300);
    second.append(40);
    pass_some_time(run);
}

// Nor those of the next lap.
void soc_killed_reuse(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    for (size_t len : { 1200, 1200, 1200 })
        writer.append(len);
    run.begin();
    for (int i = 0; i < 3; i++) {
        writer.trim(2);
        writer.async(1200);
        if (i == 0)
            kill_agent(run);
        writer.poll(true);
    }
    writer.trim(0);
    writer.append(1900);
}

// Orders, and the flushes that take their place, wait for the CPU.
void soc_stopped(Run &run)
{
    Writer writer(run, FIRST, log_of(run, "a"));

    run.begin();
    for (size_t len : { 40, 300, 8 }) {
        writer.async(len);
        pass_some_time(run);
        run.say("the server's CPU stops");
        rpm_sim_stop_server(run.sim(), 0, run.chance.below(STOPPED_NS));
        writer.async(100);
        writer.poll(true);
    }
}

} // namespace

const std::vector<Scenario> &soc_scenarios()
{
    static const std::vector<Scenario> all = {
        { "soc_killed", soc_killed },
        { "soc_killed_takeover", soc_killed_takeover },
        { "soc_killed_reuse", soc_killed_reuse },
        { "soc_stopped", soc_stopped },
    };

    return all;
}
