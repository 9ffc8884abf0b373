// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/txn.h>

#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

#include <algorithm>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

TEST_CASE("dtx: a row that was inserted is read, written, deleted", "[unit]")
{
    Database db;
    dtx::Session session(*db.cluster, 0);
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(!co_await txn.read(table, 5));
              AWAIT_CHECK(!co_await txn.write(table, 5, Account{ 1 }));
              AWAIT_CHECK(!co_await txn.erase(table, 5));
              AWAIT_CHECK(co_await txn.insert(table, 5, Account{ 100 }));
              co_return true;
          }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK((co_await txn.read(table, 5))->cents == 100);
              AWAIT_CHECK(!co_await txn.insert(table, 5, Account{ 7 }));
              AWAIT_CHECK(co_await txn.write(table, 5, Account{ 200 }));
              co_return true;
          }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK((co_await txn.read(table, 5))->cents == 200);
              AWAIT_CHECK(co_await txn.erase(table, 5));
              co_return true;
          }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(!co_await txn.read(table, 5));
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: a transaction sees its own writes", "[unit]")
{
    Database db;
    dtx::Session session(*db.cluster, 0);
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(co_await txn.insert(table, 1, Account{ 1 }));
              AWAIT_CHECK(!co_await txn.insert(table, 1, Account{ 2 }));
              AWAIT_CHECK((co_await txn.read(table, 1))->cents == 1);
              AWAIT_CHECK(co_await txn.write(table, 1, Account{ 3 }));
              AWAIT_CHECK((co_await txn.read(table, 1))->cents == 3);
              AWAIT_CHECK(co_await txn.erase(table, 1));
              AWAIT_CHECK(!co_await txn.read(table, 1));
              AWAIT_CHECK(co_await txn.insert(table, 1, Account{ 4 }));
              co_return true;
          }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK((co_await txn.read(table, 1))->cents == 4);
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: a transaction that gives up has no effect", "[unit]")
{
    Database db;
    dtx::Session session(*db.cluster, 0);
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(table, 1, Account{ 1 });
            }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(co_await txn.write(table, 1, Account{ 9 }));
              AWAIT_CHECK(co_await txn.insert(table, 2, Account{ 9 }));
              co_return false;
          }) == Status::aborted);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK((co_await txn.read(table, 1))->cents == 1);
              AWAIT_CHECK(!co_await txn.read(table, 2));
              co_return true;
          }) == Status::committed);
    CHECK(session.counters().aborted == 1);
}

TEST_CASE("dtx: an exception of the program aborts the transaction and reaches the caller",
          "[unit]")
{
    Database db;
    dtx::Session session(*db.cluster, 0);

    CHECK_THROWS_AS(session.transact_now([&](Txn &txn) -> Task<bool> {
        AWAIT_CHECK(co_await txn.insert(db.tables.accounts, 1, Account{ 1 }));
        throw std::logic_error("of the program");
    }),
                    std::logic_error);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(!co_await txn.read(db.tables.accounts, 1));
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: a range is scanned in either order, with a limit", "[unit]")
{
    Database db(2);
    dtx::Session session(*db.cluster, 0);
    auto table = db.tables.sorted;
    uint64_t first = in_partition(1, 0);

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t i = 0; i < 100; i++)
                    AWAIT_CHECK(co_await txn.insert(table, first + i * 10, Account{ int64_t(i) }));
                co_return true;
            }) == Status::committed);
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                auto up = co_await txn.scan(table, first + 15, first + 200);
                auto down = co_await txn.scan(table, first, first + 999, 3, dtx::Order::descending);
                auto none = co_await txn.scan(table, first + 1, first + 9);

                CHECK(up.size() == 19);
                CHECK(up.front().first == first + 20);
                CHECK(up.back().second.cents == 20);
                CHECK(down.size() == 3);
                CHECK(down.front().first == first + 990);
                CHECK(none.empty());
                AWAIT_CHECK((co_await txn.scan(table, first + 9, first + 1)).empty());
                AWAIT_CHECK((co_await txn.scan(table, first, first + 999, 0)).empty());
                co_return true;
            }) == Status::committed);
}

TEST_CASE("dtx: an insert into a full table is an error, and other transactions run on", "[unit]")
{
    Database db(1, {}, Tables(40));
    dtx::Session session(*db.cluster, 0);
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;
    uint64_t made = 0;
    auto insert = [&](Txn &txn) -> Task<bool> {
        co_return co_await txn.insert(table, made, Account{ 1 });
    };

    for (; made < 100; made++) {
        try {
            Status status = now(session, insert);

            REQUIRE(status == Status::committed);
        } catch (const dtx::Error &error) {
            CHECK(error.code() == RPM_E_NOSPACE);
            break;
        }
    }
    CHECK(made == 40);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> { co_return co_await txn.erase(table, 7); }) ==
          Status::committed);
    CHECK(now(session, insert) == Status::committed);
}

