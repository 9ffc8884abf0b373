// SPDX-License-Identifier: BSD-3-Clause
// damage_test.cpp: the engine reports damaged bytes of a database as errors, and does not wait for
// another session to repair them.
#include "engine/cluster/membership.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/server_connection.h"
#include "engine/cluster/view.h"
#include "engine/format/allocator.h"
#include "engine/format/node.h"
#include "engine/format/roots.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>
#include <dtx/layout.h>

#include <algorithm>
#include <cstring>

using dtx::Address;
using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint64_t kRows = 30;

// Damages the region of a server's own shard.
class Damager
{
  public:
    explicit Damager(const dtx::Cluster &cluster, uint32_t server = 0) : cluster_(cluster)
    {
        rpm_region_opts opts = rpm_region_opts_init();
        std::string name = dtx::shard_name(cluster.schema().name(), server);

        REQUIRE(rpm_conn_open(cluster.options().urls[server].c_str(), nullptr, &conn_) == 0);
        REQUIRE(rpm_region_open(conn_, name.c_str(), &opts, &region_) == 0);
    }
    ~Damager()
    {
        rpm_region_close(&region_);
        rpm_conn_close(&conn_);
    }
    Damager(const Damager &) = delete;
    Damager &operator=(const Damager &) = delete;

    void flip(uint64_t offset)
    {
        unsigned char byte;

        REQUIRE(rpm_region_read(region_, offset, &byte, 1) == 0);
        byte ^= 4;
        REQUIRE(rpm_region_write(region_, offset, &byte, 1) == 0);
    }
    void zero(Address address)
    {
        std::vector<unsigned char> zeros(cluster_.layout().table(address.table()).slot_bytes);

        REQUIRE(rpm_region_write(region_, cluster_.layout().row_offset(address), zeros.data(),
                                 zeros.size()) == 0);
    }

    // Returns the bytes that were there.
    std::vector<unsigned char> zero_line(uint64_t offset)
    {
        std::vector<unsigned char> before(64);

        REQUIRE(rpm_region_read(region_, offset, before.data(), before.size()) == 0);
        put(offset, std::vector<unsigned char>(64));
        return before;
    }
    void put(uint64_t offset, const std::vector<unsigned char> &bytes)
    {
        REQUIRE(rpm_region_write(region_, offset, bytes.data(), bytes.size()) == 0);
    }

  private:
    const dtx::Cluster &cluster_;
    rpm_conn *conn_ = nullptr;
    rpm_region *region_ = nullptr;
};

void fill(Database &db, dtx::Table<Account> table)
{
    Session session(*db.cluster, 0);

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t key = 0; key < kRows; key++)
                    AWAIT_CHECK(co_await txn.insert(table, key, Account{ 100 }));
                co_return true;
            }) == Status::committed);
}

Address address_of(const Database &db, dtx::Table<Account> table, uint64_t wanted)
{
    Address found = Address::of(0, 0, 0);

    db.cluster->each_object(table.number, 0,
                            [&](Address address, const unsigned char *image, uint32_t) {
                                const dtx::ObjectHeader &header = dtx::header_of(image);

                                if ((header.flags & dtx::kObjectValid) != 0 && header.key == wanted)
                                    found = address;
                            });
    REQUIRE(found.table() == table.number);
    return found;
}

// The node of @level whose range has the key, in the tree of the ordered table.
Address node_of(const Database &db, uint64_t key, uint32_t level)
{
    uint32_t nodes = db.tables.sorted.number + 1;
    Address found = Address::of(0, 0, 0);

    db.cluster->each_object(nodes, 0, [&](Address address, const unsigned char *image, uint32_t) {
        dtx::Node node;

        std::memcpy(&node, image + sizeof(dtx::ObjectHeader), sizeof(node));
        if ((dtx::header_of(image).flags & dtx::kObjectValid) != 0 && node.level == level &&
            node.low <= key && key <= node.high)
            found = address;
    });
    REQUIRE(found.table() == nodes);
    return found;
}

template <class Body> int code_of(Session &session, Body body)
{
    try {
        (void)now(session, body);
    } catch (const dtx::Error &error) {
        UNSCOPED_INFO(error.what());
        return error.code();
    }
    return 0;
}

