// SPDX-License-Identifier: BSD-3-Clause
#include "engine/txn/commit.h"

#include "support/rounds.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>
#include <dtx/scheduler.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

void put(Database &db, Session &session, uint64_t key, int64_t cents)
{
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(db.tables.accounts, key, Account{ cents });
            }) == Status::committed);
}

int64_t get(Database &db, Session &session, uint64_t key)
{
    int64_t cents = 0;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                cents = (co_await txn.read(db.tables.accounts, key))->cents;
                co_return true;
            }) == Status::committed);
    return cents;
}

// Run @inner between the last operation of @outer's first attempt and its commit.
template <class Outer, class Inner> dtx::Outcome around(Session &session, Outer outer, Inner inner)
{
    bool first = true;

    return session.transact_now([&](Txn &txn) -> Task<bool> {
        bool commits = co_await outer(txn);

        if (std::exchange(first, false))
            inner();
        co_return commits;
    });
}

} // namespace

TEST_CASE("dtx: an update that would be lost runs again", "[unit]")
{
    Database db;
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);
    auto add = [&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read(db.tables.accounts, 1);

        row->cents++;
        co_return co_await txn.write(db.tables.accounts, 1, *row);
    };

    put(db, one, 1, 10);

    dtx::Outcome outcome = around(one, add, [&] { REQUIRE(now(two, add) == Status::committed); });

    CHECK(outcome.status == Status::committed);
    CHECK(outcome.conflicts == 1);
    CHECK(get(db, one, 1) == 12);
    CHECK(one.counters().conflicts == 1);
}

TEST_CASE("dtx: there is no write skew", "[unit]")
{
    Database db(2);
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);
    uint64_t a = in_partition(0, 1);
    uint64_t b = in_partition(1, 1);
    /* Take 100 from one of two accounts if they have 100 together. */
    auto take = [&](uint64_t from, uint64_t other) {
        return [&db, from, other](Txn &txn) -> Task<bool> {
            auto own = co_await txn.read(db.tables.accounts, from);
            auto its = co_await txn.read(db.tables.accounts, other);

            if (own->cents + its->cents < 100)
                co_return false;
            own->cents -= 100;
            co_return co_await txn.write(db.tables.accounts, from, *own);
        };
    };

    put(db, one, a, 60);
    put(db, one, b, 60);

    dtx::Outcome outcome =
        around(one, take(a, b), [&] { REQUIRE(now(two, take(b, a)) == Status::committed); });

    CHECK(outcome.status == Status::aborted);
    CHECK(get(db, one, a) + get(db, one, b) == 20);
}

TEST_CASE("dtx: a reader sees two rows of one state", "[unit]")
{
    Database db(2);
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);
    uint64_t a = in_partition(0, 1);
    uint64_t b = in_partition(1, 1);
    int64_t sum = 0;
    bool first = true;

    put(db, one, a, 50);
    put(db, one, b, 50);
    REQUIRE(one.transact_now([&](Txn &txn) -> Task<bool> {
                   auto x = co_await txn.read(db.tables.accounts, a);

                   if (std::exchange(first, false))
                       REQUIRE(now(two, [&](Txn &other) -> Task<bool> {
                                   co_await other.write(db.tables.accounts, a, Account{ 0 });
                                   co_return co_await other.write(db.tables.accounts, b,
                                                                  Account{ 100 });
                               }) == Status::committed);
                   sum = x->cents + (co_await txn.read(db.tables.accounts, b))->cents;
                   co_return true;
               })
                .conflicts == 1);
    CHECK(sum == 100);
}

TEST_CASE("dtx: there are no phantoms, neither of absent keys nor in ranges", "[unit]")
{
    Database db;
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);
    bool range = GENERATE(false, true);
    auto table = range ? db.tables.sorted : db.tables.accounts;
    uint64_t seen = 99;

    dtx::Outcome outcome = around(
        one,
        [&](Txn &txn) -> Task<bool> {
            if (range)
                seen = (co_await txn.scan(table, 0, 100)).size();
            else
                seen = (co_await txn.read(table, 50)).has_value();
            /* Write another row, so that this is not a read-only transaction. */
            (void)co_await txn.erase(table, 1000 + seen);
            co_return co_await txn.insert(table, 1000 + seen, Account{ 1 });
        },
        [&] {
            REQUIRE(now(two, [&](Txn &txn) -> Task<bool> {
                        co_return co_await txn.insert(table, 50, Account{ 1 });
                    }) == Status::committed);
        });

    CHECK(outcome.conflicts >= 1);
    CHECK(seen == 1);
}

