// SPDX-License-Identifier: BSD-3-Clause
// requests_test.cpp: a session whose coroutines wait for requests that come over a descriptor.
#include "unit/dtx/engine/database.h"
#include "unit/dtx/engine/pipe.h"
#include "unit/dtx/engine/restartable.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>

using dtx::now_ns;
using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint64_t kMsNs = 1000000;

uint64_t cpu_ns()
{
    timespec used{};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<uint64_t>(used.tv_sec) * 1000000000u + static_cast<uint64_t>(used.tv_nsec);
}

// Adds a cent for each byte of a pipe, one transaction each, until the pipe is finished.
struct Bank {
    Bank(Database &all, Session &mine) : db(all), session(mine)
    {
        REQUIRE(now(session, [this](Txn &txn) -> Task<bool> {
                    (void)co_await txn.insert(db.tables.accounts, 1, Account{ 0 });
                    co_return true;
                }) == Status::committed);
    }
    Task<void> add_one()
    {
        auto outcome = co_await session.transact([this](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(db.tables.accounts, 1);

            row->cents++;
            (void)co_await txn.write(db.tables.accounts, 1, *row);
            co_return true;
        });
        committed += outcome.status == Status::committed ? 1 : 0;
    }
    Task<void> serve()
    {
        for (;;) {
            co_await session.readable(pipe.end());
            if (pipe.take() == '\0')
                break;
            session.start(add_one());
        }
        done = true;
    }
    Database &db;
    Session &session;
    Pipe pipe;
    int committed = 0;
    bool done = false;
};

std::vector<Task<void>> one(Task<void> task)
{
    std::vector<Task<void>> tasks;

    tasks.push_back(std::move(task));
    return tasks;
}

} // namespace

TEST_CASE("dtx: a session starts a transaction for each request that comes", "[unit]")
{
    const char *mode = GENERATE("", ",mode=ring", "tcp", "sim");
    CAPTURE(mode);
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    Bank bank(db, session);

    for (int i = 0; i < 40; i++)
        bank.pipe.put('+');
    bank.pipe.finish();
    session.run(one(bank.serve()));
    CHECK(bank.committed == 40);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              auto row = co_await txn.read(db.tables.accounts, 1);

              AWAIT_REQUIRE(row && row->cents == 40);
              co_return true;
          }) == Status::committed);
}

TEST_CASE("dtx: a session that only waits uses no CPU, and goes on soon after a request", "[unit]")
{
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    Bank bank(db, session);
    constexpr int kRequests = 5;
    std::atomic<uint64_t> sent_ns = 0;
    std::atomic<int> served = 0;
    uint64_t least_ns = UINT64_MAX;
    bool slept = false;
    auto waits = [&]() -> Task<void> {
        while (served < kRequests) {
            co_await session.readable(bank.pipe.end());
            least_ns = std::min(least_ns, now_ns() - sent_ns);
            (void)bank.pipe.take();
            co_await bank.add_one();
            served++;
        }
    };
    auto sleeps = [&](uint64_t until_ns) -> Task<void> {
        co_await session.sleep_until(until_ns);
        slept = true;
    };
    // 60 ms after the one before was served: the session sleeps by then, for 40 ms or more if no
    // request woke it.
    std::thread client([&] {
        const timespec pause = { 0, 60 * static_cast<long>(kMsNs) };

        for (int i = 0; i < kRequests; i++) {
            nanosleep(&pause, nullptr);
            sent_ns = now_ns();
            bank.pipe.put('+');
            while (served == i)
                std::this_thread::yield();
        }
    });
    uint64_t begin_ns = now_ns();
    uint64_t used_ns = cpu_ns();

    session.start(sleeps(begin_ns + 600 * kMsNs));
    session.run(one(waits()));
    used_ns = cpu_ns() - used_ns;
    client.join();
    CHECK(bank.committed == kRequests);
    CHECK(slept);
    CHECK(now_ns() - begin_ns >= 600 * kMsNs);
    CHECK(least_ns < 20 * kMsNs);
    CHECK(used_ns < 100 * kMsNs);
}