int read(Session &session, dtx::Table<Account> table, uint64_t key)
{
    return code_of(session, [&](Txn &txn) -> Task<bool> {
        co_return (co_await txn.read(table, key)).has_value();
    });
}

int update(Session &session, dtx::Table<Account> table, uint64_t key)
{
    return code_of(session, [&](Txn &txn) -> Task<bool> {
        co_return (co_await txn.read_for_update(table, key)).has_value();
    });
}

} // namespace

TEST_CASE("dtx: a torn row that no session is writing is damaged", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring");
    Database db(1, {}, Tables(), mode);
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    fill(db, table);
    uint64_t at = db.cluster->layout().row_offset(address_of(db, table, 7));
    {
        Damager damager(*db.cluster);
        damager.flip(at + sizeof(dtx::ObjectHeader));
    }
    Session session(*db.cluster, 1);
    Session other(*db.cluster, 2);

    CHECK(read(session, table, 7) == RPM_E_CORRUPT);
    CHECK(read(session, table, 7) == RPM_E_CORRUPT);
    CHECK(update(session, table, 7) == RPM_E_CORRUPT);
    CHECK(update(other, table, 7) == RPM_E_CORRUPT); // the first session has unlocked it
    CHECK(other.counters().conflicts == 0);
    CHECK(session.counters().rejoined == 0);
    CHECK(read(session, table, 8) == 0);
}

TEST_CASE("dtx: an index entry without its row is reported as damage", "[unit]")
{
    Database db;
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    fill(db, table);
    {
        Damager damager(*db.cluster);
        damager.zero(address_of(db, table, 7));
    }
    Session session(*db.cluster, 1);

    CHECK(read(session, table, 7) == RPM_E_CORRUPT);
    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              AWAIT_CHECK(co_await txn.write(table, 8, Account{ 1 }));
              co_return co_await txn.erase(table, 7);
          }) == RPM_E_CORRUPT);
    CHECK(read(session, table, 8) == 0);
    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.insert(table, 99, Account{ 1 });
          }) == 0);
}

TEST_CASE("dtx: an index with a cache line of zeros is reported as damaged", "[unit]")
{
    Database db(1, {}, Tables(60)); // several rows in each bucket and node
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;
    uint32_t index = table.number + 1;
    uint32_t bytes = db.cluster->layout().table(index).slot_bytes;
    std::vector<uint64_t> lines;

    fill(db, table);
    db.cluster->each_object(index, 0, [&](Address at, const unsigned char *image, uint32_t) {
        std::vector<uint64_t> own;

        for (uint64_t line = 0; line < bytes; line += 64)
            if (std::any_of(image + line, image + line + 64, [](int byte) { return byte != 0; }))
                own.push_back(db.cluster->layout().row_offset(at) + line);
        if ((dtx::header_of(image).flags & dtx::kObjectValid) != 0 &&
            !dtx::is_unused(db.cluster->schema(), at, dtx::header_of(image)))
            lines.insert(lines.end(), own.begin(), own.end());
    });
    REQUIRE(lines.size() > 2);
    for (uint64_t line : lines) {
        Damager damager(*db.cluster);
        std::vector<unsigned char> before = damager.zero_line(line);
        Session session(*db.cluster, 1);
        unsigned told = 0;

        for (uint64_t key = 0; key < kRows; key++) {
            bool there = false;
            int code = code_of(session, [&](Txn &txn) -> Task<bool> {
                there = (co_await txn.read(table, key)).has_value();
                co_return true;
            });

            CHECK((code == RPM_E_CORRUPT || (code == 0 && there)));
            told += code == RPM_E_CORRUPT ? 1 : 0;
        }
        CHECK(told > 0);
        damager.put(line, before);
    }
}

TEST_CASE("dtx: every operation reports a tree whose nodes do not fit together as damaged",
          "[unit]")
{
    constexpr uint64_t kLast = 2000;
    Database db;
    dtx::Table<Account> sorted = db.tables.sorted;

    {
        Session session(*db.cluster, 0);

        for (uint64_t key = 0; key <= kLast; key += 2)
            REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                        co_return co_await txn.insert(sorted, key, Account{ 1 });
                    }) == Status::committed);
    }
    Address damaged = node_of(db, kLast, GENERATE(0u, 1u));
    {
        Damager damager(*db.cluster);
        damager.zero(damaged);
    }
    Session session(*db.cluster, 1);

    CHECK(read(session, sorted, kLast) == RPM_E_CORRUPT);
    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.insert(sorted, kLast - 1, Account{ 1 });
          }) == RPM_E_CORRUPT);
    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.erase(sorted, kLast);
          }) == RPM_E_CORRUPT);
    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              co_return !(co_await txn.scan(sorted, 0, kLast)).empty();
          }) == RPM_E_CORRUPT);
    CHECK(read(session, sorted, 0) == 0);
}

