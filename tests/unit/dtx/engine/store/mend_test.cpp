// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/roots.h"
#include "unit/dtx/check/damage.h"
#include <dtx/checks.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

using dtx::Address;
using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

void flip(unsigned char *image)
{
    image[sizeof(dtx::ObjectHeader) + 3] ^= 4;
}

// As a device does that replaces a bad page by an empty one.
void zero(const dtx::Cluster &cluster, uint32_t copy, Address address)
{
    uint32_t bytes = cluster.layout().table(address.table()).slot_bytes;

    damage(
        cluster, copy, address, [&](unsigned char *image) { std::memset(image, 0, bytes); }, false);
}

// All objects that a commit has written: rows, buckets, nodes and allocator heads.
std::vector<Address> written(const dtx::Cluster &cluster)
{
    std::vector<Address> all;

    for (uint32_t table = 0; table < cluster.layout().tables(); table++)
        cluster.each_object(table, 0, [&](Address at, const unsigned char *image, uint32_t) {
            if (!dtx::is_unused(cluster.schema(), at, dtx::header_of(image)))
                all.push_back(at);
        });
    return all;
}

void expect_equal_copies(const dtx::Cluster &cluster)
{
    std::vector<dtx::Findings> found = dtx::checks::check_copies(cluster);

    REQUIRE(found.size() == 2);
    CHECK(broken(found[0], "whole") == 0);
    CHECK(broken(found[1], "whole") == 0);
    CHECK(broken(found[1], "copies") == 0);
}

// Reads all rows, and inserts and erases one for each of them.
void use_all(Database &db, Session &session)
{
    for (uint64_t key = 0; key < 400; key++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    uint64_t at = in_partition(static_cast<uint32_t>(key % 2), key);
                    bool there = key % 3 != 0;

                    AWAIT_CHECK((co_await txn.read(db.tables.accounts, at)).has_value() == there);
                    AWAIT_CHECK((co_await txn.read(db.tables.sorted, at)).has_value() == there);
                    AWAIT_CHECK(co_await txn.insert(db.tables.accounts, at + 400, Account{ 3 }));
                    AWAIT_CHECK(co_await txn.insert(db.tables.sorted, at + 400, Account{ 3 }));
                    co_return true;
                }) == Status::committed);
    for (uint64_t key = 0; key < 400; key++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    uint64_t at = in_partition(static_cast<uint32_t>(key % 2), key);

                    AWAIT_CHECK(co_await txn.erase(db.tables.accounts, at + 400));
                    AWAIT_CHECK(co_await txn.erase(db.tables.sorted, at + 400));
                    co_return true;
                }) == Status::committed);
}

int update(Session &session, dtx::Table<Account> table, uint64_t key)
{
    try {
        (void)now(session, [&](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(table, key);

            if (!row)
                co_return false;
            co_return co_await txn.write(table, key, Account{ row->cents + 1 });
        });
    } catch (const dtx::Error &error) {
        return error.code();
    }
    return 0;
}

dtx::Options telling(std::vector<std::string> &notices)
{
    dtx::Options options = replicated(2);

    options.notice = [&notices](const std::string &text) { notices.push_back(text); };
    return options;
}

} // namespace

TEST_CASE("mend: each damaged object is stored again from its other copy when it is used", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    bool zeros = GENERATE(false, true);
    std::vector<std::string> notices;
    Database db = rows_of_two_copies(telling(notices), mode);
    std::vector<Address> all = written(*db.cluster);

    for (Address address : all)
        if (zeros)
            zero(*db.cluster, 0, address);
        else
            damage(*db.cluster, 0, address, flip, false);
    Session session(*db.cluster, 1);

    use_all(db, session);
    // Objects that no transaction has used stay damaged: slots of rows that were erased.
    std::vector<dtx::Findings> found = dtx::checks::check_copies(*db.cluster);
    uint64_t left = broken(found[0], "whole");

    if (zeros) { // a slot that no object leads to is taken as unused
        CHECK(left == 0);
        left = broken(found[1], "copies");
    }
    CHECK(session.counters().mended == all.size() - left);
    CHECK(left < all.size() / 4);
    REQUIRE(!notices.empty());
    CHECK(notices[0].find("was damaged on server ") != std::string::npos);
    CHECK(session.counters().rejoined == 0);
}