TEST_CASE("dtx: requests are served while other coroutines keep transactions under way", "[unit]")
{
    const char *mode = GENERATE("", ",mode=ring", "tcp");
    CAPTURE(mode);
    Database db(1, {}, Tables(), mode);
    Session session(*db.cluster, 0);
    Bank bank(db, session);
    int others = 0;
    uint64_t until_ns = now_ns() + 20000 * kMsNs;
    auto busy = [&](uint64_t key) -> Task<void> {
        while (!bank.done && now_ns() < until_ns) {
            (void)co_await session.transact([&](Txn &txn) -> Task<bool> {
                (void)co_await txn.read(db.tables.accounts, key);
                co_return true;
            });
            others++;
        }
    };
    std::thread client([&] {
        const timespec pause = { 0, static_cast<long>(kMsNs) };

        for (int i = 0; i < 20; i++) {
            nanosleep(&pause, nullptr);
            bank.pipe.put('+');
        }
        bank.pipe.finish();
    });
    std::vector<Task<void>> tasks;

    for (uint64_t key = 10; key < 14; key++)
        tasks.push_back(busy(key));
    tasks.push_back(bank.serve());
    session.run(std::move(tasks));
    client.join();
    CHECK(bank.done);
    CHECK(bank.committed == 20);
    CHECK(now_ns() < until_ns); // else the busy ones had given up before the last request
    CHECK(others > 0);
}

namespace
{

// Adds a cent to the account of a shard, and keeps the outcome or the error's code.
Task<void> add_cent(RestartableDatabase &db, Session &session, uint32_t shard, Status *status,
                    int *code)
{
    try {
        auto outcome = co_await session.transact([&](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read(db.tables.accounts, in_partition(shard, 1));

            co_await txn.write(db.tables.accounts, in_partition(shard, 1),
                               Account{ row->cents + 1 });
            co_return true;
        });
        *status = outcome.status;
    } catch (const dtx::Error &error) {
        *code = error.code();
    }
}

struct Heard : dtx::Listener {
    void ended(const dtx::Attempt &) override {}
    void rejoined(uint64_t times) override
    {
        all.push_back(times);
    }
    std::vector<uint64_t> all;
};

} // namespace

TEST_CASE("dtx: while transactions wait for a server, other coroutines go on", "[unit]")
{
    RestartableDatabase db(GENERATE(1u, 2u));
    Heard heard;
    Session session(*db.cluster, 0, &heard);
    Pipe pipe;
    constexpr int kBytes = 10;
    std::atomic<int> answered = 0;
    int answered_before = 0;
    Status statuses[kServers];
    int codes[kServers] = {};
    std::vector<Task<void>> tasks;
    auto answers = [&]() -> Task<void> {
        for (;;) {
            co_await session.readable(pipe.end());
            if (pipe.take() == '\0')
                break;
            answered++;
        }
    };

    db.fill(session);
    db.servers[2]->stop();
    std::thread client([&] {
        const timespec pause = { 0, 20 * static_cast<long>(kMsNs) };

        for (int i = 0; i < kBytes; i++) {
            pipe.put('?');
            for (int waits = 0; waits < 25 && answered <= i; waits++)
                nanosleep(&pause, nullptr);
        }
        answered_before = answered;
        db.servers[2]->start();
        pipe.finish();
    });

    for (uint32_t shard = 0; shard < kServers; shard++) {
        statuses[shard] = Status::aborted;
        tasks.push_back(add_cent(db, session, shard, &statuses[shard], &codes[shard]));
    }
    tasks.push_back(answers());
    session.run(std::move(tasks));
    client.join();
    CHECK(answered_before == kBytes);
    for (uint32_t shard = 0; shard < kServers; shard++) {
        CHECK(codes[shard] == 0);
        CHECK(statuses[shard] != Status::aborted);
        CHECK(db.cents(shard) >= 100);
    }
    CHECK(statuses[2] == Status::committed);
    CHECK(db.cents(2) == 101);
    REQUIRE(heard.all.size() >= 1);
    for (size_t i = 0; i < heard.all.size(); i++)
        CHECK(heard.all[i] == i + 1);
}

TEST_CASE("dtx: transactions that wait for a server end with its error, each at its deadline",
          "[unit]")
{
    RestartableDatabase db(1);
    dtx::Options options = db.cluster->options();

    options.retry_us = 200000;

    dtx::Cluster impatient(db.tables.schema, options);
    Heard heard;
    Session session(impatient, 0, &heard);
    Status statuses[4];
    int codes[4] = {};
    std::vector<Task<void>> tasks;

    db.fill(session);
    db.servers[2]->stop();
    for (int i = 0; i < 4; i++)
        tasks.push_back(add_cent(db, session, 2, &statuses[i], &codes[i]));
    session.run(std::move(tasks));
    for (int code : codes)
        CHECK(code == RPM_E_REFUSED);
    CHECK(heard.all.empty());
    db.servers[2]->start();
    session.run(one(add_cent(db, session, 2, &statuses[0], &codes[0])));
    CHECK(statuses[0] == Status::committed);
    CHECK(db.cents(2) == 101);
    CHECK(heard.all.size() == 1);
}
