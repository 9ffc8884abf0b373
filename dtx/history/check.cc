/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: determines outcomes, then the order of versions, then builds the graph and finds
 * cycles.
 */
#include "history/check.h"

#include "history/cycles.h"
#include "history/explain.h"
#include "history/outcomes.h"
#include "history/versions.h"

#include <algorithm>
#include <vector>

namespace dtx::history
{

namespace
{

constexpr unsigned kPlain = kAllDeps & ~mask_of(Dep::kRt);

void count(const History &history, CheckResult &result)
{
    for (uint32_t txn = 0; txn < history.txns(); txn++) {
        const Txn &what = history.txn(txn);
        if (what.outcome != TxnOutcome::kAbsent)
            result.by_status[static_cast<size_t>(what.outcome)]++;
        result.reads += what.reads;
        result.writes += what.writes;
    }
    result.objects = history.objects();
    result.final_objects = history.final_items().size();
}

using Components = std::vector<std::vector<uint32_t>>;

uint64_t transactions_of(const Graph &graph, const std::vector<uint32_t> &component)
{
    return static_cast<uint64_t>(std::count_if(component.begin(), component.end(),
                                               [&](uint32_t n) { return !graph.is_point(n); }));
}

/* A cycle that needs no real-time edge is reported alone: larger ones around it add nothing. */
void find_cycles(const History &history, const Versions &versions, const Graph &graph,
                 CheckResult &result)
{
    Components all = components(graph, kAllDeps);

    result.components = all.size();
    if (all.empty())
        return;
    CycleFinder finder(graph);
    std::vector<bool> plain(graph.nodes());
    auto report = [&](const std::vector<uint32_t> &component, unsigned mask, Kind kind) {
        result.violations.add(kind, [&] {
            return explain_cycle(history, versions, finder.find(component, mask),
                                 transactions_of(graph, component));
        });
    };
    for (const std::vector<uint32_t> &component : components(graph, kPlain)) {
        for (uint32_t node : component)
            plain[node] = true;
        report(component, kPlain, Kind::kCycle);
    }
    for (const std::vector<uint32_t> &component : all)
        if (std::none_of(component.begin(), component.end(), [&](uint32_t n) { return plain[n]; }))
            report(component, kAllDeps, Kind::kRealTimeCycle);
}

} // namespace

CheckResult check(const History &history, const CheckOptions &options)
{
    CheckResult result(options.limit);
    Outcomes outcomes(history, options.partial);
    Versions versions(history, outcomes, options.partial);

    count(history, result);
    result.proven = outcomes.proven();
    versions.check(result.violations);
    Graph graph(history, versions, options.strict);
    for (size_t dep = 0; dep < kDeps; dep++)
        result.edges[dep] = graph.edges(static_cast<Dep>(dep));
    find_cycles(history, versions, graph, result);
    return result;
}

} // namespace dtx::history
