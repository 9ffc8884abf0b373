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
    std::vector<std::string> names = {}; /* of the ways, if there are several */
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

/* Of a named run, carried out once. */
const ChainCosts &chain_costs(const ChainCase &one, uint64_t seed);

/* Of the first group: "p50_ns", "p99_ns", "max_ns", "mean_ns", "mops", "phase0_ns" to "phase3_ns";
 * how long an operation keeps cores busy, "thread_ns", "host_ns" (its other cores), "soc_ns". */
double chain_metric(const ChainCosts &costs, const std::string &metric);

/* A number that is computed from several runs. */
struct Number {
    std::string label;
    std::function<double(uint64_t seed)> value;
};

/* Microseconds of each phase of each function of STYX: "styx/compare/submission". */
void add_styx_phases(std::vector<Number> *all);

const std::vector<Number> &numbers();

/* Millions of Gets a second of saturated clients: by A1; when the selector chooses; by the
 * alternative that takes least time while idle; by the one that has the highest rate; by the best
 * mix that is found in hindsight. */
double kv_first(uint64_t seed);
double kv_combined(uint64_t seed);
double kv_ranked(uint64_t seed);
double kv_single(uint64_t seed);
double kv_hindsight(uint64_t seed);
/* The selector over the best single alternative at the same load: the least of that over loads of 1
 * to 256 Gets outstanding; and where one and a half times as many are outstanding as the fastest
 * alternative serves without a queue. */
double kv_loads(uint64_t seed);
double kv_gain(uint64_t seed);
/* Part of a core's time that ksm takes, with the bytes on the host and on the SoC; and parts of
 * ksm's time that offloaded comparisons and checksums take. */
double ksm_host(uint64_t seed);
double ksm_offloaded(uint64_t seed);
double ksm_compare_part(uint64_t seed);
double ksm_checksum_part(uint64_t seed);
/* Nanoseconds of a checksum: one of a batch of eight pages, and one by itself. */
double styx_of_eight(uint64_t seed);
double styx_alone(uint64_t seed);

} // namespace paths

#endif
