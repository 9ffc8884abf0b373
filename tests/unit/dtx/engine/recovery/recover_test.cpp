// SPDX-License-Identifier: BSD-3-Clause
#include "engine/recovery/recover.h"

#include "engine/cluster/server_connection.h"
#include "unit/dtx/engine/dead.h"
#include "unit/dtx/engine/restartable.h"

#include <chrono>
#include <optional>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

int64_t get(Database &db, Session &session, uint64_t key)
{
    int64_t cents = -1;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                cents = (co_await txn.read(db.tables.accounts, key))->cents;
                co_return true;
            }) == Status::committed);
    return cents;
}

// Returns its key.
uint64_t insert_row(Database &db, Session &session)
{
    constexpr uint64_t kKey = 3;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(db.tables.accounts, kKey, Account{ 100 });
            }) == Status::committed);
    return kKey;
}

} // namespace

TEST_CASE("dtx: the logs of hundreds of coordinators are recovered", "[unit]")
{
    dtx::Options options;
    constexpr uint32_t kMany = 230; /* more than the keys of a connection are enough for, twice */

    options.replicas = 2;
    options.coordinators = dtx::kCoordinatorsMax;
    options.log_bytes = 16 << 10;
    Database db(2, options);

    Session first(*db.cluster, 0);
    for (uint64_t key = 1; key <= kMany; key++)
        REQUIRE(now(first, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(db.tables.accounts, key, Account{ 100 });
                }) == Status::committed);
    for (uint32_t c = 1; c < kMany; c++)
        die_over(db, c, 100 + c, 2, 0, c);
    die_over(db, kMany, 5000, 2, 0, dtx::kCoordinatorsMax - 1);

    dtx::Recovery recovery = db.cluster->recover();

    CHECK(recovery.coordinators == dtx::kCoordinatorsMax);
    CHECK(recovery.locks == kMany);

    Session session(*db.cluster, 0);
    for (uint32_t c = 1; c < kMany; c++)
        REQUIRE(get(db, session, c) == 100 + c);
    CHECK(get(db, session, kMany) == 5000);
}

TEST_CASE("dtx: recovery installs a dead coordinator's commits and drops its other transactions",
          "[unit]")
{
    dtx::Options options;

    options.replicas = 2;
    options.lease_us = 600000000; /* not waited for: the owner's connection is closed */
    options.conflicts_max = 5;
    Database db(2, options);
    Session session(*db.cluster, 0);
    uint32_t logs = GENERATE(0u, 1u, 2u);
    uint32_t copies = GENERATE(0u, 1u, 2u);
    int how = GENERATE(0, 1, 2, 3, 4);

    if (logs < 2 && copies > 0)
        return; /* impossible: rows are written only when all logs have the record */
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t key = 0; key < 5; key++)
                    AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, key, Account{ 100 }));
                co_return true;
            }) == Status::committed);
    die_over(db, 3, 200, logs, copies);

    int64_t expected = logs == 2 ? 200 : 100;

    if (how == 0)
        CHECK(db.cluster->recover().locks == 1);
    if (how == 1)
        CHECK(db.cluster->recover(7).records == (logs == 2 ? 2 : 0));
    if (how == 2)
        Session again(*db.cluster, 7); /* joins with the same coordinator number */
    if (how == 4)
        CHECK(db.cluster->inherit(7) == dtx::Life::died);
    /* how == 3: the session that needs the row finds it locked, and takes over. */
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              auto row = co_await txn.read(db.tables.accounts, 3);

              row->cents++;
              co_return co_await txn.write(db.tables.accounts, 3, *row);
          }) == Status::committed);
    CHECK(get(db, session, 3) == expected + 1);
    for (uint32_t copy : { 0, 1 })
        db.cluster->each_row(
            db.tables.accounts.number, copy, [&](uint64_t key, const void *row, size_t) {
                CHECK(static_cast<const Account *>(row)->cents == (key == 3 ? expected + 1 : 100));
            });
}

TEST_CASE("dtx: a coordinator whose session is connected is not inherited from", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    Database db(2, replicated(2), Tables(), mode);
    std::optional<Session> owner(std::in_place, *db.cluster, 3);

    CAPTURE(mode);
    CHECK(db.cluster->inherit(3) == dtx::Life::alive);
    CHECK(now(*owner, [&](Txn &txn) {
              return txn.insert(db.tables.accounts, 1, Account{ 100 });
          }) == Status::committed);
    CHECK(owner->counters().rejoined == 0);
    owner.reset();
    CHECK(db.cluster->inherit(3) == dtx::Life::died);
    CHECK_THROWS_AS((void)db.cluster->inherit(dtx::kCoordinatorsMax), dtx::Error);
}

