/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_self.cc: measure librpm against librpm with one setting changed, in turn, burst by burst,
 * over one link to one server: the effect of each setting on this machine.
 */
#include "bench/compare.h"
#include "bench/peer/peer.h"

#include <algorithm>
#include <functional>
#include <map>

namespace bench
{

static constexpr uint64_t kPoolBytes = 64u << 20;
static constexpr uint32_t kMany = 256; /* more operations outstanding than any link can use */

struct Comparison {
    std::string what; /* all_comparisons() adds the scheme */
    std::string against;
    Shape shape;
    std::function<ContenderPtr()> ours;
    std::function<ContenderPtr()> other;
    uint32_t connections = 1; /* of the side with more of them */
    double target = 0;        /* as in Row */
};

static uint64_t capacity(Shape shape)
{
    return std::max<uint64_t>({ 384u << 10, 1024 * shape.bytes, 4096ull * shape.depth });
}

static ContenderPtr open_log(const std::string &url, const char *name, Shape shape,
                             const ClientOptions &options = {})
{
    return make_ours(url, name, shape, capacity(shape), options);
}

static ContenderPtr parallel(const std::string &url, Shape shape, uint32_t connections,
                             const ClientOptions &options = {})
{
    return make_parallel(url, shape, capacity(shape), connections, options);
}

/* For one client: a hint, the method, small payloads inline in the request (which Soft-RoCE cannot
 * do before a FLUSH). */
static void add_switches(const std::string &url, std::vector<Comparison> &comparisons)
{
    static const ClientOptions no_h9 = { 0, 0, 0, "-H9" };
    static const ClientOptions flush = { RPM_METHOD_FLUSH };
    static const ClientOptions read = { RPM_METHOD_READ };

    for (uint64_t bytes : { 64, 256, 4096 })
        for (uint32_t depth : { 1, 32 }) {
            Shape shape = { bytes, depth };

            comparisons.push_back({ "append", "without H9", shape,
                                    [=] { return open_log(url, "bench-on", shape); },
                                    [=] { return open_log(url, "bench-off", shape, no_h9); } });
            comparisons.push_back({ "append flush", "append read", shape,
                                    [=] { return open_log(url, "bench-flush", shape, flush); },
                                    [=] { return open_log(url, "bench-read", shape, read); } });
            if (bytes <= 256 && url.compare(0, 6, "verbs:") == 0)
                comparisons.push_back(
                    { "append read", "inline=0", shape,
                      [=] { return open_log(url, "bench-on", shape, read); },
                      [=] { return open_log(url + ",inline=0", "bench-off", shape, read); } });
        }
}

/* Asynchronous appends, which share flushes by group commit, against batches of records with one
 * flush each. */
static void add_async(const std::string &url, std::vector<Comparison> &comparisons)
{
    for (uint64_t bytes : { 64, 256, 4096 })
        for (uint32_t depth : { 1, 32 }) {
            Shape shape = { bytes, depth };

            comparisons.push_back(
                { "async", "append", shape,
                  [=] { return make_ours_async(url, "bench-async", shape, capacity(shape)); },
                  [=] { return open_log(url, "bench-append", shape); } });
            comparisons.back().target = depth > 1 ? kAsyncTarget : 0;
        }
}

/* Several clients in parallel, and one or several with too many operations outstanding. */
static void add_parallel(const std::string &url, std::vector<Comparison> &comparisons)
{
    static const ClientOptions throttled = { 0, RPM_PACE_THROTTLE, RPM_VISIBLE };
    static const ClientOptions unthrottled = { 0, 0, RPM_VISIBLE };

    for (uint32_t depth : { 1, 32 })
        for (uint32_t connections : { 2, 4 }) {
            Shape shape = { 256, depth };

            comparisons.push_back({ "append by " + std::to_string(connections), "append by 1",
                                    shape, [=] { return parallel(url, shape, connections); },
                                    [=] { return parallel(url, shape, 1); }, connections });
        }
    for (uint32_t connections : { 1, 4 }) {
        Shape shape = { 64, kMany };

        comparisons.push_back({ "throttle by " + std::to_string(connections), "without", shape,
                                [=] { return parallel(url, shape, connections, throttled); },
                                [=] { return parallel(url, shape, connections, unthrottled); },
                                connections });
    }
}

static Row run_comparison(const CompareOptions &options, const Comparison &comparison)
{
    Row row = { comparison.what, comparison.shape.bytes, comparison.shape.depth, comparison.against,
                "time per record" };
    std::vector<Side> sides(2);

    row.target = comparison.target;
    sides[0].contender = comparison.ours();
    sides[1].contender = comparison.other();
    run_rounds(sides, options, comparison.shape.depth * comparison.connections);
    conclude(row, sides[0].rounds, sides[1].rounds);
    print_row(row);
    return row;
}

/* "", or the reason why this link or memory cannot run one side. */
static std::string why_refused(const Comparison &comparison)
{
    try {
        (void)comparison.ours();
        (void)comparison.other();
    } catch (const cli::Failure &failure) {
        if (std::string(failure.what()).find(rpm_error_name(RPM_E_NOCAP)) == std::string::npos)
            throw;
        return failure.what();
    }
    return "";
}

/* Report impossible comparisons once for all shapes, on which they do not depend. */
static void leave_out(std::vector<Comparison> &comparisons)
{
    std::vector<Comparison> left;
    std::map<std::string, std::string> reasons;

    for (const Comparison &comparison : comparisons) {
        std::string name = comparison.what + " against " + comparison.against;

        if (reasons.count(name) == 0) {
            reasons[name] = why_refused(comparison);
            if (!reasons[name].empty())
                printf("left out: %s: %s\n", name.c_str(), reasons[name].c_str());
        }
        if (reasons[name].empty())
            left.push_back(comparison);
    }
    comparisons = left;
}

/* The comparisons that --only selects, at least one. */
static std::vector<Comparison> all_comparisons(const CompareOptions &options,
                                               const std::string &url)
{
    std::vector<Comparison> comparisons;
    std::vector<Comparison> chosen;
    std::vector<std::string> names;

    add_switches(url, comparisons);
    add_async(url, comparisons);
    add_parallel(url, comparisons);
    for (Comparison &comparison : comparisons) {
        comparison.what += " " + options.scheme;
        names.push_back(comparison.what + " " + comparison.against);
        if (wanted(options.only, comparison.what, comparison.against))
            chosen.push_back(comparison);
    }
    if (chosen.empty())
        fail_only(options.only, names);
    return chosen;
}

static std::string own_address(const CompareOptions &options)
{
    if (!options.address.empty())
        return options.address;
    if (options.scheme == "tcp")
        return "127.0.0.1";
    try {
        return rdma_address();
    } catch (const cli::Failure &failure) {
        throw cli::Failure(std::string(failure.what()) + "; without RDMA: --scheme tcp");
    }
}

static void print_notes(const CompareOptions &options, const std::string &url)
{
    printf(
        "one server on this machine, at %s, lending %s, declared to be in the ADR domain and not "
        "behind DDIO\n",
        url.c_str(), options.memory.empty() ? options.dir.c_str() : options.memory.c_str());
    printf(
        "append at depth 32: batches of records with one flush each; by 2: two connections, each "
        "at that depth; async, throttle: appends that share flushes while outstanding\n");
    printf(
        "ratio: time of the first over time of the second, below 1 the first is faster; median of "
        "%u rounds\n",
        options.rounds);
}

int compare_self(const CompareOptions &options)
{
    MemoryDir dir(options.dir);
    std::vector<int> cpus = allowed_cpus();
    ServerOptions server;

    server.pool = options.memory.empty() ? dir / "pool" : options.memory;
    server.pool_bytes = kPoolBytes;
    server.listen = options.scheme == "ring" ? "shm:" + (dir / "socket")
                                             : options.scheme + "://" + own_address(options) + ":" +
                                                   std::to_string(options.port) + "/bench";
    server.engine_cpu = cpus.empty() ? -1 : cpus.back();
    server.ddio = RPM_NO;
    std::vector<Comparison> comparisons =
        all_comparisons(options, server.listen + (options.scheme == "ring" ? ",mode=ring" : ""));
    ChildServer child(server);
    print_notes(options, server.listen);
    leave_out(comparisons);
    printf("\n");
    print_header();
    with_rows(options, server.listen, [&](std::vector<Row> &rows) {
        for (const Comparison &comparison : comparisons)
            rows.push_back(run_comparison(options, comparison));
    });
    return cli::kDone;
}

} // namespace bench