TEST_CASE("mend: a row that is damaged on the other copy too is an error", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring");
    Database db = rows_of_two_copies(replicated(2), mode);
    uint64_t key = in_partition(1, 7);
    Address row = first_object(*db.cluster, db.tables.accounts.number,
                               [&](const dtx::ObjectHeader &header, const unsigned char *image) {
                                   return is_valid(header, image) && header.key == key;
                               });

    damage(*db.cluster, 0, row, flip, false);
    damage(*db.cluster, 1, row, flip, false);
    Session session(*db.cluster, 1);

    CHECK(update(session, db.tables.accounts, key) == RPM_E_CORRUPT);
    CHECK(session.counters().mended == 0);
    damage(*db.cluster, 1, row, flip, false); // as it was
    CHECK(update(session, db.tables.accounts, key) == 0);
    CHECK(session.counters().mended == 1);
    expect_equal_copies(*db.cluster);
}

TEST_CASE("mend: a copy that has lost the row replaces no damaged one", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring");
    Database db = rows_of_two_copies(replicated(2), mode);
    dtx::Table<Account> table = db.tables.accounts;
    uint64_t key = in_partition(1, 7);
    uint32_t bytes = db.cluster->layout().table(table.number).slot_bytes;
    std::vector<unsigned char> left(bytes);
    Address row = first_object(*db.cluster, table.number,
                               [&](const dtx::ObjectHeader &header, const unsigned char *image) {
                                   return is_valid(header, image) && header.key == key;
                               });

    damage(*db.cluster, 0, row, flip, false);
    zero(*db.cluster, 1, row);
    Session session(*db.cluster, 1);

    CHECK(update(session, table, key) == RPM_E_CORRUPT);
    CHECK(session.counters().mended == 0);
    dtx::Cluster::Reading reading(*db.cluster);
    db.cluster->read_object(row, 0, left.data());
    CHECK(dtx::header_of(left.data()).key == key); // its bytes are still there to be saved
}

TEST_CASE("mend: an object that another transaction has locked is left to it", "[unit]")
{
    dtx::Options options = replicated(2);

    options.lease_us = 20000000; // the other session does not take over from the holder
    options.phases = dtx::Phases::parse("call"); // read_for_update() locks the row
    Database db = rows_of_two_copies(options, ",mode=ring");
    dtx::Table<Account> table = db.tables.accounts;
    uint64_t key = in_partition(0, 8);
    Address row = first_object(*db.cluster, table.number,
                               [&](const dtx::ObjectHeader &header, const unsigned char *image) {
                                   return is_valid(header, image) && header.key == key;
                               });
    Session holder(*db.cluster, 1);
    std::atomic<bool> begun = false;
    std::thread other;
    int code = -1;
    uint64_t mended = 1;
    uint64_t conflicts = 0;

    CHECK(update(holder, table, key) == 0); // now it knows where the row is, and locks it at once
    REQUIRE(now(holder, [&](Txn &txn) -> Task<bool> {
                auto held = co_await txn.read_for_update(table, key);

                damage(*db.cluster, 0, row, flip, false);
                other = std::thread([&] {
                    Session session(*db.cluster, 2);

                    begun = true;
                    code = update(session, table, key);
                    mended = session.counters().mended;
                    conflicts = session.counters().conflicts;
                });
                while (!begun)
                    std::this_thread::yield();
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                AWAIT_REQUIRE(held);
                co_return co_await txn.write(table, key, Account{ 50 });
            }) == Status::committed);
    other.join();
    CHECK(code == 0);
    CHECK(mended == 0); // the commit has written the row
    CHECK(conflicts > 0);
    expect_equal_copies(*db.cluster);
}
