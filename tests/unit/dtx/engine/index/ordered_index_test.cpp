// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/ordered_index.h>

#include "engine/index/ordered_node.h"
#include "support/rounds.h"
#include "unit/dtx/engine/database.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

using dtx::Node;
using dtx::Task;
using dtx::Txn;

namespace
{

// All valid nodes, by slot.
std::map<uint64_t, Node> nodes_of(const Database &db)
{
    std::map<uint64_t, Node> nodes;

    db.cluster->each_object(db.tables.sorted.number + 1, 0,
                            [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                                Node node;

                                REQUIRE(dtx::is_whole(image, bytes));
                                std::memcpy(&node, image + sizeof(dtx::ObjectHeader), sizeof(node));
                                if ((dtx::header_of(image).flags & dtx::kObjectValid) != 0)
                                    nodes[address.slot()] = node;
                            });
    return nodes;
}

// Checks the invariants in the head of ordered_node.cc for one node, and appends its children to
// @below.
void check_node(const std::map<uint64_t, Node> &nodes, const Node &node, bool root,
                std::vector<uint64_t> &below)
{
    REQUIRE(node.used <= dtx::kNodeEntries);
    REQUIRE((root || node.used > 0));
    for (uint32_t i = 0; i < node.used; i++) {
        REQUIRE(node.entry[i].key >= node.low);
        REQUIRE(node.entry[i].key <= node.high);
        REQUIRE((i == 0 || node.entry[i - 1].key < node.entry[i].key));
        if (node.level == 0)
            continue;

        const Node &child = nodes.at(node.entry[i].slot);

        REQUIRE(child.level + 1 == node.level);
        REQUIRE(child.low == node.entry[i].key);
        REQUIRE(child.high == (i + 1 < node.used ? node.entry[i + 1].key - 1 : node.high));
        below.push_back(node.entry[i].slot);
    }
    REQUIRE((node.level == 0 || node.entry[0].key == node.low));
}

// Checks the whole tree, and that all valid nodes are in it. Returns how many there are.
size_t check_tree(const Database &db)
{
    std::map<uint64_t, Node> nodes = nodes_of(db);
    std::vector<uint64_t> left{ 0 };
    size_t seen = 0;

    while (!left.empty()) {
        uint64_t slot = left.back();

        left.pop_back();
        seen++;
        check_node(nodes, nodes.at(slot), slot == 0, left);
    }
    CHECK(nodes.at(0).low == 0);
    CHECK(nodes.at(0).high == UINT64_MAX);
    CHECK(seen == nodes.size());
    return seen;
}

// Inserts a row for each key, 50 in a transaction.
void load(dtx::Session &session, dtx::Table<Account> table, const std::vector<uint64_t> &keys)
{
    for (size_t i = 0; i < keys.size(); i += 50)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    for (size_t k = i; k < i + 50; k++)
                        AWAIT_REQUIRE(co_await txn.insert(table, keys[k], Account{ 1 }));
                    co_return true;
                }) == dtx::Status::committed);
}

// The keys of all rows of partition 0, as a scan returns them.
std::vector<uint64_t> keys_of(dtx::Session &session, dtx::Table<Account> table)
{
    std::vector<uint64_t> keys;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                keys.clear();
                for (const auto &[key, row] : co_await txn.scan(table, 0, UINT32_MAX))
                    keys.push_back(key);
                co_return true;
            }) == dtx::Status::committed);
    return keys;
}

} // namespace

