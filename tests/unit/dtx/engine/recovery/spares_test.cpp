// SPDX-License-Identifier: BSD-3-Clause
// spares_test.cpp: the free slots of a session that died or was fenced are found from its logs.
#include "engine/recovery/spares.h"

#include "unit/dtx/engine/database.h"

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

} // namespace

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
