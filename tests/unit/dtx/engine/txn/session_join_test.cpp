// SPDX-License-Identifier: BSD-3-Clause
// session_join_test.cpp: sessions that join again, take over from dead ones, or ask who has died,
// while a server does not answer.
#include "engine/base/backoff.h"
#include "unit/dtx/engine/dead.h"
#include "unit/dtx/engine/gate.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <vector>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kDead = 7; // as die_over() has it
constexpr uint64_t kTimeoutUs = 20000000;
constexpr uint64_t kEpochNs = dtx::Backoff::kEpochNs;
constexpr uint64_t kOfFirst = 4; // keys of rows, by the server of their shard
constexpr uint64_t kOfSecond = in_partition(1, 4);

// Loses a server when the next transaction has ended, before its rows are installed there.
struct Cutter : dtx::Listener {
    explicit Cutter(Gate &all) : gate(all) {}
    void ended(const dtx::Attempt &) override
    {
        if (std::exchange(armed, false)) {
            gate.shut(true);
            gate.cut();
        }
    }
    Gate &gate;
    bool armed = false;
};

// Two servers, the second behind a gate for sessions of the cluster here, and with @both also the
// first. A dead session has locked row 3.
struct Gated {
    explicit Gated(uint64_t timeout_us = kTimeoutUs, bool both = false)
        : db(2, {}, Tables(), "tcp"), first(db.cluster->options().urls[0]),
          gate(db.cluster->options().urls[1])
    {
        dtx::Options options = db.cluster->options();

        options.urls[1] = gate.url();
        if (both)
            options.urls[0] = first.url();
        options.timeout_us = timeout_us;
        options.notice = [this](const std::string &text) {
            notices.push_back(text);
            gate.shut(false);
        };
        options.lease_us = kTimeoutUs;
        cluster.emplace(db.tables.schema, options);
        session.emplace(*cluster, 0, &cutter);
        for (uint64_t key : { uint64_t{ 3 }, kOfFirst, kOfSecond })
            REQUIRE(now(*session, [&](Txn &txn) -> Task<bool> {
                        co_return co_await txn.insert(db.tables.accounts, key, Account{ 100 });
                    }) == Status::committed);
        die_over(db, 3, 200, 0, 0, kDead);
    }
    // A coroutine that needs the dead session's row.
    Task<void> meet()
    {
        auto outcome = co_await session->transact([this](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(db.tables.accounts, 3);

            row->cents++;
            co_return co_await txn.write(db.tables.accounts, 3, *row);
        });
        met += outcome.status == Status::committed ? 1 : 0;
    }
    Task<void> add_one(uint64_t key = kOfFirst)
    {
        auto outcome = co_await session->transact([this, key](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(db.tables.accounts, key);

            row->cents++;
            co_return co_await txn.write(db.tables.accounts, key, *row);
        });
        added += outcome.status == Status::committed ? 1 : 0;
    }
    Task<void> go_on(int many)
    {
        uint64_t until_ns = dtx::now_ns() + 20000000000;

        while (!gate.is_awaited() && dtx::now_ns() < until_ns)
            co_await session->turn();
        for (int i = 0; gate.is_awaited() && i < many; i++, went_on++)
            co_await add_one();
    }

    // Runs @tasks, by run() or by a loop of the program's own.
    void run(std::vector<Task<void>> tasks, bool by_work)
    {
        if (!by_work) {
            session->run(std::move(tasks));
            return;
        }
        for (Task<void> &task : tasks)
            session->start(std::move(task));
        while (session->work(0)) {
            pollfd ready = { session->fd(), POLLIN, 0 };

            if (!session->arm())
                (void)poll(&ready, 1, 1);
        }
    }

    Database db;
    Gate first;
    Gate gate; // of the second server
    Cutter cutter{ gate };
    std::optional<dtx::Cluster> cluster;
    std::optional<Session> session;
    std::vector<std::string> notices; // each opens the gate
    int met = 0;
    int went_on = 0;
    int added = 0;
};

// Runs for a second, in which it notes the longest time in which it did not run; then opens a gate.
struct Ticks {
    Task<void> run(Session &session, Gate &gate)
    {
        uint64_t begin_ns = dtx::now_ns();
        uint64_t last_ns = begin_ns;

        while (last_ns - begin_ns < 1000000000) {
            co_await session.sleep_until(last_ns + 1000000);
            gap_ns = std::max(gap_ns, dtx::now_ns() - last_ns);
            last_ns = dtx::now_ns();
        }
        waited = gate.is_awaited();
        gate.shut(false);
    }
    uint64_t gap_ns = 0;
    bool waited = false; // a connection waited at the gate
};

// Those of this process, by number.
std::set<std::string> threads()
{
    std::set<std::string> found;

    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
        found.insert(entry.path().filename());
    return found;
}

} // namespace

