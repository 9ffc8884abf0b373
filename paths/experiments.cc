/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * experiments.cc: runs what an experiment's label begins with, and shows latency, rate, the times
 * of its phases and the cores' time; where the selector chooses, also what it has chosen.
 */
#include "experiments.h"

#include "cases.h"
#include "chains.h"

namespace paths
{

namespace
{

using Json = nlohmann::ordered_json;

const char *const kMetrics[] = { "p50_ns",    "p99_ns",    "max_ns",    "mean_ns",
                                 "mops",      "thread_ns", "host_ns",   "soc_ns",
                                 "phase0_ns", "phase1_ns", "phase2_ns", "phase3_ns" };

bool belongs(const std::string &label, const std::string &name)
{
    return label.compare(0, name.size() + 1, name + "/") == 0;
}

Json chosen_of(const Group &group, const rpm_chain_cost &cost)
{
    Json chosen;

    for (size_t i = 0; i < group.names.size(); i++)
        chosen[group.names[i]] =
            static_cast<double>(cost.ops[i]) / static_cast<double>(cost.all.ops);
    return chosen;
}

Json row_of(const ChainCase &one, uint64_t seed)
{
    const ChainCosts &costs = chain_costs(one, seed);
    Json row = { { "run", one.label }, { "preset", one.preset } };

    for (const char *metric : kMetrics)
        row[metric] = chain_metric(costs, metric);
    if (one.groups[0].select)
        row["chosen"] = chosen_of(one.groups[0], costs[0]);
    return row;
}

std::string chosen_text(const Json &chosen)
{
    std::string text;

    for (const auto &[name, part] : chosen.items()) {
        char one[64];

        std::snprintf(one, sizeof(one), " %s %.1f %%", name.c_str(), part.get<double>() * 100);
        text += one;
    }
    return text;
}

} // namespace

const std::vector<std::string> &experiment_names()
{
    static const std::vector<std::string> names = { "kv", "styx", "wave", "agent" };

    return names;
}

Json experiment_rows(const std::string &name, uint64_t seed)
{
    Json rows = Json::array();

    for (const ChainCase &one : chain_cases())
        if (belongs(one.label, name))
            rows.push_back(row_of(one, seed));
    for (const Number &one : numbers())
        if (belongs(one.label, name))
            rows.push_back(
                { { "run", one.label }, { "number", measure(one.label, "number", seed) } });
    return rows;
}

std::string experiment_text(const Json &row)
{
    char text[200];

    if (row.contains("number")) {
        std::snprintf(text, sizeof(text), "%-26s %12.3f\n", row["run"].get<std::string>().c_str(),
                      row["number"].get<double>());
        return text;
    }
    std::snprintf(
        text, sizeof(text),
        "%-26s %8.3f M/s  p50 %8.1f ns  p99 %8.1f ns  max %8.1f ns  busy: thread %.1f ns, "
        "host %.1f ns, SoC %.1f ns",
        row["run"].get<std::string>().c_str(), row["mops"].get<double>(),
        row["p50_ns"].get<double>(), row["p99_ns"].get<double>(), row["max_ns"].get<double>(),
        row["thread_ns"].get<double>(), row["host_ns"].get<double>(), row["soc_ns"].get<double>());
    return text + (row.contains("chosen") ? ";" + chosen_text(row["chosen"]) : "") + "\n";
}

} // namespace paths