TEST_CASE(
    "dtx: a row that must exist and does not is damage, unless a concurrent commit explains it",
    "[unit]")
{
    Database db;
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;
    bool comes = GENERATE(false, true);

    fill(db, table);
    Session session(*db.cluster, 1);
    Session other(*db.cluster, 2);
    uint32_t runs = 0;
    int code = code_of(session, [&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read(table, 99);

        if (runs++ == 0 && comes)
            REQUIRE(now(other, [&](Txn &theirs) -> Task<bool> {
                        co_return co_await theirs.insert(table, 99, Account{ 5 });
                    }) == Status::committed);

        int64_t cents = dtx::need(row, "row 99 is missing").cents;

        CHECK(cents == 5);
        co_return true;
    });

    CHECK(code == (comes ? 0 : RPM_E_CORRUPT));
    CHECK(runs == (comes ? 2 : 1));
}

TEST_CASE("dtx: a slot in use is not handed out, whatever its allocator head says", "[unit]")
{
    Database db;
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;

    fill(db, table);
    {
        Damager damager(*db.cluster);
        damager.zero(Address::of(0, dtx::kAllocatorTable, table.number));
    }
    Session session(*db.cluster, 1);

    CHECK(code_of(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.insert(table, 99, Account{ 1 });
          }) == RPM_E_CORRUPT);
    for (uint64_t key = 0; key < kRows; key++)
        CHECK(read(session, table, key) == 0);
}

TEST_CASE("dtx: a slot that was locked and never written is not damaged", "[unit]")
{
    dtx::Options options;

    options.lease_us = 1000; // so that the next session soon takes over and frees the locks

    Database db(1, options, Tables(800));
    auto table = GENERATE(false, true) ? db.tables.sorted : db.tables.accounts;
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    uint64_t ended = 0; // a transaction of a session that has ended
    uint64_t locked = 0;
    auto each = [&](auto callback) {
        for (uint32_t part : { table.number, table.number + 1 })
            db.cluster->each_object(part, 0,
                                    [&](Address at, const unsigned char *image, uint32_t bytes) {
                                        CHECK(dtx::is_whole(image, bytes));
                                        callback(at, dtx::header_of(image));
                                    });
    };

    {
        Session session(*db.cluster, 2);

        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_return co_await txn.insert(table, kRows, Account{ 1 });
                }) == Status::committed);
    }
    each([&](Address, const dtx::ObjectHeader &header) { ended = std::max(ended, header.writer); });
    servers.open(0, dtx::Claim::none);
    each([&](Address at, const dtx::ObjectHeader &header) {
        uint64_t lock = db.cluster->layout().lock_offset(at);

        if (header.version == 0 && servers.connection(0).compare_and_swap(0, lock, 0, ended) == 0)
            locked++;
    });
    CHECK(locked > 1000);

    Session session(*db.cluster, 1);

    /* Their slots are handed out, freed, and handed out again. */
    for (int round = 0; round < 2; round++) {
        fill(db, table);
        each([](Address, const dtx::ObjectHeader &) {});
        for (uint64_t key = 0; key < kRows; key++)
            CHECK(read(session, table, key) == 0);
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    for (uint64_t key = 0; key < kRows; key++)
                        AWAIT_CHECK(co_await txn.erase(table, key));
                    co_return true;
                }) == Status::committed);
        each([](Address, const dtx::ObjectHeader &) {});
    }
}

TEST_CASE("dtx: one damaged state record does not undo a change of the view", "[unit]")
{
    uint64_t place = GENERATE(0u, 1u);
    bool twice = GENERATE(false, true);
    Database db;
    dtx::Scheduler scheduler(1, 0);
    dtx::View view;

    for (int i = 0; i < (twice ? 2 : 1); i++) {
        dtx::ServerConnection connection(*db.cluster, 0);

        view.number++;
        connection.connect();
        connection.open({ 1, 1, {} }, dtx::kRecoverer, dtx::Claim::takeover);
        dtx::propose(connection, *db.cluster, view);
        dtx::accept(connection, *db.cluster, view);
    }
    {
        Damager damager(*db.cluster);
        damager.flip(dtx::kStateOffset + place * dtx::kStateStride);
    }
    dtx::Servers servers(*db.cluster, scheduler);

    CHECK(dtx::find_view(servers) == view);
}