TEST_CASE("dtx: an ordered table behaves like a map", "[unit]")
{
    Database db(1, {}, Tables(3000));
    dtx::Session session(*db.cluster, 0);
    dtx::SplitMix64 rng(GENERATE(1u, 2u, 3u));
    std::map<uint64_t, int64_t> model;
    auto table = db.tables.sorted;

    for (int i = 0; i < 4000; i++) {
        uint64_t key = rng.below(2500);
        bool add = rng.below(8) < (i < 2500 ? 6u : 2u);

        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    if (add)
                        AWAIT_REQUIRE(co_await txn.insert(table, key, Account{ i }) !=
                                      model.contains(key));
                    else
                        AWAIT_REQUIRE(co_await txn.erase(table, key) == model.contains(key));
                    co_return true;
                }) == dtx::Status::committed);
        if (add)
            model.emplace(key, i);
        else
            model.erase(key);
        if (i % 500 == 0)
            check_tree(db);
    }
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              auto all = co_await txn.scan(table, 0, 5000);

              REQUIRE(all.size() == model.size());
              CHECK(std::equal(all.begin(), all.end(), model.begin(),
                               [](const auto &a, const auto &b) {
                                   return a.first == b.first && a.second.cents == b.second;
                               }));
              co_return true;
          }) == dtx::Status::committed);
    CHECK(check_tree(db) > 10);
}

TEST_CASE("dtx: an ordered table used as a queue frees its empty nodes", "[unit]")
{
    Database db(1, {}, Tables(400));
    dtx::Session session(*db.cluster, 0);
    auto table = db.tables.sorted;
    uint64_t first = 0;
    uint64_t last = 0;

    for (; last < rounds(8000); last++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    AWAIT_REQUIRE(co_await txn.insert(table, last, Account{ 0 }));
                    if (last - first < 200)
                        co_return true;

                    auto oldest = co_await txn.scan(table, 0, 5000000, 1);

                    REQUIRE(oldest.size() == 1);
                    REQUIRE(oldest[0].first == first);
                    AWAIT_REQUIRE(co_await txn.erase(table, first));
                    first++;
                    co_return true;
                }) == dtx::Status::committed);
    CHECK(check_tree(db) < 20);
    while (first < last) {
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(table, first);
                }) == dtx::Status::committed);
        first++;
    }
    CHECK(check_tree(db) == 1);
}

TEST_CASE("dtx: a tree can be emptied from either end or the middle", "[unit]")
{
    Database db(1, {}, Tables(3000));
    dtx::Session session(*db.cluster, 0);
    auto table = db.tables.sorted;
    int side = GENERATE(0, 1, 2);
    std::vector<uint64_t> keys;

    for (uint64_t key = 0; key < 2000; key++)
        keys.push_back(key * 3);
    load(session, table, keys);
    CHECK(check_tree(db) > 60);
    if (side == 1)
        std::reverse(keys.begin(), keys.end());
    if (side == 2)
        std::rotate(keys.begin(), keys.begin() + 1000, keys.end());
    for (size_t i = 0; i < keys.size(); i++) {
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(table, keys[i]);
                }) == dtx::Status::committed);
        if (i % 100 == 0)
            check_tree(db);
    }
    CHECK(check_tree(db) == 1);
}

// Without merging, each of the leaves keeps one or two of its rows.
TEST_CASE("ordered index: leaves that have lost most of their rows are merged", "[unit]")
{
    Database db(1, {}, Tables(8000));
    dtx::Session session(*db.cluster, 0);
    auto table = db.tables.sorted;
    int order = GENERATE(0, 1, 2);
    std::vector<uint64_t> keys;
    std::vector<uint64_t> kept;
    dtx::SplitMix64 rng(7);
    size_t before;

    for (uint64_t key = 0; key < 6000; key++)
        keys.push_back(key);
    load(session, table, keys);
    before = check_tree(db);
    CHECK(before > 200);
    if (order == 1)
        std::reverse(keys.begin(), keys.end());
    for (size_t i = keys.size(); order == 2 && i > 1; i--)
        std::swap(keys[i - 1], keys[rng.below(i)]);
    for (uint64_t key : keys) {
        if (key % 20 == 0) {
            kept.push_back(key);
            continue;
        }
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(table, key);
                }) == dtx::Status::committed);
        if (key % 500 == 1)
            check_tree(db);
    }
    CAPTURE(order, before);
    CHECK(check_tree(db) < before / 5); // 18 to 29 of 233; 232 without merging
    std::sort(kept.begin(), kept.end());
    CHECK(keys_of(session, table) == kept);
    for (uint64_t key : kept)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.erase(table, key);
                }) == dtx::Status::committed);
    CHECK(check_tree(db) == 1);
}

