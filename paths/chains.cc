/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains.cc: runs groups of chains on a preset, and lists the named runs.
 */
#include "chains.h"

#include <map>

namespace paths
{

namespace
{

rpm_chain_step timed(uint32_t op, uint32_t path, double ns)
{
    rpm_chain_step one = step_of(op, path, 0);

    one.work_ps = static_cast<uint64_t>(ns * 1000 + 0.5);
    return one;
}

} // namespace

rpm_chain_step step_of(uint32_t op, uint32_t path, uint64_t bytes)
{
    rpm_chain_step one = {};

    one.op = op;
    one.path = path;
    one.bytes = bytes;
    return one;
}

rpm_chain_step work_of(uint32_t path, double ns)
{
    return timed(RPM_CHAIN_WORK, path, ns);
}

rpm_chain_step wait_of(double ns)
{
    return timed(RPM_CHAIN_WAIT, 0, ns);
}

rpm_chain_step in_phase(rpm_chain_step step, uint32_t phase)
{
    step.phase = phase;
    return step;
}

ChainCosts run_groups(const std::string &preset, const std::vector<Group> &groups, uint64_t seed)
{
    std::vector<std::vector<rpm_chain>> chains(groups.size());
    std::vector<rpm_chain_group> flat(groups.size());
    rpm_chain_load load = rpm_chain_load_init();
    ChainCosts costs(groups.size());
    OpenModel model(preset);

    for (size_t i = 0; i < groups.size(); i++) {
        const Group &group = groups[i];

        for (size_t k = 0; k < group.ways.size(); k++) {
            uint32_t share = k < group.shares.size() ? group.shares[k] : k == 0;

            chains[i].push_back(
                { group.ways[k].data(), static_cast<uint32_t>(group.ways[k].size()), share });
        }
        flat[i].chains = chains[i].data();
        flat[i].count = static_cast<uint32_t>(chains[i].size());
        flat[i].threads = group.threads;
        flat[i].depth = group.depth;
        flat[i].ops = group.ops;
        flat[i].select = group.select;
        flat[i].interval_ps = group.interval_ns * 1000;
    }
    load.groups = flat.data();
    load.count = static_cast<uint32_t>(flat.size());
    load.seed = seed;
    cli::check("preset " + preset, rpm_model_run_chains(model.get(), &load, costs.data()));
    return costs;
}

const std::vector<ChainCase> &chain_cases()
{
    static const std::vector<ChainCase> all = [] {
        std::vector<ChainCase> made;

        add_kv(&made);
        add_wave(&made);
        add_agent(&made);
        return made;
    }();

    return all;
}

const std::vector<Number> &numbers()
{
    static const std::vector<Number> all = [] {
        std::vector<Number> made = {
            { "kv/first", kv_first },
            { "kv/combined", kv_combined },
            { "kv/ranked", kv_ranked },
            { "kv/single", kv_single },
            { "kv/hindsight", kv_hindsight },
            { "kv/loads", kv_loads },
            { "kv/gain", kv_gain },
            { "styx/of-eight", styx_of_eight },
            { "styx/alone", styx_alone },
            { "styx/ksm/host", ksm_host },
            { "styx/ksm/offloaded", ksm_offloaded },
            { "styx/ksm/compare-part", ksm_compare_part },
            { "styx/ksm/checksum-part", ksm_checksum_part },
        };

        add_styx_phases(&made);
        return made;
    }();

    return all;
}

const ChainCosts &chain_costs(const ChainCase &one, uint64_t seed)
{
    static std::map<std::pair<std::string, uint64_t>, ChainCosts> known;
    auto [at, fresh] = known.try_emplace({ one.label, seed });

    if (fresh)
        at->second = run_groups(one.preset, one.groups, seed);
    return at->second;
}

double chain_metric(const ChainCosts &costs, const std::string &metric)
{
    const rpm_chain_cost &cost = costs.at(0);

    if (metric == "p50_ns")
        return ns(cost.all.p50_ps);
    if (metric == "p99_ns")
        return ns(cost.all.p99_ps);
    if (metric == "mean_ns")
        return ns(cost.all.mean_ps);
    if (metric == "mops")
        return mops(cost.all);
    if (metric == "max_ns")
        return ns(cost.all.max_ps);
    if (metric == "thread_ns")
        return ns(cost.thread_ps);
    if (metric == "host_ns")
        return ns(cost.host_ps);
    if (metric == "soc_ns")
        return ns(cost.soc_ps);
    for (uint32_t i = 0; i < RPM_CHAIN_PHASES; i++)
        if (metric == "phase" + std::to_string(i) + "_ns")
            return ns(cost.phase_ps[i]);
    throw cli::Failure("no metric of a chain is called \"" + metric +
                       "\"; there are p50_ns, p99_ns, max_ns, mean_ns, mops, thread_ns, host_ns, "
                       "soc_ns and phase0_ns to phase3_ns");
}

} // namespace paths
