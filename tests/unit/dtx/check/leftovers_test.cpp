// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/txn_number.h"
#include "unit/dtx/check/damage.h"
#include <dtx/checks.h>

using dtx::checks::Leftovers;
using dtx::checks::look_for_leftovers;

// A session that has committed an insert, and lives: one that ends leaves no record.
static std::unique_ptr<dtx::Session> session_with_records(Database &db)
{
    auto session = std::make_unique<dtx::Session>(*db.cluster, 1);

    REQUIRE(now(*session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                AWAIT_CHECK(co_await txn.insert(db.tables.accounts, 777777, Account{ 1 }));
                co_return true;
            }) == dtx::Status::committed);
    return session;
}

TEST_CASE(
    "leftovers: a database at rest has no unfinished transaction, although its logs have records")
{
    Database db = rows_of_two_copies();
    auto session = session_with_records(db);
    Leftovers found = look_for_leftovers(*db.cluster);

    CHECK_FALSE(found.any());
    CHECK(found.logs >= 2);
    CHECK(found.records > 0);
}

TEST_CASE("leftovers: an object older than its redo record on one copy counts until recovery")
{
    Database db = rows_of_two_copies();
    auto session = session_with_records(db);
    dtx::Address head = dtx::Address::of(0, 0, db.tables.accounts.number);

    // Each transaction that took slots wrote the allocator head: its last record is in the log.
    damage(*db.cluster, 1, head, [](unsigned char *image) { dtx::header_of(image).version--; });
    CHECK(look_for_leftovers(*db.cluster).objects == 1);
    CHECK(db.cluster->recover().rows == 1);
    CHECK_FALSE(look_for_leftovers(*db.cluster).any());
}

TEST_CASE("leftovers: locks that are held and shards that are not ready count")
{
    Database db = rows_of_two_copies();
    dtx::RawConnection connection(*db.cluster, 0);
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *locks = nullptr;
    uint64_t word = 77; // of coordinator 0
    uint64_t claim = 0;

    opts.flags = RPM_REGION_DRAM;
    REQUIRE(rpm_region_open(connection.get(), dtx::locks_name("test", 0).c_str(), &opts, &locks) ==
            0);
    REQUIRE(rpm_region_write(locks, dtx::kLocksOffset + 8 * 5, &word, sizeof(word)) == 0);
    CHECK_FALSE(look_for_leftovers(*db.cluster).any()); // of a claim that ended long ago
    REQUIRE(rpm_region_read(locks, dtx::claim_offset(0), &claim, sizeof(claim)) == 0);
    word |= claim;
    REQUIRE(rpm_region_write(locks, dtx::kLocksOffset + 8 * 5, &word, sizeof(word)) == 0);
    CHECK(look_for_leftovers(*db.cluster).locks == 1);
    word = 0;
    REQUIRE(rpm_region_write(locks, dtx::kReadyOffset, &word, sizeof(word)) == 0);
    CHECK(look_for_leftovers(*db.cluster).not_ready == 1);
    rpm_region_close(&locks);
    CHECK(db.cluster->recover().locks == 1);
    CHECK_FALSE(look_for_leftovers(*db.cluster).any());
}