TEST_CASE("dtx: while a session takes over from a dead one, its other coroutines go on", "[unit]")
{
    bool by_work = GENERATE(false, true); // a loop of the program's own, instead of run()
    Gated at;
    size_t before = threads().size();
    size_t most = 0;
    uint64_t opened_ns = 0;
    uint64_t gap_ns = 0; // for which the other coroutine did not run
    std::vector<Task<void>> tasks;
    auto go_on = [&]() -> Task<void> {
        uint64_t begin_ns = dtx::now_ns();
        uint64_t last_ns = begin_ns;

        // For long enough that conflicts would make the session narrow, and that the three would
        // not ask for the lock's owner for another second.
        while (last_ns - begin_ns < (at.went_on < 100 ? kTimeoutUs * 1000 : 70 * kEpochNs)) {
            co_await at.go_on(10);
            most = std::max(most, threads().size());
            gap_ns = std::max(gap_ns, dtx::now_ns() - last_ns);
            last_ns = dtx::now_ns();
        }
        at.gate.shut(false);
        opened_ns = dtx::now_ns();
    };

    at.gate.shut(true);
    for (int i = 0; i < 3; i++)
        tasks.push_back(at.meet());
    tasks.push_back(go_on());
    at.run(std::move(tasks), by_work);
    CAPTURE(by_work);
    CHECK(at.went_on >= 100);
    CHECK(gap_ns < kTimeoutUs * 1000 / 2);
    CHECK(at.met == 3);
    CHECK(dtx::now_ns() - opened_ns < 800000000);
    CHECK(most == before + 1); // one of the three took over
}

TEST_CASE("dtx: a takeover that a server does not answer is reported, and tried again", "[unit]")
{
    Gated at(300000);
    std::vector<Task<void>> tasks;

    at.gate.shut(true);
    tasks.push_back(at.meet());
    at.session->run(std::move(tasks));
    CHECK(at.met == 1);
    REQUIRE(at.notices.size() >= 1);
    CHECK(at.notices[0].find(at.gate.url()) != std::string::npos);
}

TEST_CASE("dtx: while a session joins again, its other coroutines go on", "[unit]")
{
    bool by_work = GENERATE(false, true);
    Gated at;
    Ticks ticks;
    std::vector<Task<void>> tasks;

    CAPTURE(by_work);
    at.gate.shut(true);
    at.gate.cut();
    for (int i = 0; i < 3; i++)
        tasks.push_back(at.add_one(kOfSecond));
    tasks.push_back(ticks.run(*at.session, at.gate));
    at.run(std::move(tasks), by_work);
    CHECK(ticks.waited);
    CHECK(ticks.gap_ns < kTimeoutUs * 1000 / 40);
    CHECK(at.added == 3);
    CHECK(at.session->rejoined() == 1);
}

TEST_CASE("dtx: a session leaves a stopped server without waiting for it", "[unit]")
{
    Gated at(kTimeoutUs, true);
    Ticks ticks;
    std::vector<Task<void>> tasks;
    auto then_unfreeze = [&]() -> Task<void> {
        co_await ticks.run(*at.session, at.gate);
        at.first.freeze(false);
    };

    at.first.freeze(true); // with a log and regions open, which close() would close in order
    at.gate.shut(true);
    at.gate.cut();
    tasks.push_back(at.add_one(kOfSecond));
    tasks.push_back(then_unfreeze());
    at.session->run(std::move(tasks));
    CHECK(ticks.gap_ns < kTimeoutUs * 1000 / 40);
    CHECK(at.added == 1);
}

TEST_CASE("dtx: to ask whether a session has died does not stop other coroutines", "[unit]")
{
    bool recovers = GENERATE(false, true);
    Gated at;
    Ticks ticks;
    std::vector<Task<void>> tasks;
    dtx::Life life = dtx::Life::alive;
    auto ask = [&]() -> Task<void> {
        if (recovers)
            co_await at.session->recover(kDead);
        else
            life = co_await at.session->inherit(kDead);
    };

    CAPTURE(recovers);
    at.gate.shut(true);
    tasks.push_back(ask());
    tasks.push_back(ticks.run(*at.session, at.gate));
    at.session->run(std::move(tasks));
    CHECK(ticks.waited);
    CHECK(ticks.gap_ns < kTimeoutUs * 1000 / 40);
    CHECK(life == (recovers ? dtx::Life::alive : dtx::Life::died));
}

TEST_CASE("dtx: a commit whose rows cannot be installed does not stop the program's loop", "[unit]")
{
    Gated at;
    uint64_t longest_ns = 0;
    uint64_t begin_ns = dtx::now_ns();
    int64_t cents = 0;

    at.cutter.armed = true;
    at.session->start(at.add_one(kOfSecond));
    for (bool more = true; more;) {
        uint64_t before_ns = dtx::now_ns();

        more = at.session->work(0);
        longest_ns = std::max(longest_ns, dtx::now_ns() - before_ns);
        if (dtx::now_ns() - begin_ns > 1000000000)
            at.gate.shut(false);
    }
    CHECK(at.added == 1);
    CHECK(longest_ns < kTimeoutUs * 1000 / 40);
    at.db.cluster->each_row(at.db.tables.accounts.number, 0,
                            [&](uint64_t key, const void *row, size_t) {
                                if (key == kOfSecond)
                                    cents = static_cast<const Account *>(row)->cents;
                            });
    CHECK(cents == 101);
}