TEST_CASE("dtx: prefetched rows cost no further round trip, and are current", "[unit]")
{
    Database db(2, {}, Tables(), ",mode=ring");
    dtx::Session session(*db.cluster, 0);
    dtx::Session other(*db.cluster, 1);
    const Tables &tables = db.tables;
    uint64_t keys[] = { 1, in_partition(1, 2), 3 };
    auto put = [&](dtx::Session &by, uint64_t key, int64_t cents) {
        return now(by, [&](Txn &txn) -> Task<bool> {
            (void)co_await txn.erase(tables.accounts, key);
            co_return co_await txn.insert(tables.accounts, key, Account{ cents });
        });
    };
    auto spent = [&](bool ahead) {
        uint64_t before = session.counters().remote;
        uint64_t reads = 0;

        CHECK(now(session, [&](Txn &txn) -> Task<bool> {
                  if (ahead)
                      co_await txn.prefetch(tables.accounts.at(1), tables.accounts.at(keys[1]),
                                            tables.accounts.at(3), tables.accounts.at(77));
                  reads = session.counters().remote;
                  for (uint64_t key : keys) {
                      auto row = co_await txn.read(tables.accounts, key);
                      bool right = row && row->cents == static_cast<int64_t>(key & 7) * 10;

                      CHECK(right);
                  }
                  reads = session.counters().remote - reads;
                  co_return true;
              }) == Status::committed);
        return std::pair(reads, session.counters().remote - before);
    };

    for (uint64_t key : keys)
        REQUIRE(put(session, key, static_cast<int64_t>(key & 7) * 10) == Status::committed);

    auto [one_by_one, all] = spent(false);
    auto [afterwards, in_all] = spent(true);

    CHECK(one_by_one == 3 + 1); // 3 rows, and the lock of the first, read before it
    CHECK(afterwards == 0);
    CHECK(in_all == all - 1);
    /* Guesses that are wrong: rows that are in other slots by now, and slots with other rows. */
    for (uint64_t key : { 9, 10, 11 })
        REQUIRE(put(other, key, 1) == Status::committed);
    for (uint64_t key : { 3, 1 })
        REQUIRE(put(other, key, static_cast<int64_t>(key) * 10) == Status::committed);
    spent(true);
}

TEST_CASE("dtx: a scan is of one partition, on however many servers", "[unit]")
{
    Tables tables;

    tables.schema = dtx::Schema("test", 1);
    tables.accounts = tables.schema.hash_table<Account>("accounts", 2000, partition_of);
    tables.sorted = tables.schema.ordered_table<Account>(
        "sorted", 2000, [](uint64_t key) { return static_cast<uint32_t>(key % 3); });

    Database db(GENERATE(1u, 2u, 3u), {}, tables);
    Session session(*db.cluster, 0);
    dtx::Order order = GENERATE(dtx::Order::ascending, dtx::Order::descending);
    auto scan = [&](uint64_t from, uint64_t to) {
        std::vector<uint64_t> keys;

        (void)session.transact_now([&](Txn &txn) -> Task<bool> {
            keys.clear();
            for (const auto &[key, row] :
                 co_await txn.scan(db.tables.sorted, from, to, UINT32_MAX, order))
                keys.push_back(key);
            co_return true;
        });
        return keys;
    };
    std::vector<uint64_t> wanted;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t key = 0; key < 300; key++)
                    AWAIT_REQUIRE(co_await txn.insert(db.tables.sorted, key, Account{ 1 }));
                co_return true;
            }) == Status::committed);
    for (uint64_t key = 3; key <= 297; key += 3)
        wanted.push_back(key);
    if (order == dtx::Order::descending)
        std::reverse(wanted.begin(), wanted.end());
    CHECK(scan(3, 297) == wanted);
    CHECK(scan(7, 3).empty());
    try {
        (void)scan(3, 298);
        FAIL("the second operation was not refused");
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_INVAL);
        CHECK(std::string(error.what())
                  .find("'sorted' from key 3, in partition 0, to key 298, in "
                        "partition 1") != std::string::npos);
    }
}

TEST_CASE("dtx: two operations of one transaction at once are refused", "[unit]")
{
    std::string mode = GENERATE(",mode=ring", "tcp");
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    auto table = db.tables.sorted;
    int refused = 0;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t key = 0; key < 100; key++)
                    AWAIT_REQUIRE(co_await txn.insert(table, key, Account{ 1 }));
                co_return true;
            }) == Status::committed);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              auto scan = [&]() -> Task<size_t> {
                  co_return (co_await txn.scan(table, 0, 50)).size();
              };
              auto beside = scan();
              bool found = false;

              beside.handle().resume();
              AWAIT_REQUIRE(!beside.done());
              try {
                  (void)co_await txn.scan(table, 20, 70);
              } catch (const dtx::Error &error) {
                  refused += error.code() == RPM_E_INVAL ? 1 : 0;
              }
              try {
                  found = (co_await txn.read(table, 1)).has_value();
              } catch (const dtx::Error &error) {
                  refused += error.code() == RPM_E_INVAL ? 1 : 0;
              }
              AWAIT_CHECK(!found);
              while (!beside.done())
                  co_await session.turn();
              AWAIT_CHECK(beside.await_resume() == 51);
              AWAIT_CHECK((co_await txn.scan(table, 20, 70)).size() == 51);
              co_return true;
          }) == Status::committed);
    CHECK(refused == 2);
}
