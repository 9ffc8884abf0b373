// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/task.h>

#include "support/catch.h"
#include <dtx/scheduler.h>

#include <stdexcept>
#include <string>

static dtx::Task<int> deep(int n)
{
    if (n == 0)
        co_return 1;
    co_return 1 + co_await deep(n - 1);
}

static dtx::Task<std::string> fails(bool really)
{
    if (really)
        throw std::runtime_error("as asked");
    co_return "well";
}

TEST_CASE("dtx: a task hands its value to the coroutine that awaits it", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    int depth = 0;
    std::string text;
    auto body = [&]() -> dtx::Task<void> {
        depth = co_await deep(100);
        text = co_await fails(false);
    };

    tasks.push_back(body());
    scheduler.run(std::move(tasks), [](uint64_t) {});
    CHECK(depth == 101);
    CHECK(text == "well");
}

TEST_CASE("dtx: an exception passes to the coroutine that awaits the task", "[unit]")
{
    dtx::Scheduler scheduler(1, 0);
    std::vector<dtx::Task<void>> tasks;
    bool caught = false;
    auto body = [&]() -> dtx::Task<void> {
        try {
            (void)co_await fails(true);
        } catch (const std::runtime_error &) {
            caught = true;
        }
        (void)co_await fails(true);
    };

    tasks.push_back(body());
    CHECK_THROWS_AS(scheduler.run(std::move(tasks), [](uint64_t) {}), std::runtime_error);
    CHECK(caught);
}

TEST_CASE("dtx: memory of coroutine frames is reused, of large ones too", "[unit]")
{
    void *small = dtx::allocate_frame(100);

    dtx::free_frame(small, 100);
    CHECK(dtx::allocate_frame(110) == small);
    dtx::free_frame(small, 110);

    void *large = dtx::allocate_frame(100000);

    REQUIRE(large != nullptr);
    dtx::free_frame(large, 100000);
}