TEST_CASE("dtx: a session that may join again after all were fenced is not taken for dead",
          "[unit]")
{
    enum class How {
        restart,
        promote,
        recover
    } how = GENERATE(How::restart, How::promote, How::recover);
    RestartableDatabase db(2);
    Session session(*db.cluster, 0);
    std::optional<Session> owner(std::in_place, *db.cluster, 3);
    auto cluster_of = [&](uint64_t return_us) {
        dtx::Options options = db.cluster->options();

        options.return_us = return_us;
        return dtx::Cluster(db.tables.schema, options);
    };
    auto fence_all = [&] {
        if (how == How::recover) {
            (void)db.cluster->recover();
            return;
        }
        db.servers[1]->stop();
        if (how == How::promote)
            (void)db.cluster->promote({ 1 });
        else
            db.servers[1]->start();
    };
    dtx::Cluster patient = cluster_of(600000000);
    dtx::Cluster between = cluster_of(50000);

    CAPTURE(static_cast<int>(how));
    db.fill(session);
    CHECK(patient.inherit(3) == dtx::Life::alive);
    CHECK(patient.inherit(4) == dtx::Life::died); // no session ever had that number
    fence_all();
    CHECK(patient.inherit(3) == dtx::Life::away);
    CHECK(between.inherit(3) == dtx::Life::away);
    CHECK(add(db, session, 1, 1) == Status::committed); // recovers the restarted server
    CHECK(patient.inherit(3) == dtx::Life::away);
    CHECK(add(db, *owner, 1, 1) == Status::committed);
    CHECK(owner->counters().rejoined == 1);
    CHECK(patient.inherit(3) == dtx::Life::alive);
    if (how != How::promote) {
        // Each time counts anew.
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        fence_all();
        CHECK(add(db, session, 1, 1) == Status::committed);
        CHECK(between.inherit(3) == dtx::Life::away);
        CHECK(cluster_of(0).inherit(3) == dtx::Life::died);
    } else {
        owner.reset();
    }
    CHECK(patient.inherit(3) == dtx::Life::died); // another client has waited for it, or it joined
    CHECK(db.cents(1) == (how == How::promote ? 102 : 103));
}

TEST_CASE("dtx: an old record of a dead coordinator does not overwrite a later version", "[unit]")
{
    Database db;
    Session session(*db.cluster, 0);
    auto write = [&](int64_t cents) {
        return now(session, [&](Txn &txn) -> Task<bool> {
            co_return co_await txn.write(db.tables.accounts, 1, Account{ cents });
        });
    };

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(db.tables.accounts, 1, Account{ 0 });
            }) == Status::committed);
    {
        Session seventh(*db.cluster, 7);

        REQUIRE(now(seventh, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.write(db.tables.accounts, 1, Account{ 1 });
                }) == Status::committed);
    }
    REQUIRE(write(2) == Status::committed);
    CHECK(db.cluster->recover(7).rows == 0);
    CHECK(get(db, session, 1) == 2);
    REQUIRE(write(3) == Status::committed);
    CHECK(get(db, session, 1) == 3);
}

TEST_CASE("dtx: a session that joins, or takes over, does not read all lock words", "[unit]")
{
    uint64_t received[2] = {}; // by a session that finds a lock of a dead one
    uint64_t locks = 0;

    for (size_t i = 0; i < 2; i++) {
        Database db(1, {}, Tables(i == 0 ? 100 : 40000), "tcp");
        Session first(*db.cluster, 0);

        die_over(db, insert_row(db, first), 200, 0, 0);
        received[i] = Session(*db.cluster, 7).counters().received_bytes;
        locks = db.cluster->layout().lock_bytes();
    }
    CHECK(received[1] < received[0] + locks / 10);
}

TEST_CASE("dtx: a second recovery has nothing to do", "[unit]")
{
    Database db(2, replicated(2));

    {
        Session session(*db.cluster, 0);

        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(db.tables.accounts, 3, Account{ 100 });
                }) == Status::committed);
    }
    die_over(db, 3, 200, 2, 1);

    dtx::Recovery first = db.cluster->recover();
    dtx::Recovery second = db.cluster->recover();

    CHECK(first.records >= 1);
    CHECK(first.rows >= 1);
    CHECK(second.records == 0);
    CHECK(second.rows == 0);
    CHECK(second.locks == 0);
}

TEST_CASE("dtx: lock words of a moved shard do not count as broken locks", "[unit]")
{
    Database db(2, replicated(2));
    Session session(*db.cluster, 0);

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(db.tables.accounts, 3, Account{ 100 });
            }) == Status::committed);
    die_over(db, 3, 200, 1, 1);
    {
        dtx::Scheduler scheduler(1, 0);
        dtx::Servers servers(*db.cluster, scheduler);

        servers.open(0, dtx::Claim::none);
        for (uint32_t shard : { 0, 1 }) {
            dtx::ServerConnection &connection = servers.connection(db.cluster->server_of(shard, 0));
            uint64_t last = db.cluster->layout().lock_bytes() - sizeof(uint64_t);

            REQUIRE(connection.compare_and_swap(shard, last, 0, dtx::kMoved) == 0);
        }
        servers.close();
    }
    CHECK(db.cluster->recover().locks == 1);
    CHECK(get(db, session, 3) == 200);
}

TEST_CASE("dtx: a session whose log was taken over and trimmed while it read is fenced", "[unit]")
{
    Database db;
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers first(*db.cluster, scheduler);
    dtx::Servers second(*db.cluster, scheduler);
    std::vector<unsigned char> record(1000);
    uint64_t lsn;

    first.open(7, dtx::Claim::join);
    for (int i = 0; i < 100; i++)
        REQUIRE(first.connection(0).append(record.data(), record.size(), nullptr, &lsn));
    // Write once around the ring of the log, while the first owner reads its first record.
    auto trim = [&](const void *, size_t) {
        if (second.joined() == 0)
            second.open(7, dtx::Claim::takeover);
        for (int i = 0; i < 600; i++)
            while (!second.connection(0).append(record.data(), record.size(), nullptr, &lsn))
                second.connection(0).keep_note({});
    };
    REQUIRE_THROWS_AS(first.connection(0).each_record(trim), dtx::Fenced);
}
