// SPDX-License-Identifier: BSD-3-Clause
// vacuum_test.cpp: a vacuum finds all slots that fenced sessions have lost, so they can be used
// again.
#include "engine/cluster/membership.h"
#include "support/rounds.h"
#include "unit/dtx/check/damage.h"
#include "unit/dtx/engine/histories.h"
#include <dtx/checks.h>
#include <dtx/error.h>

#include <atomic>
#include <optional>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint64_t kRoom = 640; // ten slots are taken at once
constexpr uint64_t kFew[] = { 1, 2 };

// Inserts rows of partition 0 until the first of the two tables is full. Returns their number.
uint64_t fill(Session &session, const Tables &tables, uint64_t first, uint64_t most = UINT64_MAX)
{
    uint64_t key = first;

    try {
        for (; key - first < most; key++) {
            Status status = now(session, [&](Txn &txn) -> Task<bool> {
                (void)co_await txn.insert(tables.accounts, key, Account{ 1 });
                co_return co_await txn.insert(tables.sorted, key, Account{ 2 });
            });

            REQUIRE(status == Status::committed);
        }
    } catch (const dtx::Error &error) {
        REQUIRE(error.code() == RPM_E_NOSPACE);
    }
    return key - first;
}

// Inserts a row between each two fencings. Returns the largest number of slots that these lost.
uint64_t fill_while_fenced(Session &session, const Database &db, int times)
{
    uint64_t rows = 0;

    for (int i = 0; i < times; i++) {
        rows += fill(session, db.tables, rows, 1);
        (void)db.cluster->recover();
    }
    return rows;
}

// One of several coroutines.
Task<void> insert_some(Session &session, const Tables &tables, uint64_t first)
{
    for (uint64_t key = first; key < first + 12; key++)
        (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
            co_return co_await txn.insert(tables.accounts, key, Account{ 1 });
        });
}

// A transaction that first lets other coroutines run for so many turns.
Task<void> vacuum_after(Session &session, const Database &db, int turns)
{
    for (int i = 0; i < turns; i++)
        co_await session.turn();
    (void)db.cluster->vacuum();
}

std::string faults_of(const dtx::Cluster &cluster)
{
    std::vector<dtx::Findings> all = dtx::checks::check_copies(cluster);
    std::string faults;

    for (uint32_t copy = 0; copy < all.size(); copy++) {
        all[copy].append(dtx::checks::check_indexes(cluster, copy));
        for (const std::string &text : all[copy].texts())
            faults += text + "\n";
    }
    return faults;
}

} // namespace

// A fenced session forgets its free slots, as its commits may have been lost.
TEST_CASE("vacuum: all slots that fenced sessions lost are found and can be used again", "[unit]")
{
    dtx::Options options = replicated(2);

    options.durable = false;

    Database db(2, options, Tables(kRoom));
    uint64_t rows = 0;

    {
        Session session(*db.cluster, 0);

        rows = fill_while_fenced(session, db, 40);
        CHECK(fill(session, db.tables, rows) < kRoom - rows - 300); // the number of lost slots
    }
    dtx::Recovery recovery = db.cluster->vacuum();

    CHECK(recovery.slots > 2 * 300); // of both tables, and index nodes
    CHECK(faults_of(*db.cluster) == "");
    CHECK(db.cluster->vacuum().slots == 0);

    Session session(*db.cluster, 1);
    uint64_t all = 0;

    (void)fill(session, db.tables, 10000);
    db.cluster->each_row(db.tables.accounts.number, 0,
                         [&](uint64_t, const void *, size_t) { all++; });
    CHECK(all == kRoom);
    CHECK(faults_of(*db.cluster) == "");
}

TEST_CASE("vacuum: a session that runs during a vacuum forgets its free slots", "[unit]")
{
    Database db(2, replicated(2), Tables(kRoom));

    {
        Session session(*db.cluster, 0);
        uint64_t rows = fill(session, db.tables, 0, 30);

        CHECK(db.cluster->vacuum().slots > 0); // the free slots that it had reserved
        rows += fill(session, db.tables, rows, 30);
        CHECK(session.counters().rejoined == 1);
        CHECK(faults_of(*db.cluster) == "");
        CHECK(rows + fill(session, db.tables, rows) == kRoom);
    }
    CHECK(faults_of(*db.cluster) == "");
    CHECK(db.cluster->vacuum().slots == 0);
}

TEST_CASE("vacuum: slots that are allocated during a vacuum are not allocated twice", "[unit]")
{
    for (uint64_t seed : seeds(1, rounds(120))) {
        dtx::Options options = replicated(2);

        options.seed = seed;
        options.interleave = 200;

        Database db(2, options, Tables(kRoom));
        Session session(*db.cluster, 0);
        Session other(*db.cluster, 1);
        std::vector<Task<void>> tasks;

        tasks.push_back(insert_some(session, db.tables, 0));
        tasks.push_back(insert_some(session, db.tables, 1000));
        tasks.push_back(vacuum_after(session, db, static_cast<int>(seed)));
        session.run(std::move(tasks));
        (void)fill(other, db.tables, 2000, 30);
        (void)fill(session, db.tables, 3000, 30);
        INFO("seed " << seed);
        REQUIRE(faults_of(*db.cluster) == "");
    }
}

// The session notices the vacuum when it returns its slots.
TEST_CASE("vacuum: a session that ends after a vacuum returns no slot of other sessions", "[unit]")
{
    Database db(1, {}, Tables(6400), GENERATE("", ",mode=ring")); // a hundred are taken at once
    auto first = std::make_unique<Session>(*db.cluster, 0);
    Session other(*db.cluster, 1);

    (void)fill(*first, db.tables, 0, 1);
    CHECK(db.cluster->vacuum().slots > 0);
    (void)fill(other, db.tables, 100, 20);
    first.reset();
    CHECK(faults_of(*db.cluster) == "");
    (void)fill(other, db.tables, 200, 200);
    CHECK(faults_of(*db.cluster) == "");
    (void)db.cluster->vacuum(); // throws where a list does not end
}

