// SPDX-License-Identifier: BSD-3-Clause
#include "engine/recovery/takeover.h"

#include "engine/base/backoff.h"
#include "support/descriptors.h"
#include "unit/dtx/engine/dead.h"
#include "unit/dtx/engine/gate.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <thread>

using dtx::Claim;
using dtx::Session;
using dtx::Status;
using dtx::Takeover;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kDead = 7; // as die_over() has it
constexpr uint64_t kTimeoutUs = 20000000;
constexpr uint64_t kEpochNs = dtx::Backoff::kEpochNs;

// Two servers, the second behind a gate for sessions of the cluster here. A dead session has locked
// row 3.
struct Gated {
    explicit Gated(uint64_t timeout_us = kTimeoutUs)
        : db(2, {}, Tables(), "tcp"), gate(db.cluster->options().urls[1])
    {
        dtx::Options options = db.cluster->options();

        options.urls[1] = gate.url();
        options.timeout_us = timeout_us;
        options.notice = [this](const std::string &text) {
            notices.push_back(text);
            gate.shut(false);
        };
        options.lease_us = kTimeoutUs;
        cluster.emplace(db.tables.schema, options);
        session.emplace(*cluster, 0);
        for (uint64_t key : { 3, 4 })
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
    Task<void> add_one()
    {
        (void)co_await session->transact([this](Txn &txn) -> Task<bool> {
            auto row = co_await txn.read_for_update(db.tables.accounts, 4);

            row->cents++;
            co_return co_await txn.write(db.tables.accounts, 4, *row);
        });
    }
    Task<void> go_on(int many)
    {
        uint64_t until_ns = dtx::now_ns() + 20000000000;

        while (!gate.is_awaited() && dtx::now_ns() < until_ns)
            co_await session->turn();
        for (int i = 0; gate.is_awaited() && i < many; i++, went_on++)
            co_await add_one();
    }

    Database db;
    Gate gate;
    std::optional<dtx::Cluster> cluster;
    std::optional<Session> session;
    std::vector<std::string> notices; // each opens the gate
    int met = 0;
    int went_on = 0;
};

// Those of this process, by number.
std::set<std::string> threads()
{
    std::set<std::string> found;

    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
        found.insert(entry.path().filename());
    return found;
}

// The signals that a thread blocks, in hexadecimal. @thread: its number, "self": the caller.
std::string blocked(const std::string &thread)
{
    std::ifstream status(thread == "self" ? "/proc/thread-self/status"
                                          : "/proc/self/task/" + thread + "/status");
    std::string word;

    while (status >> word && word != "SigBlk:")
        ;
    status >> word;
    return word;
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
    if (by_work) {
        for (Task<void> &task : tasks)
            at.session->start(std::move(task));
        while (at.session->work(0)) {
            pollfd ready = { at.session->fd(), POLLIN, 0 };

            if (!at.session->arm())
                (void)poll(&ready, 1, 1);
        }
    } else {
        at.session->run(std::move(tasks));
    }
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

TEST_CASE("takeover: its destructor waits for the end and leaves no descriptor", "[unit]")
{
    Gated at;
    int passed = at.gate.passed();
    int before = open_descriptors();
    std::thread opener;

    at.gate.shut(true);
    {
        Takeover takeover(*at.cluster, kDead, Claim::inherit);

        opener = std::thread([&] {
            const timespec pause = { 0, 100000000 };

            nanosleep(&pause, nullptr);
            at.gate.shut(false);
        });
    }
    CHECK(at.gate.passed() == passed + 1);
    opener.join();

    // The gate keeps its two ends of the connection; each server closes its end a little later.
    uint64_t until_ns = dtx::now_ns() + 10000000000;

    while (open_descriptors() > before + 2 && dtx::now_ns() < until_ns)
        std::this_thread::yield();
    CHECK(open_descriptors() <= before + 2);
}

TEST_CASE(
    "takeover: its descriptor is readable at the end, and finish() throws what the recovery threw",
    "[unit]")
{
    Database db;
    std::optional<Session> owner(std::in_place, *db.cluster, kDead);

    for (bool is_dead : { false, true }) {
        if (is_dead)
            owner.reset();

        Takeover takeover(*db.cluster, kDead, Claim::inherit);
        pollfd ended = { takeover.fd(), POLLIN, 0 };

        CHECK(poll(&ended, 1, 20000) == 1);
        CHECK(code_of([&] { takeover.finish(); }) == (is_dead ? 0 : RPM_E_OWNED));
    }
}

TEST_CASE("takeover: its thread gets no signals, and the caller gets as many as before", "[unit]")
{
    Gated at;
    std::set<std::string> before = threads();
    std::string own = blocked("self");
    std::vector<std::string> masks;

    at.gate.shut(true);
    {
        Takeover takeover(*at.cluster, kDead, Claim::inherit);

        CHECK(blocked("self") == own);
        uint64_t until_ns = dtx::now_ns() + 20000000000;

        while (!at.gate.is_awaited() && dtx::now_ns() < until_ns)
            std::this_thread::yield();
        CHECK(at.gate.is_awaited()); // the thread runs
        for (const std::string &thread : threads())
            if (before.count(thread) == 0)
                masks.push_back(blocked(thread));
        at.gate.shut(false);
    }
    REQUIRE(masks.size() == 1);
    CHECK((std::stoull(masks[0], nullptr, 16) >> (SIGUSR1 - 1) & 1) == 1);
    CHECK((std::stoull(own, nullptr, 16) >> (SIGUSR1 - 1) & 1) == 0);
}

TEST_CASE("takeover: without a descriptor it is an error that says so", "[unit]")
{
    Database db;
    rlimit before;
    rlimit none;
    std::exception_ptr thrown;

    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    try {
        Takeover takeover(*db.cluster, kDead, Claim::inherit);
    } catch (...) {
        thrown = std::current_exception(); // a sanitizer needs descriptors to look at it
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(thrown);
    try {
        std::rethrow_exception(thrown);
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_NOMEM);
        CHECK(std::string(error.what()).find("no free descriptor") != std::string::npos);
    }
}
