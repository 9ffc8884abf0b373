// SPDX-License-Identifier: BSD-3-Clause
// work_test.cpp: a session whose program has a loop of its own.
#include "unit/dtx/engine/database.h"
#include "unit/dtx/engine/pipe.h"

#include <poll.h>
#include <stdexcept>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

// Adds a cent to an account.
Task<void> add_cent(Database &db, Session &session, uint64_t key, int &committed)
{
    auto outcome = co_await session.transact([&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read_for_update(db.tables.accounts, key);

        row->cents++;
        (void)co_await txn.write(db.tables.accounts, key, *row);
        co_return true;
    });

    committed += outcome.status == Status::committed ? 1 : 0;
}

void fill(Database &db, Session &session)
{
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                for (uint64_t key = 0; key < 8; key++)
                    (void)co_await txn.insert(db.tables.accounts, key, Account{ 0 });
                co_return true;
            }) == Status::committed);
}

bool can_be_read(int fd, int ms)
{
    pollfd one{ fd, POLLIN, 0 };

    return poll(&one, 1, ms) == 1;
}

} // namespace

TEST_CASE("dtx: a program runs coroutines in a loop of its own, and waits itself", "[unit]")
{
    const char *mode = GENERATE("", ",mode=ring", "tcp", "sim");
    CAPTURE(mode);
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    Session other(*db.cluster, 1);
    int committed = 0;
    int fd = session.fd();

    fill(db, session);
    CHECK(!session.work(0));
    for (uint64_t key = 0; key < 8; key++)
        for (int i = 0; i < 5; i++)
            session.start(add_cent(db, session, key, committed));
    while (session.work(0)) {
        bool busy = session.arm();

        if (busy)
            continue;
        REQUIRE(can_be_read(fd, -1));
    }
    CHECK(committed == 40);
    CHECK(session.fd() == fd);
    CHECK(!session.arm()); // nothing will come
    CHECK(!can_be_read(fd, 0));

    // All rows are installed, and their locks free.
    for (uint64_t key = 0; key < 8; key++) {
        auto outcome = other.transact_now([&](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(db.tables.accounts, key);

            AWAIT_REQUIRE(row && row->cents == 5);
            co_return true;
        });

        CHECK((outcome.status == Status::committed && outcome.conflicts == 0));
    }
}

TEST_CASE("dtx: one coroutine is run to its end while others wait", "[unit]")
{
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    Pipe pipe;
    int committed = 0;
    bool slept = false;
    bool served = false;
    auto sleeps = [&]() -> Task<void> {
        co_await session.sleep_until(dtx::now_ns() + 10000000);
        slept = true;
    };
    auto serves = [&]() -> Task<void> {
        co_await session.readable(pipe.end());
        served = true;
    };
    auto fails = [&]() -> Task<void> {
        co_await session.turn();
        throw std::runtime_error("failed");
    };

    fill(db, session);
    session.start(serves());
    session.run_one(add_cent(db, session, 1, committed));
    CHECK((committed == 1 && !served));
    CHECK_THROWS_WITH(session.run_one(fails()), "failed");
    session.start(sleeps());
    CHECK(session.arm()); // it is ready to begin
    while (!slept) {
        bool busy = session.arm();

        CHECK((busy || can_be_read(session.fd(), -1)));
        CHECK(session.work(0));
    }
    CHECK(!served);
    pipe.put('x');
    while (session.work(UINT64_MAX))
        ;
    CHECK(served);
    session.run_one(add_cent(db, session, 1, committed));
    CHECK(committed == 2);
}

TEST_CASE("dtx: a coroutine that throws ends the work when no other is left", "[unit]")
{
    Database db(1);
    Session session(*db.cluster, 0);
    int committed = 0;
    auto fails = [&]() -> Task<void> {
        throw std::runtime_error("failed");
        co_return;
    };

    fill(db, session);
    session.start(fails());
    session.start(add_cent(db, session, 1, committed));
    CHECK_THROWS_WITH(
        [&] {
            while (session.work(UINT64_MAX))
                ;
        }(),
        "failed");
    CHECK(committed == 1);
    CHECK(!session.work(0));
}
