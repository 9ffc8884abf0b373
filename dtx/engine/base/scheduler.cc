/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheduler.cc: resume coroutines that are ready, in order, and poll in between.
 *
 * Tests: tests/unit/dtx/engine/base/scheduler_test.cpp
 */
#include <dtx/scheduler.h>

#include "engine/base/assert.h"

#include <algorithm>
#include <ctime>

namespace dtx
{

uint64_t now_ns()
{
    timespec now{};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/* Wakes coroutines whose time has come. Where steps interleave, wakes the coroutine that began to
 * sleep first, whatever the time, so that a run does not depend on the clock. */
void Scheduler::wake_sleepers()
{
    if (interleaves()) {
        ready_.push_back(sleeping_.front().handle);
        sleeping_.erase(sleeping_.begin());
        return;
    }
    uint64_t now = now_ns();

    auto due = std::partition(sleeping_.begin(), sleeping_.end(),
                              [now](const Sleeper &sleeper) { return sleeper.until_ns > now; });

    /* In the order of their times: while this thread did not run, several may have become due. */
    std::sort(due, sleeping_.end(),
              [](const Sleeper &a, const Sleeper &b) { return a.until_ns < b.until_ns; });
    for (auto sleeper = due; sleeper != sleeping_.end(); ++sleeper)
        ready_.push_back(sleeper->handle);
    sleeping_.erase(due, sleeping_.end());
}

uint64_t Scheduler::idle_until_ns() const
{
    uint64_t first = UINT64_MAX;

    if (!ready_.empty())
        return 0;
    for (const Sleeper &sleeper : sleeping_)
        first = std::min(first, sleeper.until_ns);
    return first;
}

void Scheduler::run(std::vector<Task<void>> &tasks,
                    const std::function<void(uint64_t idle_until_ns)> &poll)
{
    auto all_done = [&tasks] {
        return std::all_of(tasks.begin(), tasks.end(),
                           [](const auto &task) { return task.done(); });
    };

    for (Task<void> &task : tasks)
        ready_.push_back(task.handle());
    while (!ready_.empty() || !all_done()) {
        size_t turns = ready_.size();

        for (size_t i = 0; i < turns; i++) {
            std::coroutine_handle<> next = ready_.front();

            ready_.pop_front();
            DTX_ASSERT(next && !next.done());
            next.resume();
        }
        if (!sleeping_.empty())
            wake_sleepers();
        poll(idle_until_ns());
    }
    for (Task<void> &task : tasks)
        task.await_resume(); /* throws what the task threw */
}

} // namespace dtx