TEST_CASE("dtx: a transaction larger than a log record is refused without effect", "[unit]")
{
    Database db(1, {}, Tables(20000));
    Session session(*db.cluster, 0);

    try {
        (void)session.transact_now([&](Txn &txn) -> Task<bool> {
            for (uint64_t key = 0; key < 4000; key++)
                AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, key, Account{ 1 }));
            co_return true;
        });
        FAIL("a transaction larger than a log record was committed");
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_TOOBIG);
    }
    for (uint64_t key = 0; key < 4000; key += 400)
        put(db, session, key, 1);
}

TEST_CASE("dtx: a session trims its log and never runs out of it", "[unit]")
{
    dtx::Options options;

    options.replicas = GENERATE(1u, 3u);
    Database db(3, options);
    Session session(*db.cluster, 0);

    put(db, session, 1, 0);
    for (int i = 0; i < 10000; i++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    auto row = co_await txn.read(db.tables.accounts, 1);

                    row->cents++;
                    co_return co_await txn.write(db.tables.accounts, 1, *row);
                }) == Status::committed);
    CHECK(get(db, session, 1) == 10000);
}

TEST_CASE("dtx: the copies of a shard are equal", "[unit]")
{
    Database db(3, replicated(3));
    Session session(*db.cluster, 0);
    dtx::SplitMix64 rng(5);

    for (uint64_t i = 0; i < 500; i++)
        put(db, session, in_partition(static_cast<uint32_t>(rng.below(3)), i), int64_t(i));
    for (uint32_t table = 0; table < db.cluster->layout().tables(); table++) {
        std::map<uint64_t, std::vector<unsigned char>> primary;

        db.cluster->each_object(
            table, 0, [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                primary[address.word].assign(image, image + bytes);
            });
        for (uint32_t copy : { 1, 2 })
            db.cluster->each_object(
                table, copy, [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                    REQUIRE(std::memcmp(primary[address.word].data(), image, bytes) == 0);
                });
    }
}

TEST_CASE("dtx: coroutines of one session, and threads, lose no update", "[unit]")
{
    dtx::Options options;

    options.replicas = 2;
    options.interleave = GENERATE(0u, 100u);
    Database db(2, options);
    constexpr int kThreads = 3;
    constexpr int kCoroutines = 4;
    constexpr int kRounds = 60;
    std::vector<std::thread> threads;

    {
        Session session(*db.cluster, 10);

        put(db, session, 1, 0);
    }
    for (uint32_t t = 0; t < kThreads; t++)
        threads.emplace_back([&db, t] {
            Session session(*db.cluster, t);
            std::vector<Task<void>> tasks;
            auto worker = [&]() -> Task<void> {
                for (int i = 0; i < kRounds; i++) {
                    (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                        auto row = co_await txn.read(db.tables.accounts, 1);

                        row->cents++;
                        co_return co_await txn.write(db.tables.accounts, 1, *row);
                    });
                    co_await session.turn();
                }
            };

            for (int c = 0; c < kCoroutines; c++)
                tasks.push_back(worker());
            session.run(std::move(tasks));
        });
    for (std::thread &thread : threads)
        thread.join();

    Session session(*db.cluster, 10);

    CHECK(get(db, session, 1) == kThreads * kCoroutines * kRounds);
}

TEST_CASE("dtx: over a link a row that is read alone takes one round trip", "[unit]")
{
    std::string link = GENERATE(",mode=ring", "tcp", "sim");
    Database db(2, {}, Tables(), link);
    Session session(*db.cluster, 0);
    Session stranger(*db.cluster, 1);
    auto trips = [&](Session &by, auto body, Status wanted = Status::committed) {
        uint64_t before = by.counters().round_trips;

        CHECK(now(by, body) == wanted);
        return by.counters().round_trips - before;
    };
    auto reads = [](auto table, uint64_t key, bool commits = true) {
        return [=](Txn &txn) -> Task<bool> {
            (void)co_await txn.read(table, key);
            co_return commits;
        };
    };
    auto accounts = db.tables.accounts;
    auto sorted = db.tables.sorted;

    CAPTURE(link);
    for (uint64_t key : { 1, 2 }) {
        put(db, session, key, 1);
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(sorted, key, Account{ 1 });
                }) == Status::committed);
    }
    (void)get(db, session, 1); // waits until the rows of the inserts are installed

    CHECK(trips(session, reads(accounts, 1)) == 1);
    CHECK(trips(session, reads(sorted, 1)) == 1);
    CHECK(trips(session, reads(accounts, 1, false), Status::aborted) == 1);
    CHECK(trips(session, reads(accounts, 7)) == 1); // the bucket, which lacks the key
    CHECK(trips(stranger, reads(accounts, 1)) == 2);
    CHECK(trips(stranger, reads(sorted, 1)) == 3); // the root, the root as leaf, the row
    CHECK(trips(stranger, reads(sorted, 1)) == 1);
    CHECK(trips(session, [&](Txn &txn) -> Task<bool> {
              (void)co_await txn.read(accounts, 1);
              (void)co_await txn.read(sorted, 1);
              co_return true;
          }) == 2 + 1); // both are validated
}

