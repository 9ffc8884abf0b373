// SPDX-License-Identifier: BSD-3-Clause
#include "engine/index/hash_index.h"

#include "unit/dtx/engine/database.h"
#include <dtx/scheduler.h>

#include <map>

TEST_CASE("dtx: a hash table behaves like a map, with overflowing buckets too", "[unit]")
{
    Database db(1, {}, Tables(600));
    dtx::Session session(*db.cluster, 0);
    dtx::SplitMix64 rng(7);
    std::map<uint64_t, int64_t> model;

    for (int i = 0; i < 6000; i++) {
        uint64_t key = rng.below(700);
        bool add = rng.below(3) != 0 && model.size() < 590;

        REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    auto found = co_await txn.read(db.tables.accounts, key);

                    REQUIRE(found.has_value() == model.contains(key));
                    if (found)
                        REQUIRE(found->cents == model[key]);
                    if (add)
                        AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, key, Account{ i }) !=
                                      found.has_value());
                    else
                        AWAIT_REQUIRE(co_await txn.erase(db.tables.accounts, key) ==
                                      found.has_value());
                    co_return true;
                }) == dtx::Status::committed);
        if (add)
            model.emplace(key, i);
        else
            model.erase(key);
    }
    CHECK(model.size() > 100);

    uint64_t rows = 0;

    db.cluster->each_row(db.tables.accounts.number, 0,
                         [&](uint64_t key, const void *row, size_t bytes) {
                             rows++;
                             CHECK(bytes == sizeof(Account));
                             CHECK(static_cast<const Account *>(row)->cents == model[key]);
                         });
    CHECK(rows == model.size());
}

TEST_CASE("dtx: another session finds rows by the buckets, and ignores stale guesses", "[unit]")
{
    Database db(1);
    dtx::Session one(*db.cluster, 0);
    dtx::Session two(*db.cluster, 1);
    auto table = db.tables.accounts;

    for (int round = 0; round < 50; round++) {
        uint64_t key = static_cast<uint64_t>(round % 5);

        REQUIRE(now(one, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    (void)co_await txn.erase(table, (key + 1) % 5);
                    (void)co_await txn.erase(table, key);
                    co_return co_await txn.insert(table, key, Account{ round });
                }) == dtx::Status::committed);
        REQUIRE(now(two, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    AWAIT_CHECK((co_await txn.read(table, key))->cents == round);
                    AWAIT_CHECK(!co_await txn.read(table, (key + 1) % 5));
                    co_return true;
                }) == dtx::Status::committed);
    }
}

TEST_CASE("dtx: a slot that was read by a stale guess can be allocated in the same transaction",
          "[unit]")
{
    Database db(1);
    dtx::Session session(*db.cluster, 0);
    auto table = db.tables.accounts;

    for (int64_t round = 0; round < 20; round++) {
        dtx::Status inserted = now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
            co_return co_await txn.insert(table, 1, Account{ round });
        });
        dtx::Status erased = now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
            co_return co_await txn.erase(table, 1);
        });
        dtx::Status moved = now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
            AWAIT_CHECK(!co_await txn.read(table, 1)); // reads the slot that the row had
            AWAIT_CHECK(co_await txn.insert(table, 2, Account{ -round }));
            AWAIT_CHECK((co_await txn.read(table, 2))->cents == -round);
            AWAIT_CHECK(!co_await txn.read(table, 1));
            co_return co_await txn.erase(table, 2);
        });

        CHECK(inserted == dtx::Status::committed);
        CHECK(erased == dtx::Status::committed);
        CHECK(moved == dtx::Status::committed);
    }
}