TEST_CASE("dtx: a state that no command makes is reported as damage", "[unit]")
{
    dtx::ServerState state;
    Database db(2);

    state.sequence = 9;
    state.highest = 3;
    state.accepted.number = 2;
    SECTION("no view was accepted")
    {
        state.accepted.number = 0;
    }
    SECTION("the accepted view is higher than the highest")
    {
        state.accepted.number = 4;
    }
    SECTION("so is the proposed view")
    {
        state.proposed.number = 4;
    }
    SECTION("no number is left for a view")
    {
        state.highest = UINT64_MAX;
    }
    SECTION("a shard has no copy in the accepted view")
    {
        state.accepted.kill(1);
    }
    SECTION("nor in the proposed view")
    {
        state.proposed.number = 3;
        state.proposed.kill(1);
    }

    dtx::StateRecord record = dtx::record_of(state);
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&record);
    int code = 0;

    for (uint32_t server : { 0, 1 })
        for (uint64_t place : { 0, 1 })
            Damager(*db.cluster, server)
                .put(dtx::kStateOffset + place * dtx::kStateStride,
                     { bytes, bytes + sizeof(record) });
    for (bool reads : { false, true }) {
        try {
            if (reads)
                db.cluster->each_object(0, 0, [](Address, const unsigned char *, uint32_t) {});
            else
                (void)db.cluster->recover();
        } catch (const dtx::Error &error) {
            code = error.code();
        }
        CHECK(std::exchange(code, 0) == RPM_E_CORRUPT);
    }
}

// What a call throws; 0: nothing.
template <class Call> static int code_of(Call call)
{
    try {
        call();
    } catch (const dtx::Error &error) {
        return error.code();
    }
    return 0;
}

TEST_CASE("dtx: the last number of a view is not given to a view", "[unit]")
{
    Database db(2);
    dtx::ServerState state;

    state.sequence = 9;
    state.accepted.number = 1;
    state.highest = UINT64_MAX - 1;

    dtx::StateRecord record = dtx::record_of(state);
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&record);

    for (uint64_t place : { 0, 1 })
        Damager(*db.cluster, 0)
            .put(dtx::kStateOffset + place * dtx::kStateStride, { bytes, bytes + sizeof(record) });
    CHECK(code_of([&] { (void)db.cluster->vacuum(); }) == RPM_E_CORRUPT);
    CHECK(code_of([&] { (void)db.cluster->recover(); }) == 0);
}

TEST_CASE("dtx: a row whose version has no successor is reported as damage", "[unit]")
{
    Database db(1);
    dtx::Table<Account> table = db.tables.accounts;

    fill(db, table);

    Address address = address_of(db, table, 3);
    uint32_t bytes = db.cluster->layout().table(address.table()).slot_bytes;
    std::vector<unsigned char> image;

    db.cluster->each_object(table.number, 0,
                            [&](Address at, const unsigned char *found, uint32_t n) {
                                if (at == address)
                                    image.assign(found, found + n);
                            });
    REQUIRE(image.size() == bytes);
    reinterpret_cast<dtx::ObjectHeader *>(image.data())->version = UINT64_MAX;
    dtx::seal(image.data(), bytes);
    Damager(*db.cluster).put(db.cluster->layout().row_offset(address), image);

    Session session(*db.cluster, 1);

    CHECK(code_of([&] {
              (void)now(session, [&](Txn &txn) -> Task<bool> {
                  co_return co_await txn.write(table, 3, Account{ 1 });
              });
          }) == RPM_E_CORRUPT);
}

TEST_CASE("dtx: rows of a table that the schema lacks cannot be read", "[unit]")
{
    Database db(1);

    CHECK(code_of([&] {
              db.cluster->each_object(db.cluster->layout().tables(), 0,
                                      [](Address, const unsigned char *, uint32_t) {});
          }) == RPM_E_INVAL);
}
