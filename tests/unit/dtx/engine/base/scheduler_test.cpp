// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/scheduler.h>

#include "support/catch.h"

#include <set>
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
    scheduler.run(tasks, [](uint64_t) {});
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
    scheduler.run(tasks, [](uint64_t) {});
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
    scheduler.run(tasks, [&](uint64_t idle_until_ns) {
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
