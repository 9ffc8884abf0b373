/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.cc: appends of clients beside an agent's background work, and what the host's cores are
 * busy with while the agent scrubs, or the server. Appends are one-sided (path 1): a WRITE, then a
 * READ that flushes it. The agent runs on the SoC, and copies by the engine, as rule P4 says; it
 * scrubs by checking what it has copied, and tiers by compressing it for another machine, which
 * reads the result.
 */
#include "chains.h"

namespace paths
{

namespace
{

const char kPreset[] = "bf2";

constexpr uint64_t kRecord = 256;
constexpr uint64_t kRange = 64 << 10; /* scrubbed at once */
constexpr uint64_t kSegment = 1 << 20;
constexpr double kPage = 4096;

double number(const char *name)
{
    return param_ns(kPreset, name);
}

/* The range lies in the host's memory; one message to a core of the host says that it is good. */
Steps scrub_by_agent()
{
    return { step_of(RPM_CHAIN_READ, RPM_PATH_COPY_ENGINE, kRange),
             work_of(RPM_PATH_SOC, number("soc_checksum") * kRange / kPage),
             work_of(RPM_PATH_HOST, number("call_work") + number("call_reply")) };
}

Steps scrub_by_server()
{
    double page_ns = number("page_checksum") + kPage / 64 * number("read_line");

    return { work_of(RPM_PATH_HOST, page_ns * kRange / kPage) };
}

Steps tier_by_agent()
{
    return { step_of(RPM_CHAIN_READ, RPM_PATH_COPY_ENGINE, kSegment),
             work_of(RPM_PATH_SOC, number("soc_compress") * kSegment / kPage),
             step_of(RPM_CHAIN_READ, RPM_PATH_SOC, kSegment / 2) };
}

Group appends()
{
    Group group;

    group.ways = { { step_of(RPM_CHAIN_WRITE, RPM_PATH_HOST, kRecord),
                     step_of(RPM_CHAIN_READ, RPM_PATH_HOST, 1) } };
    group.threads = 16;
    group.ops = 30000;
    return group;
}

Group background(const Steps &steps, uint32_t threads, uint32_t ops)
{
    Group group;

    group.ways = { steps };
    group.threads = threads;
    group.ops = ops;
    return group;
}

} // namespace

void add_agent(std::vector<ChainCase> *all)
{
    all->push_back({ "agent/append/alone", kPreset, { appends() } });
    all->push_back(
        { "agent/append/beside",
          kPreset,
          { appends(), background(scrub_by_agent(), 2, 20), background(tier_by_agent(), 4, 4) } });
    all->push_back({ "agent/scrub/agent", kPreset, { background(scrub_by_agent(), 1, 50) } });
    all->push_back({ "agent/scrub/server", kPreset, { background(scrub_by_server(), 1, 50) } });
}

} // namespace paths
