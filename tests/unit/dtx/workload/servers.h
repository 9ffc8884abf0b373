// SPDX-License-Identifier: BSD-3-Clause
// servers.h: servers in this process and a database on them, loaded and run by a workload.
#ifndef TESTS_UNIT_DTX_WORKLOAD_SERVERS_H
#define TESTS_UNIT_DTX_WORKLOAD_SERVERS_H

#include "support/catch.h"
#include "support/server.h"
#include "workload/run.h"

#include <deque>

namespace support
{

class Servers
{
  public:
    explicit Servers(uint32_t servers, uint64_t pool_bytes = 96 << 20)
    {
        for (uint32_t i = 0; i < servers; i++)
            servers_.emplace_back(pool(pool_bytes));
    }

    dtx::Cluster cluster(const dtx::Workload &workload, uint32_t replicas,
                         dtx::Options options = {}) const
    {
        for (const Server &server : servers_)
            options.urls.push_back(server.url("direct"));
        options.replicas = replicas;
        options.coordinators = 8;
        options.log_bytes = 1 << 20;
        return dtx::Cluster(workload.schema(), options);
    }

  private:
    static ServerOpts pool(uint64_t bytes)
    {
        ServerOpts opts;

        opts.bytes = bytes;
        opts.dram_bytes = 16 << 20;
        opts.clients_max = 256;
        opts.flags = RPM_SERVER_NO_SPIN;
        return opts;
    }

    std::deque<Server> servers_;
};

// Violations whose text contains @part.
inline size_t count_of(const std::vector<std::string> &findings, const std::string &part)
{
    size_t count = 0;

    for (const std::string &finding : findings)
        count += finding.find(part) != std::string::npos ? 1 : 0;
    return count;
}

// Changes a row of a database, in one transaction.
template <class Row, class Change>
void change_row(const dtx::Cluster &cluster, dtx::Table<Row> table, uint64_t key, Change change)
{
    auto session = dtx::join(cluster, 0);
    auto body = [&](dtx::Txn &txn) -> dtx::Task<bool> {
        std::optional<Row> row = co_await txn.read(table, key);

        if (!row)
            co_return false;
        change(*row);
        co_return co_await txn.write(table, key, *row);
    };

    REQUIRE(session->transact_now(body).status == dtx::Status::committed);
}

template <class Row>
void erase_row(const dtx::Cluster &cluster, dtx::Table<Row> table, uint64_t key)
{
    auto session = dtx::join(cluster, 0);
    auto body = [&](dtx::Txn &txn) { return txn.erase(table, key); };

    REQUIRE(session->transact_now(body).status == dtx::Status::committed);
}

template <class Row>
void insert_row(const dtx::Cluster &cluster, dtx::Table<Row> table, uint64_t key, const Row &row)
{
    auto session = dtx::join(cluster, 0);
    auto body = [&](dtx::Txn &txn) { return txn.insert(table, key, row); };

    REQUIRE(session->transact_now(body).status == dtx::Status::committed);
}

// Creates, loads and checks a database, runs the workload, and checks every copy. The caller checks
// the counts.
inline dtx::RunResult load_and_run(dtx::Workload &workload, const dtx::Cluster &cluster,
                                   const dtx::RunOptions &options)
{
    cluster.create();
    dtx::load(workload, cluster, options.threads);
    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++) {
        CHECK(workload.check(cluster, copy) == std::vector<std::string>{});
        CHECK(workload.totals(cluster, copy) == workload.loaded());
    }

    dtx::RunResult result = dtx::run(workload, cluster, options);

    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++)
        CHECK(workload.check_run(cluster, copy, workload.loaded(), result.tally) ==
              std::vector<std::string>{});
    return result;
}

// Loads @workload on so many servers, runs it with @canary, eight coroutines side by side, and
// checks whether the totals of the database show that.
inline void check_totals_show(dtx::Workload &workload, uint32_t servers, uint32_t canary)
{
    Servers all(servers, 64 << 20);
    dtx::Options rules;
    dtx::RunOptions options;

    rules.canary = canary;
    rules.interleave = 64;
    options.coroutines = 8;
    options.transactions = 3000;

    dtx::Cluster sound = all.cluster(workload, 1);
    dtx::Cluster cluster = all.cluster(workload, 1, rules);

    sound.create();
    dtx::load(workload, sound, 1);

    dtx::RunResult result = dtx::run(workload, cluster, options);
    auto wrong = workload.check_run(cluster, 0, workload.loaded(), result.tally);

    INFO("canary " << canary);
    CHECK(count_of(wrong, "totals moved") == (canary == dtx::kCanaryNone ? 0 : 1));
}

} // namespace support
#endif
