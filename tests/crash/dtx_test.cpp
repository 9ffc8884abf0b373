// SPDX-License-Identifier: BSD-3-Clause
// dtx_test.cpp: transactions in a world of the device model whose servers lose power, or die, at
// any event. The session detects that, recovers the database and continues.
#include "crash/dtx_world.h"
#include "unit/dtx/engine/histories.h"

using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kServers = 2;
constexpr int kTransfers = 12;
constexpr int64_t kTotal = 800;

dtx::Options options_of(DtxWorld &world, uint32_t canary)
{
    dtx::Options options = world.options(canary);

    options.log_bytes = 64 << 10;
    options.guesses = 100;
    options.interleave = 60;
    return options;
}

// One transfer between two of eight accounts in two partitions; row 0 has its number.
Task<bool> transfer(Txn &txn, const Tables &tables, int number)
{
    uint64_t from = in_partition(static_cast<uint32_t>(number % 2), 1 + number % 4);
    uint64_t to = in_partition(static_cast<uint32_t>(number / 2 % 2), 1 + (number + 1) % 4);
    auto a = co_await txn.read(tables.accounts, from);
    auto b = co_await txn.read(tables.accounts, to);

    (void)co_await txn.write(tables.accounts, from, Account{ a->cents - number });
    (void)co_await txn.write(tables.accounts, to, Account{ b->cents + number });
    (void)co_await txn.write(tables.accounts, 0, Account{ number });
    (void)co_await txn.insert(tables.sorted, static_cast<uint64_t>(number), Account{ number });
    co_return true;
}

struct Seen {
    int64_t total = 0;
    int64_t last = 0;
    int64_t rows = 0;
    bool operator==(const Seen &) const = default;
};

Seen look(const dtx::Cluster &cluster, const Tables &tables, uint32_t copy)
{
    Seen seen;

    cluster.each_row(tables.accounts.number, copy, [&](uint64_t key, const void *row, size_t) {
        int64_t cents = static_cast<const Account *>(row)->cents;

        (key == 0 ? seen.last : seen.total) += cents;
    });
    cluster.each_row(tables.sorted.number, copy,
                     [&](uint64_t, const void *, size_t) { seen.rows++; });
    return seen;
}

struct Result {
    uint64_t events = 0; // from the load to the end
    bool happened = false;
    std::string faults;
};

// Compares both copies with what the run should have left.
std::string faults_of(const dtx::Cluster &cluster, const Tables &tables, const Recorder &recorder,
                      int acknowledged, int unknown)
{
    std::string faults = recorder.verdict();

    try {
        Seen seen = look(cluster, tables, 0);

        if (seen.total != kTotal)
            faults += "total " + std::to_string(seen.total) + "\n";
        if (seen.rows < acknowledged || seen.rows > acknowledged + unknown)
            faults += std::to_string(seen.rows) + " rows, " + std::to_string(acknowledged) +
                      " acknowledged, " + std::to_string(unknown) + " unknown\n";
        if (look(cluster, tables, 1) != seen)
            faults += "copies differ\n";
    } catch (const dtx::Error &error) {
        faults += error.what();
    }
    return faults;
}

void load(dtx::Session &session, const Tables &tables)
{
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                (void)co_await txn.insert(tables.accounts, 0, Account{ 0 });
                for (uint32_t i = 0; i < 8; i++)
                    (void)co_await txn.insert(tables.accounts, in_partition(i / 4, 1 + i % 4),
                                              Account{ kTotal / 8 });
                co_return true;
            }) == Status::committed);
}

// A run during which @server fails at @event; 0: never.
Result live_through(uint64_t event, uint32_t server, rpm_cut cut, uint32_t canary)
{
    DtxWorld world(event, kServers, 2 << 20, 256 << 10);
    Tables tables(60);
    dtx::Cluster cluster(tables.schema, options_of(world, canary));
    int acknowledged = 0;
    int unknown = 0;
    Result result;
    Recorder recorder;

    cluster.create();
    {
        dtx::Session session(cluster, 0, &recorder);

        load(session, tables);
        uint64_t begin = rpm_sim_events(world.sim);

        rpm_sim_cut_at(world.sim, server, event, cut);
        for (int number = 1; number <= kTransfers; number++) {
            Status status = now(session, [&](Txn &txn) { return transfer(txn, tables, number); });

            REQUIRE(status != Status::aborted);
            (status == Status::committed ? acknowledged : unknown)++;
        }
        result.events = rpm_sim_events(world.sim) - begin;
    }
    rpm_sim_cut_at(world.sim, server, 0, RPM_CUT_NONE);
    (void)cluster.recover();
    recorder.add_final_state(cluster);
    result.happened = world.restarts > 0;
    result.faults = faults_of(cluster, tables, recorder, acknowledged, unknown);
    return result;
}

} // namespace

TEST_CASE("dtx: a server that loses power or dies at any event loses no commit", "[crash]")
{
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    auto cut = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER, RPM_CUT_KILL);

    REQUIRE(events > 1000);
    for (uint64_t event = 1; event <= events; event += events / 40) {
        Result result = live_through(event, static_cast<uint32_t>(event % kServers), cut, 0);

        CAPTURE(event, int(cut));
        CHECK(result.faults == "");
        CHECK(result.happened);
    }
}

TEST_CASE("dtx: a commit without its order, and a recovery without a log, are found", "[canary]")
{
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    auto canary = GENERATE(dtx::kCanaryLogLate, dtx::kCanarySkipLog);
    bool found = false;

    CAPTURE(canary);
    for (uint64_t event = 1; event <= events && !found; event += events / 150)
        try {
            found =
                live_through(event, static_cast<uint32_t>(event % kServers), RPM_CUT_DROP, canary)
                    .faults != "";
        } catch (const dtx::Error &error) {
            found = error.code() == RPM_E_CORRUPT; /* the run itself read the damage */
        }
    CHECK(found);
}
