// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/session.h>

#include "engine/cluster/servers.h"
#include "engine/recovery/recover.h"
#include "support/rounds.h"
#include "unit/dtx/engine/database.h"
#include "unit/dtx/engine/joined.h"
#include <dtx/error.h>
#include <dtx/object.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

TEST_CASE("dtx: one living session has a coordinator number", "[unit]")
{
    dtx::Options options;

    options.coordinators = 3;
    options.retry_us = 50000;
    Database db(1, options);
    Session session(*db.cluster, 1);

    try {
        Session second(*db.cluster, 1);
        FAIL("a second session joined with the same coordinator number");
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_OWNED);
    }
    CHECK_THROWS_AS(Session(*db.cluster, 3), dtx::Error);
    Session third(*db.cluster, 2);
}

TEST_CASE("dtx: a session takes any coordinator number that is free, at once", "[unit]")
{
    dtx::Options options;
    std::set<uint32_t> numbers;

    options.coordinators = 3;
    options.retry_us = 500000;
    Database db(GENERATE(1u, 2u), options);
    std::optional<Session> sessions[3];

    for (auto &session : sessions) {
        session.emplace(*db.cluster, dtx::kAnyCoordinator);
        numbers.insert(session->coordinator());
    }
    CHECK(numbers == std::set<uint32_t>{ 0, 1, 2 });
    try {
        Session fourth(*db.cluster, dtx::kAnyCoordinator);
        FAIL("a session joined although all numbers are taken");
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_OWNED);
    }

    uint32_t freed = sessions[1]->coordinator();

    sessions[1].reset();
    sessions[1].emplace(*db.cluster, dtx::kAnyCoordinator);
    CHECK(sessions[1]->coordinator() == freed);
    CHECK(now(*sessions[1], [&](Txn &txn) -> Task<bool> {
              (void)co_await txn.insert(db.tables.accounts, 1, Account{ 1 });
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: threads that take any coordinator number at the same time all get one", "[unit]")
{
    constexpr uint32_t kThreads = 8;
    dtx::Options options;
    std::vector<std::thread> threads;
    std::vector<uint32_t> numbers(kThreads);
    std::atomic<uint32_t> joined = 0;

    options.coordinators = kThreads;
    options.retry_us = 20000000;
    Database db(2, options, Tables(), "tcp");
    for (uint32_t &number : numbers)
        threads.emplace_back([&] {
            Session session(*db.cluster, dtx::kAnyCoordinator);

            number = session.coordinator();
            joined++;
            while (joined < kThreads)
                std::this_thread::yield();
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(std::set<uint32_t>(numbers.begin(), numbers.end()).size() == kThreads);
}

TEST_CASE("dtx: a listener is called for every attempt, with increasing versions", "[unit]")
{
    struct Heard : dtx::Listener {
        std::vector<std::pair<Status, size_t>> all;
        uint64_t last_version = 0;
        void ended(const dtx::Attempt &attempt) override
        {
            all.emplace_back(attempt.status, attempt.accesses.size());
            CHECK(attempt.begin_ns <= attempt.end_ns);
            for (const dtx::Access *access : attempt.accesses)
                if (access->written && attempt.status == Status::committed)
                    last_version = access->header().version;
        }
    } attempts;
    Database db;
    Session session(*db.cluster, 0, &attempts);
    auto table = db.tables.accounts;

    (void)now(session, [&](Txn &txn) -> Task<bool> {
        co_return co_await txn.insert(table, 1, Account{ 1 });
    });
    attempts.all.clear();
    for (uint64_t version = 2; version < 5; version++) {
        (void)now(session, [&](Txn &txn) -> Task<bool> {
            co_return co_await txn.write(table, 1, Account{ 2 });
        });
        CHECK(attempts.last_version == version);
    }
    (void)now(session, [&](Txn &txn) -> Task<bool> {
        (void)co_await txn.read(table, 1);
        co_return false;
    });
    REQUIRE(attempts.all.size() == 4);
    CHECK(attempts.all[0].first == Status::committed);
    CHECK(attempts.all[3].first == Status::aborted);
    CHECK(attempts.all[3].second == 1);
}

TEST_CASE("dtx: a session whose logs were taken over joins again", "[unit]")
{
    Database db(2, replicated(2));
    Session session(*db.cluster, 0);
    auto table = db.tables.accounts;
    bool all = GENERATE(false, true);

    for (uint64_t key = 0; key < 20; key++) {
        if (key == 10) {
            if (all)
                (void)db.cluster->recover();
            else
                (void)db.cluster->recover(0);
        }
        CHECK(now(session, [&](Txn &txn) -> Task<bool> {
                  co_return co_await txn.insert(table, key, Account{ 1 });
              }) == Status::committed);
    }
    CHECK(session.counters().rejoined == 1);
    CHECK(session.counters().committed >= 20);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              for (uint64_t key = 0; key < 20; key++)
                  AWAIT_CHECK((co_await txn.read(table, key)));
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: a session that is fenced again and again keeps its slots", "[unit]")
{
    Database db(2, replicated(2), Tables(640)); // so that a session takes ten slots at a time
    Session session(*db.cluster, 0);

    for (uint64_t key = 0; key < 100; key++) {
        for (auto table : { db.tables.accounts, db.tables.sorted })
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        co_return co_await txn.insert(table, key, Account{ 1 });
                    }) == Status::committed);
        if (key % 2 == 0)
            (void)db.cluster->recover();
        else
            (void)db.cluster->recover(0);
    }
    CHECK(session.counters().rejoined == 99);
}

TEST_CASE("dtx: a lock that a session took before it joined again blocks no transaction", "[unit]")
{
    dtx::Options options;

    options.lease_us = 1000;

    Database db(1, options);
    auto table = db.tables.accounts;
    Session session(*db.cluster, 3);
    auto insert = [&](uint64_t key) {
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(table, key, Account{ 1 });
                }) == Status::committed);
    };
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers other(*db.cluster, scheduler);
    uint64_t lock = 0;
    uint64_t old = 0; /* number of a transaction of the session's first claim */

    insert(1);
    db.cluster->each_object(table.number, 0,
                            [&](dtx::Address at, const unsigned char *image, uint32_t) {
                                if ((dtx::header_of(image).flags & dtx::kObjectValid) == 0)
                                    return;
                                lock = db.cluster->layout().lock_offset(at);
                                old = dtx::header_of(image).writer;
                            });
    (void)db.cluster->recover(3);
    insert(2);
    other.open(0, dtx::Claim::none);
    REQUIRE(other.connection(0).compare_and_swap(0, lock, 0, old) == 0);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.write(table, 1, Account{ 2 });
          }) == Status::committed);
    CHECK(session.counters().rejoined == 1);
}