TEST_CASE("vacuum: a transaction that began before a vacuum uses no slot after it", "[unit]")
{
    Database db;
    auto table = db.tables.accounts;
    int stage = 0;

    {
        Session session(*db.cluster, 0);
        auto old = [&]() -> Task<void> {
            (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                (void)co_await txn.read(table, 7);
                if (stage == 0)
                    stage = 1;
                while (stage == 1)
                    co_await session.turn();
                for (uint64_t key = 10; key < 15; key++)
                    (void)co_await txn.insert(table, key, Account{ 1 });
                co_return true;
            });
        };
        auto other = [&]() -> Task<void> {
            while (stage == 0)
                co_await session.turn();
            (void)db.cluster->vacuum();
            for (uint64_t key : kFew)
                (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(table, key, Account{ 1 });
                });
            stage = 2;
        };
        std::vector<Task<void>> tasks;

        tasks.push_back(old());
        tasks.push_back(other());
        session.run(std::move(tasks));
    }
    CHECK(db.cluster->vacuum().slots == 0);
}

// After the vacuum has read the views of server 0, and before it claims the servers, a command that
// proposed view 2 there is interrupted and ended, and a session joins.
TEST_CASE("vacuum: a session that joined while a vacuum began forgets its free slots", "[unit]")
{
    Database db(2, replicated(2), Tables(kRoom));
    dtx::Options options = db.cluster->options();
    std::optional<Session> session;

    options.dial = [&](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        if (server == 1 && !session) {
            dtx::Scheduler scheduler(1, 0);
            dtx::Servers servers(*db.cluster, scheduler);
            dtx::View view;

            view.number = 2;
            servers.open(dtx::kRecoverer, dtx::Claim::takeover);
            propose(servers.connection(0), *db.cluster, view);
            servers.close();
            (void)db.cluster->recover();
            session.emplace(*db.cluster, 0);
            (void)fill(*session, db.tables, 0, 1);
        }
        return rpm_conn_open(options.urls[server].c_str(), opts, conn);
    };

    dtx::Cluster cluster(db.tables.schema, options);
    Session other(*db.cluster, 1);

    CHECK(cluster.vacuum().slots > 0); // those that the session had reserved
    REQUIRE(session);
    (void)fill(other, db.tables, 1000, 30);
    (void)fill(*session, db.tables, 2000, 30);
    CHECK(faults_of(*db.cluster) == "");
    CHECK(cluster.last_view().number == 3);
}

TEST_CASE("vacuum: no slot is lost in an unused database, or after sessions that closed in order",
          "[unit]")
{
    Database db(2);

    CHECK(db.cluster->vacuum().slots == 0);
    {
        Session session(*db.cluster, 0);

        (void)fill(session, db.tables, 0, 100);
    }
    CHECK(db.cluster->vacuum().slots == 0);

    Database right = rows_of_two_copies();

    CHECK(right.cluster->vacuum().slots == 0);
    CHECK(faults_of(*right.cluster) == "");
}

TEST_CASE("vacuum: sessions wait for a vacuum and continue", "[unit]")
{
    Database db(2, replicated(2));
    Recorder recorder;
    std::atomic<bool> over = false;
    std::atomic<int> rounds = 0;
    std::vector<std::thread> threads;
    uint64_t slots = 0;
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);

    for (uint32_t c = 0; c < 2; c++)
        threads.emplace_back([&, c] {
            Session session(*db.cluster, c, &recorder);

            for (uint64_t seed = 1; !over; seed++) {
                run_random(session, db.tables, seed * 8 + c, 3, 5);
                rounds++;
            }
        });
    for (int i = 1; i <= 6; i++) {
        // the sessions have run since the vacuum before, on a machine of any speed
        while (rounds < 4 * i && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(rounds >= 4 * i);
        slots += db.cluster->vacuum().slots;
    }
    over = true;
    for (std::thread &thread : threads)
        thread.join();
    (void)db.cluster->recover();
    CHECK(slots > 0);
    CHECK(faults_of(*db.cluster) == "");
    recorder.add_final_state(*db.cluster);
    CHECK(recorder.verdict(true) == ""); // lists have versions that the recorder did not see made
    CHECK(recorder.history.txns() > 50);
}

TEST_CASE("vacuum: the check reports a slot in use that was returned", "[unit][canary]")
{
    dtx::Options options = replicated(2);

    options.canary = dtx::kCanaryVacuum;

    Database db(2, options);

    {
        Session session(*db.cluster, 0);

        (void)fill(session, db.tables, 0, 5);
    }
    CHECK(db.cluster->vacuum().slots >= 10);
    CHECK(broken(dtx::checks::check_indexes(*db.cluster, 0), "slots") > 0);
}

TEST_CASE("vacuum: a damaged list of returned slots is refused", "[unit]")
{
    Database db = rows_of_two_copies();
    dtx::Address free = first_object(*db.cluster, db.tables.accounts.number, is_deleted);
    int code = 0;

    for (uint32_t copy = 0; copy < 2; copy++)
        damage(*db.cluster, copy, free,
               [&](unsigned char *image) { dtx::header_of(image).key = free.slot() + 1; });
    try {
        (void)db.cluster->vacuum();
    } catch (const dtx::Error &error) {
        code = error.code();
    }
    CHECK(code == RPM_E_CORRUPT);
    Session session(*db.cluster, 0); // other sessions can still use the database
}
