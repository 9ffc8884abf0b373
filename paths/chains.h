/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains.h: named runs of operations that take several steps, and what the steps are made from.
 */
#ifndef RPM_PATHS_CHAINS_H
#define RPM_PATHS_CHAINS_H

#include "model.h"

#include <functional>
#include <librpm/chain.h>

namespace paths
{

using Steps = std::vector<rpm_chain_step>;
using ChainCosts = std::vector<rpm_chain_cost>;

/* Threads that do the same thing by one of several chains. */
struct Group {
    std::vector<Steps> ways;
    std::vector<uint32_t> shares = {}; /* none: the first alone */
    uint32_t threads = 1;
    uint32_t depth = 1;
    uint32_t ops = 20000;
    bool select = false;
    uint64_t interval_ns = 0;
};

struct ChainCase {
    std::string label;
    std::string preset;
    std::vector<Group> groups;
};

ChainCosts run_groups(const std::string &preset, const std::vector<Group> &groups, uint64_t seed);

rpm_chain_step step_of(uint32_t op, uint32_t path, uint64_t bytes);
/* By a core of the host (path 1) or the SoC (path 2), or by the thread (0). */
rpm_chain_step work_of(uint32_t path, double ns);
rpm_chain_step wait_of(double ns);
rpm_chain_step in_phase(rpm_chain_step step, uint32_t phase);

/* kv.cc, wave.cc, agent.cc */
void add_kv(std::vector<ChainCase> *all);
void add_wave(std::vector<ChainCase> *all);
void add_agent(std::vector<ChainCase> *all);

const std::vector<ChainCase> &chain_cases();

/* Of the first group: "p50_ns", "p99_ns", "mean_ns", "phase0_ns" to "phase3_ns", "host_ns" (the
 * thread and the host's other cores), "mops". */
double chain_metric(const ChainCosts &costs, const std::string &metric);

/* A number that is computed from several runs. */
struct Number {
    std::string label;
    std::function<double(uint64_t seed)> value;
};

/* Microseconds of each phase of each function of STYX: "styx/compare/submission". */
void add_styx_phases(std::vector<Number> *all);

const std::vector<Number> &numbers();

/* Millions of Gets a second when the selector chooses; of the best alternative alone; of the best
 * mix of alternatives that is found in hindsight. */
double kv_combined(uint64_t seed);
double kv_single(uint64_t seed);
double kv_hindsight(uint64_t seed);
/* Part of a core's time that ksm takes, with the bytes on the host and on the SoC. */
double ksm_host(uint64_t seed);
double ksm_offloaded(uint64_t seed);

} // namespace paths

#endif