TEST_CASE("dtx: sessions that end return their slots", "[unit]")
{
    Database db(1, {}, Tables(100));

    for (uint64_t i = 0; i < rounds(300); i++) {
        Session session(*db.cluster, static_cast<uint32_t>(i % 3));

        for (auto table : { db.tables.accounts, db.tables.sorted }) {
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        for (uint64_t key = 0; key < 30; key++)
                            AWAIT_CHECK(co_await txn.insert(table, key, Account{ 1 }));
                        co_return true;
                    }) == Status::committed);
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        for (uint64_t key = 0; key < 30; key++)
                            AWAIT_CHECK(co_await txn.erase(table, key));
                        co_return true;
                    }) == Status::committed);
        }
    }
}

TEST_CASE("dtx: a session that ends leaves no record in its logs", "[unit]")
{
    Database db(2, replicated(2));

    for (uint32_t i = 0; i < 2; i++) {
        Session session(*db.cluster, 1);

        for (uint64_t key = 0; key < 20; key++)
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        AWAIT_CHECK(
                            co_await txn.insert(db.tables.accounts, i * 100 + key, Account{ 1 }));
                        co_return true;
                    }) == Status::committed);
    }
    for (const std::string &url : db.cluster->options().urls) {
        struct rpm_log_info info = rpm_log_info_init();
        rpm_conn *conn = nullptr;
        rpm_log *log = nullptr;

        REQUIRE(rpm_conn_open(url.c_str(), nullptr, &conn) == 0);
        REQUIRE(rpm_log_open(conn, "dtx/test/log1", nullptr, &log) == 0);
        REQUIRE(rpm_log_info(log, &info) == 0);
        CHECK(info.tail_lsn > 0);
        CHECK(info.head_lsn == info.tail_lsn);
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
}

