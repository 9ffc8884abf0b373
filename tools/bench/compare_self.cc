/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_self.cc: ours against ours with one thing changed, in turn, burst by burst, over one link
 * to one server: what each thing is worth here. Nothing has a target.
 */
#include "bench/compare.h"
#include "bench/peer/peer.h"

#include <algorithm>
#include <functional>

namespace bench
{

static constexpr uint64_t kPoolBytes = 64u << 20;
static constexpr uint32_t kMany = 256; /* more under way than any link can use */

struct Duel {
    std::string what;
    std::string against;
    Shape shape;
    std::function<ContenderPtr()> ours;
    std::function<ContenderPtr()> other;
    uint32_t connections = 1; /* of the side that has most */
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

static ContenderPtr crowd(const std::string &url, Shape shape, uint32_t connections,
                          const Asked &asked = {})
{
    return make_crowd(url, shape, capacity(shape), connections, asked);
}

/* A hint, the method, small payloads in the request itself (which Soft-RoCE cannot do before a
 * FLUSH): for one client. */
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

/* Several clients, and one or several with too much under way. */
static void add_crowds(const std::string &url, std::vector<Duel> &duels)
{
    static const Asked held = { 0, RPM_PACE_THROTTLE, RPM_VISIBLE };
    static const Asked free = { 0, 0, RPM_VISIBLE };

    for (uint32_t depth : { 1, 32 })
        for (uint32_t connections : { 2, 4 }) {
            Shape shape = { 256, depth };

            duels.push_back({ "append by " + std::to_string(connections), "append by 1", shape,
                              [=] { return crowd(url, shape, connections); },
                              [=] { return crowd(url, shape, 1); }, connections });
        }
    for (uint32_t connections : { 1, 4 }) {
        Shape shape = { 64, kMany };

        duels.push_back({ "throttle by " + std::to_string(connections), "without", shape,
                          [=] { return crowd(url, shape, connections, held); },
                          [=] { return crowd(url, shape, connections, free); }, connections });
    }
}

/* False: this link or memory cannot have one of the two. */
static bool fight(const CompareOptions &options, const Duel &duel, Row &row)
{
    std::vector<Side> sides(2);

    try {
        sides[0].contender = duel.ours();
        sides[1].contender = duel.other();
    } catch (const cli::Failure &failure) {
        if (std::string(failure.what()).find(rpm_error_name(RPM_E_NOCAP)) == std::string::npos)
            throw;
        printf("%-20s %6llu %5u  %-13s left out: %s\n", row.what.c_str(),
               static_cast<unsigned long long>(row.bytes), row.depth, row.against.c_str(),
               failure.what());
        return false;
    }
    play(sides, options.rounds, duel.shape.depth * duel.connections);
    conclude(row, sides[0].rounds, sides[1].rounds);
    print_row(row);
    return true;
}

static void print_notes(const CompareOptions &options, const std::string &url)
{
    printf(
        "one server on this machine, at %s, lending %s, declared to be in the ADR domain and not "
        "behind DDIO\n",
        url.c_str(), options.memory.empty() ? options.dir.c_str() : options.memory.c_str());
    printf("append at depth 32: records that share one flush; by 2: two connections, each with as "
           "many; "
           "throttle: each with its own\n");
    printf(
        "ratio: time of the one over time of the other, below 1: it helps; median of %u rounds\n\n",
        options.rounds);
}

int compare_self(const CompareOptions &options)
{
    MemoryDir dir(options.dir);
    std::vector<int> cpus = allowed_cpus();
    std::vector<Duel> duels;
    std::vector<Row> rows;
    ServerOptions server;
    bool rdma = options.scheme == "verbs";
    bool known = false;

    server.pool = options.memory.empty() ? dir / "pool" : options.memory;
    server.pool_bytes = kPoolBytes;
    server.listen = options.scheme + "://" +
                    (!options.address.empty() ? options.address
                     : rdma                   ? rdma_address()
                                              : "127.0.0.1") +
                    ":" + std::to_string(options.port) + "/bench";
    server.engine_cpu = cpus.empty() ? -1 : cpus.back();
    server.ddio = RPM_NO;
    ChildServer child(server);
    print_notes(options, server.listen);
    print_header();
    add_switches(server.listen, duels);
    add_crowds(server.listen, duels);
    for (const Duel &duel : duels) {
        Row row = { duel.what + " " + options.scheme, duel.shape.bytes, duel.shape.depth,
                    duel.against, "time per record" };

        if (!wanted(options.only, row.what, row.against))
            continue;
        known = true;
        if (fight(options, duel, row))
            rows.push_back(row);
    }
    if (!known)
        throw cli::Failure("--only: no row is called \"" + options.only + "\"");
    if (!options.json.empty())
        write_rows(options.json, rows);
    return cli::kDone;
}

} // namespace bench
