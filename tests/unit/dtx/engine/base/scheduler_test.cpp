// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/scheduler.h>

#include "support/catch.h"
#include "unit/dtx/engine/pipe.h"

#include <memory>
#include <set>
#include <stdexcept>
#include <string>

static std::string trace_of(uint64_t seed, uint32_t interleave)
{
    dtx::Scheduler scheduler(seed, interleave);
    std::vector<dtx::Task<void>> tasks;
    std::string trace;
    auto body = [&](char name) -> dtx::Task<void> {
        for (int i = 0; i < 4; i++) {
            trace += name;
            co_await scheduler.step();
        }
    };

    for (char name : { 'a', 'b', 'c' })
        tasks.push_back(body(name));
    scheduler.run(std::move(tasks), [](uint64_t) {});
    return trace;
}

TEST_CASE("dtx: a step lets another coroutine run only if steps interleave", "[unit]")
{
    CHECK(trace_of(1, 0) == "aaaabbbbcccc");
}

TEST_CASE("dtx: a seed determines the interleaving, and seeds give many", "[unit]")
{
    std::set<std::string> traces;

    for (uint64_t seed = 0; seed < 50; seed++) {
        traces.insert(trace_of(seed, 128));
        CHECK(trace_of(seed, 128) == trace_of(seed, 128));
    }
    CHECK(traces.size() > 30);
}

TEST_CASE("dtx: a sleeping coroutine continues at its time", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    std::string trace;
    // With 1 ns all of them are due at the first poll: they are still woken in the order of their
    // times.
    uint64_t unit = GENERATE(10000000, 1);
    uint64_t begin = dtx::now_ns();
    auto body = [&](char name, uint64_t ns) -> dtx::Task<void> {
        co_await scheduler.sleep_until(begin + ns);
        trace += name;
    };

    CAPTURE(unit);
    tasks.push_back(body('c', 3 * unit));
    tasks.push_back(body('a', unit));
    tasks.push_back(body('b', 2 * unit));
    scheduler.run(std::move(tasks), [](uint64_t) {});
    CHECK(trace == "abc");
    CHECK(dtx::now_ns() - begin >= 3 * unit);
}

TEST_CASE("dtx: a waiting coroutine continues when it is woken", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    std::coroutine_handle<> place;
    int polls = 0;
    bool done = false;
    auto body = [&]() -> dtx::Task<void> {
        co_await dtx::Scheduler::Wait{ place };
        done = true;
    };

    tasks.push_back(body());
    scheduler.run(std::move(tasks), [&](uint64_t idle_until_ns) {
        CHECK(idle_until_ns == UINT64_MAX);
        if (++polls == 5)
            scheduler.wake(std::exchange(place, nullptr));
    });
    CHECK(done);
    CHECK(polls >= 5);
}

TEST_CASE("dtx: random choices are uniform", "[unit]")
{
    dtx::SplitMix64 rng(1);
    unsigned heads = 0;

    for (int i = 0; i < 10000; i++)
        heads += rng.below(2) == 0;
    CHECK(heads > 4700);
    CHECK(heads < 5300);
}

namespace
{

// @token: a reference that its frame holds.
dtx::Task<void> short_one(dtx::Scheduler &scheduler, std::shared_ptr<int> token, int &ran)
{
    (void)token;
    co_await scheduler.turn();
    ran++;
}

} // namespace

TEST_CASE("dtx: a coroutine starts others, whose frames are freed when they end", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    auto token = std::make_shared<int>();
    long most = 0;
    int ran = 0;
    auto body = [&]() -> dtx::Task<void> {
        for (int i = 0; i < 10000; i++) {
            scheduler.start(short_one(scheduler, token, ran));
            co_await scheduler.turn();
            most = std::max(most, token.use_count());
        }
    };

    scheduler.start(short_one(scheduler, token, ran));
    tasks.push_back(body());
    scheduler.run(std::move(tasks), [](uint64_t) {});
    CHECK(ran == 10001);
    CHECK(most <= 5);
    CHECK(token.use_count() == 1);
}

TEST_CASE("dtx: run ends with the first exception, after all coroutines have ended", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    int ended = 0;
    auto body = [&](int turns) -> dtx::Task<void> {
        for (int i = 0; i < turns; i++)
            co_await scheduler.turn();
        ended++;
        throw std::runtime_error(std::to_string(turns));
    };
    auto starter = [&]() -> dtx::Task<void> {
        scheduler.start(body(1));
        co_return;
    };

    tasks.push_back(body(5));
    tasks.push_back(body(3));
    tasks.push_back(starter());
    CHECK_THROWS_WITH(scheduler.run(std::move(tasks), [](uint64_t) {}), "1");
    CHECK(ended == 3);
    scheduler.start(body(0)); // what was thrown before does not come again
    CHECK_THROWS_WITH(scheduler.run({}, [](uint64_t) {}), "0");
    scheduler.run({}, [](uint64_t) {});
}

TEST_CASE("dtx: a coroutine continues when its descriptor can be read or was hung up", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    Pipe pipes[3];
    std::string trace;
    auto body = [&](int i) -> dtx::Task<void> {
        co_await scheduler.readable(pipes[i].end());
        char c = pipes[i].take();
        trace += c == '\0' ? '0' : c;
    };
    int polls = 0;

    for (int i = 0; i < 3; i++)
        tasks.push_back(body(i));
    scheduler.run(std::move(tasks), [&](uint64_t idle_until_ns) {
        size_t woken = idle_until_ns == 0 ? 1 : 0;

        CHECK(scheduler.watched().size() == 3 - trace.size() - woken);
        CHECK((idle_until_ns == UINT64_MAX || idle_until_ns == 0));
        polls++;
        if (polls == 3)
            pipes[1].put('b');
        if (polls == 6)
            pipes[2].finish();
        if (polls == 9)
            pipes[0].put('a');
    });
    CHECK(trace == "b0a");
}

TEST_CASE("dtx: a descriptor is asked for although other coroutines are always ready", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    Pipe pipe;
    bool served = false;
    int turns = 0;
    auto busy = [&]() -> dtx::Task<void> {
        while (!served && turns < 1000) {
            turns++;
            co_await scheduler.turn();
        }
    };
    auto waits = [&]() -> dtx::Task<void> {
        co_await scheduler.readable(pipe.end());
        served = true;
    };

    pipe.put('x');
    tasks.push_back(busy());
    tasks.push_back(waits());
    scheduler.run(std::move(tasks), [](uint64_t) {});
    CHECK(served);
    CHECK(turns <= 40);
}