TEST_CASE("dtx: while most attempts fail, fewer transactions are under way", "[unit]")
{
    constexpr uint64_t kLateNs = 400000000; // many epochs: each may halve the number under way
    dtx::Options options;

    options.techniques.depth = GENERATE(true, false);
    Database db(1, options);
    Session session(*db.cluster, 0);
    uint64_t start = dtx::now_ns();
    bool in_the_way = true;
    bool began = false;
    bool began_beside = false;
    auto stuck = [&]() -> Task<void> {
        (void)co_await session.transact([&](Txn &) -> Task<bool> {
            if (in_the_way)
                throw dtx::Conflict{};
            co_return false;
        });
    };
    auto late = [&]() -> Task<void> {
        while (dtx::now_ns() - start < kLateNs)
            co_await session.turn();
        (void)co_await session.transact([&](Txn &) -> Task<bool> {
            began = true;
            co_return false;
        });
    };
    auto release = [&]() -> Task<void> {
        while (dtx::now_ns() - start < kLateNs + kLateNs / 4)
            co_await session.turn();
        began_beside = began;
        in_the_way = false;
    };
    std::vector<Task<void>> tasks;

    for (int i = 0; i < 8; i++)
        tasks.push_back(stuck());
    tasks.push_back(late());
    tasks.push_back(release());
    session.run(std::move(tasks));
    CHECK(began_beside != options.techniques.depth);
    CHECK(began);
    CHECK(session.counters().aborted == 9);
}

TEST_CASE("dtx: a connected owner keeps its locks, a disconnected one does not", "[unit]")
{
    dtx::Options options;

    options.lease_us = 600000000;
    options.conflicts_max = 3;

    std::string mode = GENERATE("", ",mode=ring", "tcp");
    Database db(2, options, Tables(), mode);
    Session session(*db.cluster, 0);
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers other(*db.cluster, scheduler);
    auto table = db.tables.accounts;
    uint64_t lock = 0;
    uint64_t closed = 0;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(table, 1, Account{ 1 });
            }) == Status::committed);
    db.cluster->each_object(table.number, 0,
                            [&](dtx::Address at, const unsigned char *image, uint32_t) {
                                if ((dtx::header_of(image).flags & dtx::kObjectValid) != 0)
                                    lock = db.cluster->layout().lock_offset(at);
                            });

    uint64_t number = join(other, 7) | 7;

    REQUIRE(other.connection(0).compare_and_swap(0, lock, 0, number) == 0);

    std::thread owner([&] {
        uint64_t until = dtx::now_ns() + 300000000;
        bool held = true;

        while (dtx::now_ns() < until)
            held = held && other.connection(0).compare_and_swap(0, lock, number, number) == number;
        CHECK(held);
        closed = dtx::now_ns();
        other.close();
    });

    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.write(table, 1, Account{ 2 });
          }) == Status::committed);

    uint64_t written = dtx::now_ns();

    owner.join();
    CHECK(written > closed);
    CHECK(session.counters().rejoined == 0);
}

TEST_CASE("dtx: a session that has used up its numbers claims new ones", "[unit]")
{
    struct Numbers : dtx::Listener {
        std::set<uint64_t> all;
        uint64_t attempts = 0;
        void ended(const dtx::Attempt &attempt) override
        {
            all.insert(attempt.txn);
            attempts++;
        }
    } numbers;
    dtx::Options options;

    options.numbers = 200;

    Database db(1, options);
    Session session(*db.cluster, 0, &numbers);
    auto table = db.tables.accounts;
    std::vector<Task<void>> tasks;
    auto worker = [&](uint64_t key) -> Task<void> {
        for (int i = 0; i < 400; i++) {
            (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                auto row = co_await txn.read(table, key % 2);

                co_return co_await txn.write(table, key % 2, Account{ row->cents + 1 });
            });
            co_await session.turn();
        }
    };

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                bool first = co_await txn.insert(table, 0, Account{ 0 });
                bool second = co_await txn.insert(table, 1, Account{ 0 });

                co_return first &&second;
            }) == Status::committed);
    for (uint64_t i = 0; i < 4; i++)
        tasks.push_back(worker(i));
    session.run(std::move(tasks));
    CHECK(numbers.all.size() == numbers.attempts);
    CHECK(session.counters().committed == 1601 + 1); /* one transaction took slots */
    CHECK(session.counters().unknown == 0);
    CHECK(session.counters().rejoined >= 7);
}

TEST_CASE("dtx: other sessions can use the slots that a session frees while it lives", "[unit]")
{
    Database db(1, {}, Tables(100));
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);

    for (int i = 0; i < 20; i++)
        for (auto table : { db.tables.accounts, db.tables.sorted }) {
            for (uint64_t key = 0; key < 80; key++)
                REQUIRE(now(one, [&](Txn &txn) -> Task<bool> {
                            co_return co_await txn.insert(table, key, Account{ 1 });
                        }) == Status::committed);
            for (uint64_t key = 0; key < 80; key++)
                REQUIRE(now(two, [&](Txn &txn) -> Task<bool> {
                            co_return co_await txn.erase(table, key);
                        }) == Status::committed);
        }
}