// The rows of the two threads alternate, so each merge of one moves rows of the other.
TEST_CASE("ordered index: sessions that merge the same leaves at once keep each other's rows",
          "[unit]")
{
    constexpr uint64_t kKeys = 500;
    Database db(1, {}, Tables(8000));
    auto table = db.tables.sorted;
    std::array<std::set<uint64_t>, 2> rows;
    std::array<uint64_t, 2> wrong{};
    auto run = [&](uint32_t own) {
        dtx::Session session(*db.cluster, own);
        dtx::SplitMix64 rng(own + 1);

        for (uint64_t i = 0; i < rounds(10500); i++) {
            uint64_t key = 2 * rng.below(kKeys) + own;
            bool adds = i / 3000 % 2 == 0; // the tree grows and shrinks in turn
            bool done = false;

            (void)now(session, [&](Txn &txn) -> Task<bool> {
                if (adds)
                    done = co_await txn.insert(table, key, Account{ 1 });
                else
                    done = co_await txn.erase(table, key);
                co_return true;
            });
            wrong[own] += done != (adds ? rows[own].insert(key).second : rows[own].erase(key) > 0);
        }
    };
    std::thread other(run, 1);

    run(0);
    other.join();
    CHECK(wrong == std::array<uint64_t, 2>{});
    check_tree(db);

    dtx::Session session(*db.cluster, 0);

    rows[0].merge(rows[1]);
    CHECK(keys_of(session, table) == std::vector<uint64_t>(rows[0].begin(), rows[0].end()));
}

TEST_CASE("dtx: a session with stale inner nodes still finds the right leaf", "[unit]")
{
    Database db(1, {}, Tables(3000));
    dtx::Session one(*db.cluster, 0);
    dtx::Session two(*db.cluster, 1);
    auto table = db.tables.sorted;

    for (uint64_t i = 0; i < 2000; i++) {
        dtx::Session &session = i % 100 < 50 ? one : two;

        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    AWAIT_REQUIRE(
                        co_await txn.insert(table, i * 7919 % 2003, Account{ int64_t(i) }));
                    if (i > 100)
                        AWAIT_REQUIRE((co_await txn.read(table, (i - 60) * 7919 % 2003))->cents ==
                                      int64_t(i) - 60);
                    co_return true;
                }) == dtx::Status::committed);
    }
    check_tree(db);
}

// A transaction reads a leaf before another transaction commits, and inner nodes after that: the
// leaf that it has emptied may no longer be in the tree.
TEST_CASE("ordered index: another session removes a leaf while this one empties it", "[unit]")
{
    constexpr uint64_t kKeys = 60;
    Database db;
    dtx::Table<Account> sorted = db.tables.sorted;
    dtx::Session own(*db.cluster, 0);
    dtx::Session other(*db.cluster, 1);
    uint32_t conflicts = 0;

    for (uint64_t key = 0; key < kKeys; key++)
        REQUIRE(now(other, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(sorted, key, Account{ 1 });
                }) == dtx::Status::committed);
    for (uint64_t key = 0; key < kKeys; key++) {
        bool first = true;
        dtx::Outcome outcome = own.transact_now([&](Txn &txn) -> Task<bool> {
            bool there = (co_await txn.read(sorted, key)).has_value();

            if (std::exchange(first, false))
                REQUIRE(now(other, [&](Txn &theirs) -> Task<bool> {
                            co_return co_await theirs.erase(sorted, key);
                        }) == dtx::Status::committed);
            if (!there)
                co_return false;
            co_return co_await txn.erase(sorted, key);
        });

        CHECK(outcome.status == dtx::Status::aborted);
        conflicts += outcome.conflicts;
        (void)check_tree(db);
    }
    CHECK(conflicts == kKeys);
    CHECK(check_tree(db) == 1);
}
