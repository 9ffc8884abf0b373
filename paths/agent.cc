/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.cc: appends of clients beside an agent's background work, and what the host's cores are
 * busy with while the agent scrubs, or the server. Appends are one-sided (path 1): a WRITE, then a
 * READ that flushes it. The agent runs on the SoC, and copies by the engine, as rule P4 says; it
 * scrubs by checking what it has copied, and tiers by compressing it and sending it to a store.
 */
#include "chains.h"

namespace paths
{

namespace
{

const char kPreset[] = "bf2";

constexpr double kPage = 4096;
constexpr uint64_t kRecord = 256;
constexpr uint64_t kRange = 64 << 10; /* copied at once */
constexpr uint32_t kScrubbers = 2;    /* threads of the agent: six of the SoC's eight cores */
constexpr uint32_t kTierers = 4;

/* What the NIC reads of SoC memory at once: a packet, the largest of RoCE; or a whole segment. */
constexpr uint64_t kPacket = 4 << 10;
constexpr uint64_t kSegment = 512 << 10;

double number(const char *name)
{
    return param_ns(kPreset, name);
}

/* A message to a core of the host says that the range is good. */
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

double compress_ns()
{
    return number("soc_compress") * kRange / kPage;
}

Steps compress()
{
    return { step_of(RPM_CHAIN_READ, RPM_PATH_COPY_ENGINE, kRange),
             work_of(RPM_PATH_SOC, compress_ns()) };
}

Group threads_of(const Steps &steps, uint32_t threads, uint32_t ops)
{
    Group group;

    group.ways = { steps };
    group.threads = threads;
    group.ops = ops;
    return group;
}

/* Half of what the tierers compress goes out, at an even pace. Over the links of the DPU it takes
 * the way of a client's READ. */
Group sends(uint64_t bytes)
{
    double rate = kTierers * static_cast<double>(kRange) / 2 / compress_ns();
    Group group = threads_of({ step_of(RPM_CHAIN_READ, RPM_PATH_SOC, bytes) }, 1, 4);

    group.interval_ns = static_cast<uint64_t>(static_cast<double>(bytes) / rate);
    return group;
}

Group appends()
{
    return threads_of({ step_of(RPM_CHAIN_WRITE, RPM_PATH_HOST, kRecord),
                        step_of(RPM_CHAIN_READ, RPM_PATH_HOST, 1) },
                      16, 30000);
}

ChainCase beside(const char *label, uint64_t sent)
{
    return { label,
             kPreset,
             { appends(), threads_of(scrub_by_agent(), kScrubbers, 20),
               threads_of(compress(), kTierers, 20), sends(sent) } };
}

} // namespace

void add_agent(std::vector<ChainCase> *all)
{
    all->push_back({ "agent/append/alone", kPreset, { appends() } });
    all->push_back(beside("agent/append/beside", kPacket));
    all->push_back(beside("agent/append/beside-whole", kSegment));
    all->push_back({ "agent/scrub/agent", kPreset, { threads_of(scrub_by_agent(), 1, 50) } });
    all->push_back({ "agent/scrub/server", kPreset, { threads_of(scrub_by_server(), 1, 50) } });
}

} // namespace paths
