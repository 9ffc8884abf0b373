// SPDX-License-Identifier: BSD-3-Clause
// What a session does after conflicts with a lock that one attempt holds: session.cc
// handle_lock_owner().
#include "engine/cluster/servers.h"
#include "engine/format/txn_number.h"
#include "engine/txn/lease.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>
#include <dtx/object.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

// Inserts row 1 and returns its address, with the number of the attempt that wrote it.
std::pair<dtx::Address, uint64_t> put_row(const Database &db, Session &session)
{
    std::pair<dtx::Address, uint64_t> row;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_return co_await txn.insert(db.tables.accounts, 1, Account{ 1 });
            }) == Status::committed);
    db.cluster->each_object(db.tables.accounts.number, 0,
                            [&](dtx::Address at, const unsigned char *image, uint32_t) {
                                if ((dtx::header_of(image).flags & dtx::kObjectValid) != 0)
                                    row = { at, dtx::header_of(image).writer };
                            });
    return row;
}

void write(const Database &db, Session &session)
{
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              co_return co_await txn.write(db.tables.accounts, 1, Account{ 3 });
          }) == Status::committed);
}

// Locks and frees a row for an attempt of any session.
class Lock
{
  public:
    Lock(const Database &db, dtx::Address row, uint64_t attempt)
        : offset_(db.cluster->layout().lock_offset(row)), attempt_(attempt),
          servers_(*db.cluster, scheduler_)
    {
        servers_.open(0, dtx::Claim::none);
        REQUIRE(swap(0, attempt_) == 0);
    }
    void free()
    {
        CHECK(swap(attempt_, 0) == attempt_);
    }

  private:
    uint64_t swap(uint64_t expect, uint64_t desired)
    {
        return servers_.connection(0).compare_and_swap(0, offset_, expect, desired);
    }

    uint64_t offset_;
    uint64_t attempt_;
    dtx::Scheduler scheduler_{ 1, 0 };
    dtx::Servers servers_;
};

// Writes row 1, whose lock is held. The body finds that @times times, and reports each a pause
// later, as on a busy machine. When it reports the last, the lock is free.
void write_late(const Database &db, Session &session, Lock &lock, int times,
                std::chrono::milliseconds pause)
{
    int conflicts = 0;

    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              try {
                  (void)co_await txn.read_for_update(db.tables.accounts, 1);
              } catch (const dtx::Conflict &) {
                  std::this_thread::sleep_for(pause);
                  if (++conflicts == times)
                      lock.free();
                  throw;
              }
              co_return co_await txn.write(db.tables.accounts, 1, Account{ 2 });
          }) == Status::committed);
    CHECK(conflicts == times);
}

} // namespace

TEST_CASE("dtx: a session does not join again over a lock that it has freed", "[unit]")
{
    std::string mode = GENERATE(",mode=ring", "tcp");
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 3);
    auto [row, attempt] = put_row(db, session);
    Lock lock(db, row, attempt);

    CAPTURE(mode);
    write_late(db, session, lock, 2, std::chrono::milliseconds(20)); // over Lease::kAskFirstNs
    CHECK(session.counters().rejoined == 0);
}

TEST_CASE("dtx: a session is not fenced for a lock that it has freed", "[unit]")
{
    std::string mode = GENERATE(",mode=ring", "tcp");
    dtx::Options options;

    options.lease_us = 16000;

    Database db(1, options, Tables(), mode);
    Session owner(*db.cluster, 3);
    Session session(*db.cluster, 4);
    auto [row, attempt] = put_row(db, owner);
    Lock lock(db, row, attempt);

    CAPTURE(mode);
    // After the first conflict each counts for a sixteenth of the lease: the last one ends it.
    write_late(db, session, lock, 1 + dtx::Lease::kLooks, std::chrono::milliseconds(1));
    write(db, owner);
    CHECK(owner.counters().rejoined == 0);
}

TEST_CASE("dtx: a session that meets a lock of an earlier claim frees it", "[unit]")
{
    constexpr uint32_t kOwner = 3;
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    bool own = GENERATE(false, true); // the session that meets it had taken it
    dtx::Options options;

    options.lease_us = 200000; // then it would fence the owner

    Database db(1, options, Tables(), mode);
    std::optional<Session> owner(std::in_place, *db.cluster, kOwner);
    Session session(*db.cluster, 4);
    auto [row, attempt] = put_row(db, *owner);

    CAPTURE(mode, own);
    owner.reset();
    owner.emplace(*db.cluster, kOwner);
    for (int i = 0; i < 2; i++) { // the second time it knows which claim counts
        Lock lock(db, row, attempt);

        write(db, own ? *owner : session);
    }
    CHECK(owner->counters().rejoined == 0);
    CHECK(session.counters().rejoined == 0);
}

// Numbers of coordinators that no session has, but not that of dtx::kMoved.
TEST_CASE("dtx: a lock word that names no coordinator is reported as damage", "[unit]")
{
    uint64_t coordinator = GENERATE(uint64_t{ dtx::kCoordinatorsMax }, uint64_t{ dtx::kVacuum });
    Database db(1);
    Session session(*db.cluster, 4);
    auto [row, attempt] = put_row(db, session);
    Lock lock(db, row, coordinator << (dtx::kSequenceBits + dtx::kEpochBits) | 1);
    int code = 0;

    CAPTURE(coordinator);
    try {
        (void)now(session, [&](Txn &txn) -> Task<bool> {
            co_return co_await txn.write(db.tables.accounts, 1, Account{ 3 });
        });
    } catch (const dtx::Error &error) {
        code = error.code();
    }
    CHECK(code == RPM_E_CORRUPT);
    lock.free();
    write(db, session);
}

TEST_CASE("dtx: a session does not fence an owner that has joined again", "[unit]")
{
    constexpr uint32_t kOwner = 3;
    std::string mode = GENERATE(",mode=ring", "tcp");
    Database db(2, {}, Tables(), mode);
    dtx::Options options = db.cluster->options();
    std::optional<Session> owner(std::in_place, *db.cluster, kOwner);
    auto [row, attempt] = put_row(db, *owner);
    bool joins = false;

    // The session has asked whether the owner is connected, and connects to take over from it.
    options.dial = [&](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        if (std::exchange(joins, false))
            owner.emplace(*db.cluster, kOwner);
        return rpm_conn_open(options.urls[server].c_str(), opts, conn);
    };

    dtx::Cluster cluster(db.tables.schema, options);
    Session session(cluster, 4);
    Lock lock(db, row, attempt);

    CAPTURE(mode);
    owner.reset();
    joins = true;
    write(db, session);
    REQUIRE(owner);
    write(db, *owner);
    CHECK(owner->counters().rejoined == 0);
}
