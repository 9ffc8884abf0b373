/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.cc: rpm-bench agent: what an agent saves where a READ proves nothing, what a connection to
 * one costs that is not used; in choose.cc what a link that chooses between agent and server takes,
 * and one whose agent carries its records, in tiered.cc and tpcc.cc what segments take and how
 * fast they are read, in near.cc what it saves to compare ranges where they are, in modelled.cc
 * what only the model has, in follow.cc what it costs to wait for records, and in decisions.cc to
 * be trimmed by an agent's decisions.
 */
#include "agent/front.h"
#include "bench/choose.h"
#include "bench/compare.h"
#include "bench/decisions.h"
#include "bench/follow.h"
#include "bench/ours.h"
#include "bench/tiered.h"

#include <atomic>
#include <numeric>
#include <thread>

namespace bench
{

namespace
{

constexpr uint32_t kWriters = 16;
constexpr uint64_t kAppends = 500; /* of each writer in a round */
constexpr uint64_t kCapacity = 1u << 20;
constexpr uint64_t kPoolBytes = kWriters * kCapacity + 2 * kTierBytes + (16u << 20);
constexpr double kRequestsTarget = 0.25;
constexpr double kUnusedTarget = 1.03;
constexpr const char *kAgentName = "bench"; /* by which the server declares it */

struct Bed {
    const CompareOptions &options;
    const MemoryDir &dir;
    std::string server; /* its URL; clients do not map the pool */
    AgentFront &agent;

    std::string with_agent() const
    {
        return server + ",agent=" + agent.urls();
    }
    uint64_t lists() const
    {
        return agent.stats().lists;
    }
};

uint64_t tail_of(rpm_log *log)
{
    struct rpm_log_info info = rpm_log_info_init();

    cli::check("info", rpm_log_info(log, &info));
    return info.tail_lsn;
}

/* Waits until all writers have come to it. */
class Start
{
  public:
    void wait()
    {
        arrived_++;
        while (arrived_ < kWriters && !cli::stopped() && !failed_)
            std::this_thread::yield();
    }
    void fail()
    {
        failed_ = true;
    }

  private:
    std::atomic<uint32_t> arrived_{ 0 };
    std::atomic<bool> failed_{ false };
};

/* Appends records to a log of its own. Returns how many flushes its server was asked for: all, or
 * with method order those that the agent did not have certified in time. */
uint64_t write_records(const std::string &url, uint32_t method, uint32_t writer, Start &start)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_log_opts log_opts = rpm_log_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    std::vector<unsigned char> payload(64, static_cast<unsigned char>(writer));
    std::string name = "bench-agent-" + std::to_string(writer);
    rpm_log *raw = nullptr;

