// SPDX-License-Identifier: BSD-3-Clause
#include "engine/store/install_queue.h"

#include "support/rounds.h"
#include "unit/dtx/engine/database.h"

#include <optional>

using dtx::Outcome;
using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

// The links over which operations take a round trip.
std::string links()
{
    return GENERATE(",mode=ring", "tcp", "sim");
}

// Runs @body as the only coroutine of the session.
template <class Body> void alone(Session &session, Body body)
{
    std::vector<Task<void>> tasks;

    tasks.push_back(body());
    session.run(std::move(tasks));
}

auto add(const Database &db, uint64_t key)
{
    return [&db, key](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read(db.tables.accounts, key);

        co_return co_await txn.write(db.tables.accounts, key, Account{ row->cents + 1 });
    };
}

auto insert(const Database &db, uint64_t key)
{
    return [&db, key](Txn &txn) -> Task<bool> {
        co_return co_await txn.insert(db.tables.accounts, key, Account{ 1 });
    };
}

int64_t cents(const Database &db, uint32_t coordinator, uint64_t key)
{
    Session session(*db.cluster, coordinator);
    int64_t found = 0;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                found = (co_await txn.read(db.tables.accounts, key))->cents;
                co_return true;
            }) == Status::committed);
    return found;
}

} // namespace

TEST_CASE("dtx: over a link a commit waits for its record, and not for its rows", "[unit]")
{
    std::string link = links();
    bool durable = GENERATE(true, false);
    dtx::Options options = replicated(2);

    CAPTURE(link, durable);
    options.durable = durable;
    Database db(2, options, Tables(), link);
    Session session(*db.cluster, 0);

    for (uint64_t key : { 1, 2, 3 })
        REQUIRE(now(session, insert(db, key)) == Status::committed);
    alone(session, [&]() -> Task<void> {
        /* From here on the session has the rows' slots in its cache. */
        (void)co_await session.transact(add(db, 1));
        (void)co_await session.transact(add(db, 2));

        uint64_t before = session.counters().round_trips;

        (void)co_await session.transact(add(db, 3));
        // Read the row; lock it and read its version; write the record or, without logs, the row.
        CHECK(session.counters().round_trips - before == 3);
    });
}

TEST_CASE("dtx: an acknowledged commit survives an immediate takeover from its session", "[unit]")
{
    std::string link = links();
    dtx::Options options = replicated(2);

    /* The reader waits for the lease each time, because acknowledged rows are not installed yet. */
    options.lease_us = 50000;
    Database db(2, options, Tables(), link);
    Session session(*db.cluster, 0);

    CAPTURE(link);
    REQUIRE(now(session, insert(db, 1)) == Status::committed);
    for (int64_t i = 2; i < 12; i++)
        alone(session, [&]() -> Task<void> {
            Outcome outcome = co_await session.transact(add(db, 1));

            CHECK(outcome.status == Status::committed);
            if (i % 2 == 0)
                (void)db.cluster->recover(0);
            CHECK(cents(db, 1, 1) == i);
        });
    CHECK(session.counters().rejoined >= 4);
}

TEST_CASE("dtx: a commit that needs rows of the commit before waits for it, without a conflict",
          "[unit]")
{
    std::string link = links();
    dtx::Options options = replicated(2);

    // If a NIC frees a lock and a CPU takes it, the CPU's operation may be carried out first.
    options.phases = dtx::Phases::parse(link == "sim" ? "one-sided" : "fewest");
    Database db(2, options, Tables(), link);
    Session session(*db.cluster, 0);

    CAPTURE(link);
    REQUIRE(now(session, insert(db, 1)) == Status::committed);
    alone(session, [&]() -> Task<void> {
        for (int i = 0; i < 20; i++)
            (void)co_await session.transact(add(db, 1));
        for (uint64_t key = 10; key < 30; key++) {
            (void)co_await session.transact(insert(db, key));
            (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                co_return co_await txn.erase(db.tables.accounts, key);
            });
        }
        (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
            AWAIT_CHECK((co_await txn.read(db.tables.accounts, 1))->cents == 21);
            co_return false;
        });
    });
    CHECK(session.counters().conflicts == 0);
    CHECK(session.counters().rejoined == 0);
    CHECK(cents(db, 1, 1) == 21);
}

TEST_CASE("dtx: a session that ends, also by an exception, leaves no lock behind", "[unit]")
{
    std::string link = links();
    Database db(2, replicated(2), Tables(), link);
    std::optional<Session> session(std::in_place, *db.cluster, 0);

    CAPTURE(link);
    CHECK_THROWS_AS(alone(*session,
                          [&]() -> Task<void> {
                              (void)co_await session->transact(insert(db, 1));
                              throw std::runtime_error("of the program");
                          }),
                    std::runtime_error);

    Session other(*db.cluster, 1);

    CHECK(now(other, add(db, 1)) == Status::committed);
    CHECK(other.counters().conflicts == 0);
    alone(*session, [&]() -> Task<void> { (void)co_await session->transact(add(db, 1)); });
    session.reset();
    CHECK(now(other, add(db, 1)) == Status::committed);
    CHECK(other.counters().conflicts == 0);
}

TEST_CASE("dtx: a log is trimmed while records of other coroutines are under way", "[unit]")
{
    std::string link = links();
    dtx::Options options = replicated(2);
    std::vector<Task<void>> tasks;
    int turns = link == "sim" ? 60 : static_cast<int>(rounds(400)); // more than a log holds

    CAPTURE(link);
    Database db(2, options, Tables(), link);
    Session session(*db.cluster, 0);
    auto worker = [&](uint64_t key) -> Task<void> {
        for (int i = 0; i < turns; i++)
            (void)co_await session.transact(add(db, key));
    };

    for (uint64_t key = 0; key < 32; key++)
        REQUIRE(now(session, insert(db, key)) == Status::committed);
    for (uint64_t key = 0; key < 32; key++)
        tasks.push_back(worker(key));
    session.run(std::move(tasks));
    CHECK(session.counters().rejoined == 0);
    for (uint64_t key = 0; key < 32; key++)
        CHECK(cents(db, 1, key) == 1 + turns);
}
