// SPDX-License-Identifier: BSD-3-Clause
// spares_test.cpp: the free slots of a session that died or was fenced are found from its logs. A
// vacuum, which reads everything, says whether one was missed.
#include "engine/recovery/spares.h"

#include "engine/format/allocator.h"
#include "engine/recovery/recover.h"
#include "unit/dtx/engine/database.h"
#include "unit/dtx/engine/joined.h"
#include <dtx/checks.h>
#include <dtx/error.h>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kOwner = 3;
constexpr uint64_t kRoom = 640; // a session takes ten slots at once

void insert(Database &db, Session &session, uint64_t first, uint64_t end)
{
    for (uint64_t key = first; key < end; key++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    (void)co_await txn.insert(db.tables.accounts, key, Account{ 1 });
                    co_return co_await txn.insert(db.tables.sorted, key, Account{ 2 });
                }) == Status::committed);
}

void erase(Database &db, Session &session, uint64_t first, uint64_t end)
{
    for (uint64_t key = first; key < end; key++)
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    (void)co_await txn.erase(db.tables.accounts, key);
                    co_return co_await txn.erase(db.tables.sorted, key);
                }) == Status::committed);
}

// Fills the logs several times, with records that name no slot.
void write_often(Database &db, Session &session, uint64_t key)
{
    for (int i = 0; i < 5000; i++)
        REQUIRE(now(session, [&](Txn &txn) {
                    return txn.write(db.tables.accounts, key, Account{ i });
                }) == Status::committed);
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

TEST_CASE("spares: a session that takes over returns the free slots, whether taken or freed",
          "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    bool trims = GENERATE(false, true);
    Database db(2, replicated(2), Tables(kRoom), mode);
    Session owner(*db.cluster, kOwner);

    CAPTURE(mode, trims);
    insert(db, owner, 0, 25); // takes 30 of each table
    erase(db, owner, 5, 15);
    if (trims)
        write_often(db, owner, 0);

    dtx::Recovery recovery = db.cluster->recover(kOwner);

    CHECK(recovery.slots >= 2 * (5 + 10));
    CHECK(db.cluster->recover(kOwner).slots == 0);
    CHECK(faults_of(*db.cluster) == "");
    CHECK(db.cluster->vacuum().slots == 0);
    CHECK(faults_of(*db.cluster) == "");
}

TEST_CASE("spares: a session that was taken over uses none of the slots that were returned",
          "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    Database db(2, replicated(2), Tables(kRoom), mode);
    Session zombie(*db.cluster, kOwner);
    Session other(*db.cluster, 4);

    CAPTURE(mode);
    insert(db, zombie, 0, 5);
    CHECK(db.cluster->recover(kOwner).slots > 0);
    insert(db, other, 1000, 1030); // uses these slots
    insert(db, zombie, 100, 130);
    CHECK(zombie.counters().rejoined == 1);
    CHECK(faults_of(*db.cluster) == "");
}

TEST_CASE("spares: the next session with a number continues with its slots", "[unit]")
{
    Database db(2, replicated(2), Tables(kRoom));

    for (int i = 0; i < 20; i++) {
        Session session(*db.cluster, kOwner);

        insert(db, session, 100 * i, 100 * i + 5);
        (void)db.cluster->recover();                    // leaves a note of five slots of each table
        insert(db, session, 100 * i + 5, 100 * i + 10); // takes no others
        (void)db.cluster->recover(kOwner);
    }
    CHECK(db.cluster->vacuum().slots == 0);
    CHECK(faults_of(*db.cluster) == "");

    uint64_t handed_out = 0;

    db.cluster->each_object(dtx::kAllocatorTable, 0,
                            [&](dtx::Address at, const unsigned char *image, uint32_t) {
                                dtx::AllocatorHead head;

                                std::memcpy(&head, image + sizeof(dtx::ObjectHeader), sizeof(head));
                                if (at == dtx::Address::of(0, 0, db.tables.accounts.number))
                                    handed_out = head.handed_out;
                            });
    CHECK(handed_out == 200); // one for each row
}

TEST_CASE("spares: slots whose allocator head is locked stay in the note", "[unit]")
{
    Database db(1, {}, Tables(kRoom));
    Session owner(*db.cluster, kOwner);
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    uint64_t held = join(servers, 7) | 1;
    dtx::Address head = dtx::Address::of(0, dtx::kAllocatorTable, db.tables.accounts.number);
    uint64_t offset = db.cluster->layout().lock_offset(head);

    insert(db, owner, 0, 5);
    REQUIRE(servers.connection(0).compare_and_swap(0, offset, 0, held) == 0);
    CHECK(db.cluster->recover(kOwner).slots >= 5); // of the other table, and nodes
    REQUIRE(servers.connection(0).compare_and_swap(0, offset, held, 0) == held);
    CHECK(db.cluster->recover(kOwner).slots == 5);
    CHECK(db.cluster->vacuum().slots == 0);
    CHECK(faults_of(*db.cluster) == "");
}

TEST_CASE("spares: a lock that the dead session had on an allocator head does not count", "[unit]")
{
    Database db(1, {}, Tables(kRoom));
    dtx::Address head = dtx::Address::of(0, dtx::kAllocatorTable, db.tables.accounts.number);
    uint64_t old = 0;

    {
        dtx::Scheduler scheduler(1, 0);
        dtx::Servers servers(*db.cluster, scheduler);

        old = join(servers, kOwner) | 1;
    }
    Session owner(*db.cluster, kOwner);
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);

    insert(db, owner, 0, 5);
    (void)join(servers, 7);
    REQUIRE(servers.connection(0).compare_and_swap(0, db.cluster->layout().lock_offset(head), 0,
                                                   old) == 0);
    (void)db.cluster->recover(kOwner);
    CHECK(db.cluster->vacuum().slots == 0);
}

TEST_CASE("spares: the check reports a slot in use that was returned", "[unit][canary]")
{
    dtx::Options options = replicated(2);

    options.canary = dtx::kCanarySpare;

    Database db(2, options, Tables(kRoom));
    Session owner(*db.cluster, kOwner);

    insert(db, owner, 0, 5);
    (void)db.cluster->recover(kOwner);
    CHECK(faults_of(*db.cluster) != "");
}

TEST_CASE("spares: the highest version of a slot counts", "[unit]")
{
    Database db(1, {}, Tables(kRoom));
    Session owner(*db.cluster, kOwner);
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    dtx::Spares spares;
    dtx::Address erased;

    insert(db, owner, 0, 2);
    erase(db, owner, 1, 2);
    db.cluster->each_object(db.tables.accounts.number, 0,
                            [&](dtx::Address at, const unsigned char *image, uint32_t) {
                                if (dtx::header_of(image).version == 2)
                                    erased = at;
                            });
    REQUIRE(erased != dtx::Address());
    servers.open(0, dtx::Claim::none);
    spares.take({ erased, 2 });
    spares.take({ erased, 0 });
    spares.take({ dtx::Address::of(0, db.tables.accounts.number, 0), 0 }); // has row 0
    spares.take({ dtx::Address::of(0, db.tables.sorted.number, 600), 0 }); // never written
    REQUIRE(spares.unused(servers).size() == 2);
    CHECK(spares.unused(servers)[0].address == erased);
    servers.close();
}