    opts.method = method;
    log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    log_opts.capacity_bytes = kCapacity;
    cli::Conn conn = cli::connect(url, &opts);
    cli::check(name, rpm_log_open(conn.get(), name.c_str(), &log_opts, &raw));
    cli::Log log(raw);
    cli::check("trim", rpm_log_trim(raw, tail_of(raw)));
    start.wait();
    for (uint64_t i = 0; i < kAppends; i++)
        cli::check("append", rpm_log_append(raw, payload.data(), payload.size(), nullptr));
    cli::check("stats", rpm_conn_stats(conn.get(), &stats));
    return method == RPM_METHOD_ORDER ? stats.order_fallbacks : stats.flushes;
}

/* Flush requests that reach the server for each record, when all writers append at once. */
double requests(const Bed &bed, uint32_t method)
{
    std::vector<uint64_t> sent(kWriters);
    std::vector<std::exception_ptr> failed(kWriters);
    std::vector<std::thread> threads;
    std::string url = method == RPM_METHOD_ORDER ? bed.with_agent() : bed.server;
    uint64_t before = bed.lists();
    Start start;

    for (uint32_t i = 0; i < kWriters; i++)
        threads.emplace_back([&, i] {
            try {
                sent[i] = write_records(url, method, i, start);
            } catch (...) {
                start.fail();
                failed[i] = std::current_exception();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const std::exception_ptr &failure : failed)
        if (failure != nullptr)
            std::rethrow_exception(failure);
    uint64_t all = std::accumulate(sent.begin(), sent.end(), bed.lists() - before);

    return static_cast<double>(all) / static_cast<double>(kWriters * kAppends);
}

void compare_requests(const Bed &bed, std::vector<Row> &rows)
{
    Row row = { "orders by 16", 64, 1, "messages by 16", "flush requests to the server, a record" };
    std::vector<double> ours;
    std::vector<double> others;

    if (!wanted(bed.options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < bed.options.rounds; round++) {
        show_round(row.what, row.against, round, bed.options);
        ours.push_back(requests(bed, RPM_METHOD_ORDER));
        others.push_back(requests(bed, RPM_METHOD_MESSAGE));
        end_if_stopped();
    }
    row.target = kRequestsTarget;
    add_row(row, ours, others, rows);
}

void compare_unused(const Bed &bed, std::vector<Row> &rows)
{
    static const ClientOptions message = { RPM_METHOD_MESSAGE };
    Row row = { "agent unused", 64, 1, "no agent", "time per record" };
    std::vector<Side> sides(2);
    Shape shape = { 64, 1 };

    if (!wanted(bed.options.only, row.what, row.against))
        return;
    sides[0].contender = make_ours(bed.with_agent(), "bench-attached", shape, kCapacity, message);
    sides[1].contender = make_ours(bed.server, "bench-alone", shape, kCapacity, message);
    run_rounds(sides, bed.options, 1);
    row.target = kUnusedTarget;
    add_row(row, sides[0].rounds, sides[1].rounds, rows);
}

} // namespace

int compare_agent(const CompareOptions &options)
{
    expect_row(options.only, { "orders by 16 messages by 16",
                               "agent unused no agent",
                               "selector by 1 best of both",
                               "selector by 16 best of both",
                               "agent 2 ms away no agent",
                               "carry by 1 no agent",
                               "carry by 16 no agent",
                               "read segments read file",
                               "archive by rdma archive by reads",
                               "tpcc by lz4 plain bytes",
                               "read tpcc by lz4 read file",
                               "tpcc by zstd plain bytes",
                               "read tpcc by zstd read file",
                               "store tpcc by zstd by lz4",
                               "compare near read and compare",
                               "bytes of compare bytes of reads",
                               "watch by 16 polls by 16",
                               "record by watch record by polls",
                               "ten laps staged on demand",
                               "ten laps fetched late",
                               "ten laps both",
                               "p99 beside agent p99 alone",
                               "scrub by agent scrub by server",
                               "combined Gets best single" });
    MemoryDir dir(options.dir);
    ServerOptions server = { dir / "pool", "shm:" + (dir / "socket"), kPoolBytes };

    if (dir.free_bytes() < kPoolBytes + 3 * kTierBytes)
        throw cli::Failure(options.dir + " has too little room: " +
                           cli::size_text(static_cast<double>(kPoolBytes + 3 * kTierBytes)) +
                           " are needed");
    server.ddio = RPM_YES; /* so a READ proves nothing */
    server.agents = kAgentName;
    ChildServer child(server);
    AgentFront agent(
        { server.listen, { "unix:" + (dir / "agent") }, "", "", 64, 5, 0, kAgentName });
    Bed bed = { options, dir, server.listen + ",mode=ring", agent };

    printf("memory in %s, declared to be in the ADR domain with DDIO on; ratio: librpm over the "
           "other, median of %u rounds\n\n",
           options.dir.c_str(), options.rounds);
    print_header();
    with_rows(options, "", [&](std::vector<Row> &rows) {
        compare_requests(bed, rows);
        compare_unused(bed, rows);
        compare_choice(options, bed.server, bed.with_agent(), rows);
        compare_far(options, bed.server, "unix:" + (dir / "far"), rows);
        compare_carry(options, bed.server, bed.with_agent() + ",carry=" + kAgentName, rows);
        compare_tiered(options, dir, bed.server, rows);
        compare_tpcc(options, dir, rows);
        compare_near(options, bed.server, rows);
        compare_waiting(options, bed.server, rows);
        compare_decisions(options, dir, bed.server, rows);
        compare_modelled(options, rows);
    });
    return cli::kDone;
}

} // namespace bench
