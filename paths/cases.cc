/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cases.cc: the named runs. All loads are defaults of a sweep: 64 bytes and one operation at a time
 * for latencies; 32 threads with 16 outstanding for rates; 64 KiB, 8 threads with 4 outstanding for
 * bandwidths.
 */
#include "cases.h"

#include "chains.h"

#include <algorithm>
#include <map>

namespace paths
{

namespace
{

constexpr uint64_t kMiB = 1 << 20;

rpm_path_flow flow(uint32_t path, uint32_t op, uint64_t bytes, uint32_t threads, uint32_t depth)
{
    rpm_path_flow one = {};

    one.path = path;
    one.op = op;
    one.bytes = bytes;
    one.threads = threads;
    one.depth = depth;
    return one;
}

rpm_path_flow alone(uint32_t path, uint32_t op, uint64_t bytes = 64)
{
    return flow(path, op, bytes, 1, 1);
}

rpm_path_flow many(uint32_t path, uint32_t op, uint64_t bytes = 64)
{
    return flow(path, op, bytes, 32, 16);
}

rpm_path_flow wide(uint32_t path, uint32_t op, uint64_t bytes = 64 << 10)
{
    return flow(path, op, bytes, 8, 4);
}

rpm_path_flow in_pieces(rpm_path_flow one, uint64_t piece, uint32_t pieces)
{
    one.piece_bytes = piece;
    one.pieces = pieces;
    one.ops = 16;
    return one;
}

rpm_path_flow hot(rpm_path_flow one, uint64_t range)
{
    one.range_bytes = range;
    return one;
}

/* So that a thread starts an operation each @ns. */
rpm_path_flow every(rpm_path_flow one, uint64_t ns)
{
    one.interval_ps = ns * 1000;
    return one;
}

const char *const kOps[] = { "read", "write", "send" };

void add_small(std::vector<Case> *all)
{
    for (uint32_t op : { RPM_PATH_READ, RPM_PATH_WRITE, RPM_PATH_SEND }) {
        std::string name = kOps[op];

        all->push_back({ "latency/" + name + "/rnic", "cx6", { alone(RPM_PATH_HOST, op) } });
        all->push_back({ "latency/" + name + "/1", "bf2", { alone(RPM_PATH_HOST, op) } });
        all->push_back({ "latency/" + name + "/2", "bf2", { alone(RPM_PATH_SOC, op) } });
        all->push_back({ "rate/" + name + "/rnic", "cx6", { many(RPM_PATH_HOST, op) } });
        all->push_back({ "rate/" + name + "/1", "bf2", { many(RPM_PATH_HOST, op) } });
        all->push_back({ "rate/" + name + "/2", "bf2", { many(RPM_PATH_SOC, op) } });
        all->push_back({ "rate/" + name + "/1+2",
                         "bf2",
                         { many(RPM_PATH_HOST, op), many(RPM_PATH_SOC, op) } });
    }
    all->push_back({ "rate/write/2-hot", "bf2", { hot(many(RPM_PATH_SOC, RPM_PATH_WRITE), 64) } });
    all->push_back(
        { "rate/write/2-spread", "bf2", { hot(many(RPM_PATH_SOC, RPM_PATH_WRITE), 4096) } });
}

void add_large(std::vector<Case> *all)
{
    for (uint32_t path : { RPM_PATH_HOST, RPM_PATH_SOC }) {
        std::string name = path == RPM_PATH_HOST ? "host" : "soc";
        rpm_path_flow read = flow(path, RPM_PATH_READ, 16 * kMiB, 1, 1);
        rpm_path_flow small = alone(path, RPM_PATH_READ);

        small.ops = 400;
        all->push_back({ "large/" + name + "/whole", "bf2", { in_pieces(read, 16 * kMiB, 1) } });
        all->push_back({ "large/" + name + "/pieces", "bf2", { in_pieces(read, kMiB, 4) } });
        all->push_back(
            { "beside/" + name + "/whole", "bf2", { small, in_pieces(read, 16 * kMiB, 1) } });
        all->push_back(
            { "beside/" + name + "/pieces", "bf2", { small, in_pieces(read, kMiB, 1) } });
    }
}

void add_copies(std::vector<Case> *all)
{
    for (uint32_t path : { RPM_PATH_COPY_NIC, RPM_PATH_COPY_ENGINE })
        for (uint32_t op : { RPM_PATH_READ, RPM_PATH_WRITE })
            for (uint64_t bytes : { 64, 256, 1024, 4096, 16384, 65536 })
                all->push_back(
                    { "copy/" + path_name(path) + "/" + kOps[op] + "/" + std::to_string(bytes),
                      "bf2",
                      { flow(path, op, bytes, 8, 16) } });
}

/* Clients beside copies from SoC memory to the host. */
void add_beside(std::vector<Case> *all)
{
    rpm_path_flow read = wide(RPM_PATH_HOST, RPM_PATH_READ);
    rpm_path_flow write = wide(RPM_PATH_HOST, RPM_PATH_WRITE);
    rpm_path_flow by_nic = wide(RPM_PATH_COPY_NIC, RPM_PATH_WRITE);
    rpm_path_flow by_engine = wide(RPM_PATH_COPY_ENGINE, RPM_PATH_WRITE);
    /* 8 threads, each a copy of 64 KiB in 128 us: 4.1 GB/s, less than the 5 GB/s that PCIe0 has
     * over the network in preset bf2 when headers are counted. */
    rpm_path_flow limited = every(by_nic, 128000);

    all->push_back({ "busy/read/alone", "bf2", { read } });
    all->push_back({ "busy/read/3R", "bf2", { read, by_nic } });
    all->push_back({ "busy/read/3D", "bf2", { read, by_engine } });
    all->push_back({ "busy/write/alone", "bf2", { write } });
    all->push_back({ "busy/write/3R", "bf2", { write, by_nic } });
    all->push_back({ "busy/write/3R-limited", "bf2", { write, limited } });
    all->push_back({ "pair/read+write", "bf2", { read, write } });
    all->push_back({ "pair/read+read", "bf2", { read, read } });
}

} // namespace

const std::vector<Case> &cases()
{
    static const std::vector<Case> all = [] {
        std::vector<Case> made;

        add_small(&made);
        add_large(&made);
        add_copies(&made);
        add_beside(&made);
        return made;
    }();

    return all;
}

const std::vector<Rule> &rules()
{
    static const std::vector<Rule> all = {
        { "P1", "a server whose clients use path 1 alone has an RNIC", "median of a READ, ns",
          "p50_ns", "latency/read/rnic", "latency/read/1", true },
        { "P2", "clients use READs, not messages, for what is in SoC memory", "M/s", "mops",
          "rate/read/2", "rate/send/2", false },
        { "P3", "READs of SoC memory in pieces of 1 MiB", "p99 of small READs beside one, ns",
          "p99_ns", "beside/soc/pieces", "beside/soc/whole", true },
        { "P4", "no RDMA between SoC and host while clients read", "clients, GB/s", "gbs0",
          "busy/read/3D", "busy/read/3R", false },
        { "P5", "small copies by RDMA", "256 B from SoC to host, M/s", "mops", "copy/3R/write/256",
          "copy/3D/write/256", false },
        { "P6", "paths 1 and 2 side by side", "READs, M/s", "mops", "rate/read/1+2", "rate/read/1",
          false },
        { "P7", "copies limited to what PCIe has over the network", "clients' WRITEs, GB/s", "gbs0",
          "busy/write/3R-limited", "busy/write/3R", false },
        { "P8", "READs beside WRITEs", "both, GB/s", "gbs", "pair/read+write", "pair/read+read",
          false },
        { "P9", "no hot range in SoC memory", "WRITEs to 4 KiB and to one line, M/s", "mops",
          "rate/write/2-spread", "rate/write/2-hot", false },
    };

    return all;
}

namespace
{

double measure_flows(const Case &one, const std::string &metric, uint64_t seed)
{
    static std::map<std::pair<std::string, uint64_t>, Costs> known;
    auto [at, fresh] = known.try_emplace({ one.label, seed });
    double sum = 0;

    if (fresh)
        at->second = run(one.preset, one.flows, seed);
    const Costs &costs = at->second;
    if (metric == "p50_ns")
        return ns(costs[0].p50_ps);
    if (metric == "p99_ns")
        return ns(costs[0].p99_ps);
    if (metric == "gbs0")
        return gbs(costs[0]);
    if (metric != "mops" && metric != "gbs")
        throw cli::Failure("no metric is called \"" + metric +
                           "\"; there are p50_ns, p99_ns, mops, gbs and gbs0");
    for (const rpm_path_cost &cost : costs)
        sum += metric == "mops" ? mops(cost) : gbs(cost);
    return sum;
}

double measure_number(const Number &one, uint64_t seed)
{
    static std::map<std::pair<std::string, uint64_t>, double> known;
    auto [at, fresh] = known.try_emplace({ one.label, seed });

    if (fresh)
        at->second = one.value(seed);
    return at->second;
}

template <typename List> auto find(const List &list, const std::string &label)
{
    return std::find_if(list.begin(), list.end(),
                        [&label](const auto &one) { return one.label == label; });
}

} // namespace

double measure(const std::string &label, const std::string &metric, uint64_t seed)
{
    auto flows = find(cases(), label);
    auto chains = find(chain_cases(), label);
    auto number = find(numbers(), label);

    if (flows != cases().end())
        return measure_flows(*flows, metric, seed);
    if (chains != chain_cases().end())
        return chain_metric(chain_costs(*chains, seed), metric);
    if (number == numbers().end())
        throw cli::Failure("no run is called \"" + label + "\"");
    if (metric != "number")
        throw cli::Failure("\"" + label +
                           "\" is a number of several runs: its metric is \"number\"");
    return measure_number(*number, seed);
}

} // namespace paths