namespace
{

// Two accounts over a link with round trips. @session has their slots in its cache.
struct Updates {
    Updates()
    {
        put(db, session, 1, 1);
        put(db, session, 2, 1);
        (void)get(db, session, 1);
    }
    // If a NIC frees a lock and a CPU takes it, the CPU's operation may be carried out first.
    static dtx::Options options(const std::string &link)
    {
        dtx::Options options;

        if (link == "sim")
            options.phases = dtx::Phases::parse("call");
        return options;
    }
    auto add(uint64_t key, bool commits = true) const
    {
        return [accounts = db.tables.accounts, key, commits](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(accounts, key);

            if (row)
                co_await txn.write(accounts, key, Account{ row->cents + 1 });
            co_return commits;
        };
    }
    // Is the row unlocked? Adds to it in another session, which has no conflict then.
    bool is_free(uint64_t key)
    {
        CHECK(now(other, add(key)) == Status::committed);
        return other.counters().conflicts == 0;
    }

    std::string link{ GENERATE(",mode=ring", "tcp", "sim") };
    Database db{ 2, options(link), Tables(), link };
    Session session{ *db.cluster, 0 };
    Session other{ *db.cluster, 1 };
};

} // namespace

TEST_CASE("dtx: a row that is read for update is locked by the message that reads it", "[unit]")
{
    Updates updates;
    Database &db = updates.db;
    Session &session = updates.session;
    Session &other = updates.other;
    auto add = [&](uint64_t key, bool commits = true) { return updates.add(key, commits); };
    auto is_free = [&](uint64_t key) { return updates.is_free(key); };

    CAPTURE(updates.link);
    SECTION("a commit waits for the message that locks and reads, and for the record")
    {
        uint64_t before = session.counters().round_trips;

        CHECK(now(session, add(1)) == Status::committed);
        CHECK(session.counters().round_trips - before == 2);
        CHECK(get(db, other, 1) == 2);
        CHECK(is_free(1));
    }
    SECTION("a body that gives up, or throws, frees the lock")
    {
        CHECK(now(session, add(1, false)) == Status::aborted);
        CHECK_THROWS_AS(now(session,
                            [&](Txn &txn) -> Task<bool> {
                                (void)co_await txn.read_for_update(db.tables.accounts, 1);
                                throw std::runtime_error("of the program");
                            }),
                        std::runtime_error);
        CHECK(session.counters().rejoined == 0);
        CHECK(is_free(1));
        CHECK(get(db, other, 1) == 2);
    }
    SECTION("an attempt that ends in a conflict frees the lock")
    {
        auto outer = [&](Txn &txn) -> Task<bool> {
            (void)co_await txn.read(db.tables.accounts, 2);
            co_return co_await add(1)(txn);
        };
        dtx::Outcome outcome = around(session, outer, [&] { CHECK(is_free(2)); });

        CHECK(outcome.status == Status::committed);
        CHECK(outcome.conflicts == 1);
        CHECK(is_free(1));
        CHECK(get(db, other, 1) == 3);
    }
}

TEST_CASE("dtx: a row read for update under a wrong guess is unlocked", "[unit]")
{
    Updates updates;
    Database &db = updates.db;
    Session &session = updates.session;
    Session &other = updates.other;
    auto accounts = db.tables.accounts;
    auto add = [&](uint64_t key) { return updates.add(key); };
    auto is_free = [&](uint64_t key) { return updates.is_free(key); };

    CAPTURE(updates.link);
    SECTION("another row in the guessed slot is unlocked and not written")
    {
        REQUIRE(now(other, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(accounts, 1);
                }) == Status::committed);
        put(db, other, 9, 5);
        CHECK(now(session, add(1)) == Status::committed); // finds no row
        CHECK(get(db, other, 9) == 5);
        CHECK(is_free(9));
        CHECK(get(db, session, 9) == 6);
        // A wrong guess does not prevent an insert of the key.
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(accounts, 2);
                }) == Status::committed);
        CHECK(now(session, [&](Txn &txn) -> Task<bool> {
                  auto row = co_await txn.read_for_update(accounts, 2);

                  if (row)
                      co_return false;
                  co_return co_await txn.insert(accounts, 2, Account{ 7 });
              }) == Status::committed);
        CHECK(get(db, other, 2) == 7);
    }
    SECTION("a transaction that finds the row locked does not wait, but runs again")
    {
        uint64_t conflicts = 0;

        (void)around(session, add(1), [&] {
            Session third(*db.cluster, 2);
            bool first = true;

            CHECK(now(third, [&](Txn &txn) -> Task<bool> {
                      if (!std::exchange(first, false))
                          co_return false;
                      (void)co_await add(2)(txn);
                      co_return co_await add(1)(txn);
                  }) == Status::aborted);
            conflicts = third.counters().conflicts;
            CHECK(is_free(2)); // the attempt that had locked it ended in a conflict
        });
        CHECK(conflicts == 1);
        CHECK(is_free(1));
        CHECK(get(db, other, 1) == 3);
    }
}

