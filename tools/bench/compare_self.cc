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

struct Duel {
    std::string what; /* its row adds the scheme */
    std::string against;
    Shape shape;
    std::function<ContenderPtr()> ours;
    std::function<ContenderPtr()> other;
    uint32_t connections = 1; /* of the side that has more */
    double target = 0;        /* as in Row */
};

static uint64_t capacity(Shape shape)
{
    return std::max<uint64_t>({ 384u << 10, 1024 * shape.bytes, 4096ull * shape.depth });
}

static ContenderPtr enter(const std::string &url, const char *name, Shape shape,
                          const Asked &asked = {})
{
    return make_ours(url, name, shape, capacity(shape), asked);
}

static ContenderPtr parallel(const std::string &url, Shape shape, uint32_t connections,
                             const Asked &asked = {})
{
    return make_parallel(url, shape, capacity(shape), connections, asked);
}

/* For one client: a hint, the method, small payloads inline in the request (which Soft-RoCE cannot
 * do before a FLUSH). */
static void add_switches(const std::string &url, std::vector<Duel> &duels)
{
    static const Asked no_h9 = { 0, 0, 0, "-H9" };
    static const Asked flush = { RPM_METHOD_FLUSH };
    static const Asked read = { RPM_METHOD_READ };

    for (uint64_t bytes : { 64, 256, 4096 })
        for (uint32_t depth : { 1, 32 }) {
            Shape shape = { bytes, depth };

            duels.push_back({ "append", "without H9", shape,
                              [=] { return enter(url, "bench-on", shape); },
                              [=] { return enter(url, "bench-off", shape, no_h9); } });
            duels.push_back({ "append flush", "append read", shape,
                              [=] { return enter(url, "bench-flush", shape, flush); },
                              [=] { return enter(url, "bench-read", shape, read); } });
            if (bytes <= 256 && url.compare(0, 6, "verbs:") == 0)
                duels.push_back(
                    { "append read", "inline=0", shape,
                      [=] { return enter(url, "bench-on", shape, read); },
                      [=] { return enter(url + ",inline=0", "bench-off", shape, read); } });
        }
}

/* Asynchronous appends, which share flushes by group commit, against batches of records with one
 * flush each. */
static void add_async(const std::string &url, std::vector<Duel> &duels)
{
    for (uint64_t bytes : { 64, 256, 4096 })
        for (uint32_t depth : { 1, 32 }) {
            Shape shape = { bytes, depth };

            duels.push_back(
                { "async", "append", shape,
                  [=] { return make_ours_async(url, "bench-async", shape, capacity(shape)); },
                  [=] { return enter(url, "bench-append", shape); } });
            duels.back().target = depth > 1 ? kAsyncTarget : 0;
        }
}

/* Several clients in parallel, and one or several with too many operations outstanding. */
static void add_parallel(const std::string &url, std::vector<Duel> &duels)
{
    static const Asked held = { 0, RPM_PACE_THROTTLE, RPM_VISIBLE };
    static const Asked free = { 0, 0, RPM_VISIBLE };

    for (uint32_t depth : { 1, 32 })
        for (uint32_t connections : { 2, 4 }) {
            Shape shape = { 256, depth };

            duels.push_back({ "append by " + std::to_string(connections), "append by 1", shape,
                              [=] { return parallel(url, shape, connections); },
                              [=] { return parallel(url, shape, 1); }, connections });
        }
    for (uint32_t connections : { 1, 4 }) {
        Shape shape = { 64, kMany };

        duels.push_back({ "throttle by " + std::to_string(connections), "without", shape,
                          [=] { return parallel(url, shape, connections, held); },
                          [=] { return parallel(url, shape, connections, free); }, connections });
    }
}

static Row run_duel(const CompareOptions &options, const Duel &duel)
{
    Row row = { duel.what, duel.shape.bytes, duel.shape.depth, duel.against, "time per record" };
    std::vector<Side> sides(2);

    row.target = duel.target;
    sides[0].contender = duel.ours();
    sides[1].contender = duel.other();
    play(sides, options, duel.shape.depth * duel.connections);
    conclude(row, sides[0].rounds, sides[1].rounds);
    print_row(row);
    return row;
}

/* "", or why this link or memory cannot run one of the two. */
static std::string impossible(const Duel &duel)
{
    try {
        (void)duel.ours();
        (void)duel.other();
    } catch (const cli::Failure &failure) {
        if (std::string(failure.what()).find(rpm_error_name(RPM_E_NOCAP)) == std::string::npos)
            throw;
        return failure.what();
    }
    return "";
}

/* Report impossible duels once for all shapes, on which they do not depend. */
static void leave_out(std::vector<Duel> &duels)
{
    std::vector<Duel> left;
    std::map<std::string, std::string> reasons;

    for (const Duel &duel : duels) {
        std::string name = duel.what + " against " + duel.against;

        if (reasons.count(name) == 0) {
            reasons[name] = impossible(duel);
            if (!reasons[name].empty())
                printf("left out: %s: %s\n", name.c_str(), reasons[name].c_str());
        }
        if (reasons[name].empty())
            left.push_back(duel);
    }
    duels = left;
}

/* The duels that --only selects, at least one. */
static std::vector<Duel> all_duels(const CompareOptions &options, const std::string &url)
{
    std::vector<Duel> duels;
    std::vector<Duel> chosen;
    std::vector<std::string> names;

    add_switches(url, duels);
    add_async(url, duels);
    add_parallel(url, duels);
    for (Duel &duel : duels) {
        duel.what += " " + options.scheme;
        names.push_back(duel.what + " " + duel.against);
        if (wanted(options.only, duel.what, duel.against))
            chosen.push_back(duel);
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
    printf("append at depth 32: records that share one flush; by 2: two connections, each with as "
           "many; async, throttle: appends that share flushes as they come\n");
    printf(
        "ratio: time of the one over time of the other, below 1: it helps; median of %u rounds\n",
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
    std::vector<Duel> duels =
        all_duels(options, server.listen + (options.scheme == "ring" ? ",mode=ring" : ""));
    ChildServer child(server);
    print_notes(options, server.listen);
    leave_out(duels);
    printf("\n");
    print_header();
    with_rows(options, where_of(options, server.listen), [&](std::vector<Row> &rows) {
        for (const Duel &duel : duels)
            rows.push_back(run_duel(options, duel));
    });
    return cli::kDone;
}

} // namespace bench
