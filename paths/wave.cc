/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave.cc: decisions by an agent (Wave, Humphries et al., ASPLOS 2025): a scheduler that runs on a
 * core of the host, or on the SoC. Two one-way queues of 64-byte entries join host and agent:
 * events, such as that a thread has blocked, and decisions, such as which one runs next. On a DPU
 * both queues are in its memory: the host stores events and loads decisions over PCIe, and neither
 * side uses a lock or an atomic of the other's memory.
 *
 * Prestaging: the agent writes the next decision before the host needs it. Fetching: the host
 * begins to load it when the thread blocks, and does other things meanwhile. Both can be left out.
 */
#include "chains.h"

#include <algorithm>

namespace paths
{

namespace
{

const char kPreset[] = "wave";

constexpr uint64_t kEntry = 64;

/* Phases of a switch from one thread to the next. */
enum Phase : uint32_t { kEvent = 0, kDecision = 1, kSwitch = 2 };

double number(const char *name)
{
    return param_ns(kPreset, name);
}

/* The agent takes the event up, decides, and has the decision carried out: on the host by a system
 * call that interrupts the other core, on the SoC by a store that raises an interrupt. */
Steps decide(bool dpu)
{
    if (!dpu)
        return { in_phase(wait_of(number("agent_event")), kEvent),
                 in_phase(work_of(RPM_PATH_HOST, number("agent_decide")), kDecision),
                 in_phase(work_of(RPM_PATH_HOST, number("agent_commit")), kDecision) };

    /* A core of the SoC is as much slower as it is with messages. */
    double slower = number("soc_call") / (number("call_work") + number("call_reply"));

    return { in_phase(step_of(RPM_CHAIN_STORE, RPM_PATH_SOC, kEntry), kEvent),
             in_phase(step_of(RPM_CHAIN_READ, RPM_PATH_SOC_ONLY, kEntry), kEvent),
             in_phase(work_of(RPM_PATH_SOC, number("agent_decide") * slower), kDecision),
             in_phase(work_of(RPM_PATH_SOC, number("soc_post")), kDecision) };
}

Steps load_decision(bool dpu)
{
    if (!dpu)
        return { in_phase(wait_of(number("agent_event")), kSwitch) };
    return { in_phase(step_of(RPM_CHAIN_LOAD, RPM_PATH_SOC, kEntry), kSwitch) };
}

/* A load that was begun when the thread blocked. */
Steps fetched_decision(bool dpu)
{
    Group group;

    group.ways = { load_decision(dpu) };
    group.ops = 100;
    double load_ns = ns(run_groups(kPreset, { group }, 1)[0].all.mean_ps);

    return { in_phase(wait_of(std::max(0.0, load_ns - number("host_sleep"))), kSwitch) };
}

void append(Steps *steps, const Steps &more)
{
    steps->insert(steps->end(), more.begin(), more.end());
}

/* From the moment a thread blocks until the next one runs. */
Steps switch_of(bool dpu, bool prestage, bool fetch)
{
    Steps steps = { in_phase(work_of(0, number("host_sleep")), kSwitch) };

    if (!prestage) {
        append(&steps, decide(dpu));
        /* The interrupt's way. On the host it is part of what the core takes for it. */
        if (dpu)
            steps.push_back(
                in_phase(wait_of(number("switch_latency") + number("pcie_write")), kSwitch));
        steps.push_back(in_phase(work_of(0, number("host_wake")), kSwitch));
        if (dpu)
            append(&steps, load_decision(dpu));
        return steps;
    }
    append(&steps, fetch ? fetched_decision(dpu) : load_decision(dpu));
    /* The core switches to the thread by itself. */
    steps.push_back(in_phase(work_of(0, number("host_sleep")), kSwitch));
    return steps;
}

} // namespace

void add_wave(std::vector<ChainCase> *all)
{
    for (bool dpu : { false, true }) {
        std::string where = dpu ? "dpu" : "host";
        Group group;

        group.ops = 200;
        group.ways = { switch_of(dpu, false, false) };
        all->push_back({ "wave/" + where + "/plain", kPreset, { group } });
        group.ways = { switch_of(dpu, true, false) };
        all->push_back({ "wave/" + where + "/prestaged", kPreset, { group } });
        group.ways = { switch_of(dpu, true, true) };
        all->push_back({ "wave/" + where + "/fetched", kPreset, { group } });
    }
}

} // namespace paths