TEST_CASE("dtx: a row that was read for update is free again after the transaction was refused",
          "[unit]")
{
    Database db(1, {}, Tables(20000), "tcp");
    Session session(*db.cluster, 0);
    Session other(*db.cluster, 1);
    auto add = [&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read_for_update(db.tables.accounts, 1);

        co_return co_await txn.write(db.tables.accounts, 1, Account{ row->cents + 1 });
    };

    put(db, other, 1, 1);
    (void)get(db, session, 1);
    CHECK_THROWS_AS(session.transact_now([&](Txn &txn) -> Task<bool> {
        (void)co_await add(txn);
        for (uint64_t key = 2; key < 4000; key++)
            AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, key, Account{ 1 }));
        co_return true;
    }),
                    dtx::Error);
    CHECK(session.counters().rejoined == 0);
    CHECK(now(other, add) == Status::committed);
    CHECK(other.counters().conflicts == 0);
    CHECK(get(db, session, 1) == 2);
}

TEST_CASE("dtx: an owner that is slow between its read for update and its commit loses its lock",
          "[unit]")
{
    std::string link = GENERATE(",mode=ring", "tcp");
    dtx::Options options;

    options.durable = GENERATE(true, false);
    options.lease_us = 50000;
    Database db(2, options, Tables(), link);
    Session owner(*db.cluster, 0);
    Session other(*db.cluster, 1);
    auto add = [&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read_for_update(db.tables.accounts, 1);

        co_return co_await txn.write(db.tables.accounts, 1, Account{ row->cents + 1 });
    };

    CAPTURE(link, options.durable);
    put(db, owner, 1, 0);

    dtx::Outcome outcome =
        around(owner, add, [&] { REQUIRE(now(other, add) == Status::committed); });

    // The first message of the owner's commit has the record, or without a log the row: the server
    // refuses it. With a log the owner finds the other's version, and its body runs again.
    CHECK(outcome.status == (options.durable ? Status::committed : Status::unknown));
    CHECK(outcome.conflicts == (options.durable ? 1 : 0));
    CHECK(owner.counters().rejoined == 1);
    CHECK(other.counters().conflicts > 0);
    CHECK(get(db, other, 1) == (options.durable ? 2 : 1));
    CHECK(now(owner, add) == Status::committed);
    CHECK(get(db, other, 1) == (options.durable ? 3 : 2));
}

TEST_CASE("dtx: sessions that lock rows in opposite orders both make progress", "[unit]")
{
    constexpr uint32_t kSessions = 2;
    Database db(2, {}, Tables(), "tcp");
    std::vector<std::thread> threads;
    std::atomic<uint64_t> conflicts{ 0 };
    auto add = [&](Txn &txn, uint64_t key) -> Task<bool> {
        auto row = co_await txn.read_for_update(db.tables.accounts, key);

        co_return co_await txn.write(db.tables.accounts, key, Account{ row->cents + 1 });
    };

    {
        Session session(*db.cluster, 10);

        put(db, session, 1, 0);
        put(db, session, 2, 0);
    }
    for (uint32_t t = 0; t < kSessions; t++)
        threads.emplace_back([&, t] {
            Session session(*db.cluster, t);

            for (uint64_t i = 0; i < rounds(300); i++)
                (void)session.transact_now([&](Txn &txn) -> Task<bool> {
                    (void)co_await add(txn, t + 1);
                    co_return co_await add(txn, 2 - t);
                });
            conflicts += session.counters().conflicts;
        });
    for (std::thread &thread : threads)
        thread.join();

    Session session(*db.cluster, 10);

    CAPTURE(conflicts);
    CHECK(get(db, session, 1) == int64_t(kSessions * rounds(300)));
    CHECK(get(db, session, 2) == int64_t(kSessions * rounds(300)));
}
