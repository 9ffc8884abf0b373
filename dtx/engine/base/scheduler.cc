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
#include <utility>

namespace dtx
{

/* A system call that asks for descriptors costs as much as several passes over busy coroutines; 16
 * passes take a few microseconds. */
static constexpr uint32_t kWatchEvery = 16;

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

/* Wakes coroutines whose descriptor can be read, those that have waited longest first. */
void Scheduler::wake_readable()
{
    size_t kept = 0;

    DTX_ASSERT(watched_.size() == fds_.size());
    if (::poll(fds_.data(), fds_.size(), 0) <= 0)
        return;
    for (size_t i = 0; i < fds_.size(); i++)
        if (fds_[i].revents != 0) {
            ready_.push_back(watched_[i]);
        } else {
            watched_[kept] = watched_[i];
            fds_[kept++] = fds_[i];
        }
    watched_.resize(kept);
    fds_.resize(kept);
}

Task<void> Scheduler::until_end(Task<void> task)
{
    try {
        co_await task;
    } catch (...) {
        if (!thrown_)
            thrown_ = std::current_exception();
    }
    ended_++;
}

void Scheduler::start(Task<void> task)
{
    tasks_.push_back(until_end(std::move(task)));
    ready_.push_back(tasks_.back().handle());
}

void Scheduler::free_ended()
{
    size_t freed = std::erase_if(tasks_, [](const Task<void> &task) { return task.done(); });

    DTX_ASSERT(freed == ended_);
    ended_ = 0;
}

void Scheduler::run_ready()
{
    for (size_t turns = ready_.size(); turns > 0; turns--) {
        std::coroutine_handle<> next = ready_.front();

        ready_.pop_front();
        DTX_ASSERT(next && !next.done());
        next.resume();
    }
    if (ended_ > 0)
        free_ended();
}

void Scheduler::wake_and_poll(const std::function<void(uint64_t idle_until_ns)> &poll)
{
    if (!sleeping_.empty())
        wake_sleepers();
    if (!fds_.empty() && (ready_.empty() || passes_ % kWatchEvery == 0))
        wake_readable();
    poll(idle_until_ns());
}

void Scheduler::end_tasks()
{
    DTX_ASSERT(tasks_.empty() && ready_.empty() && sleeping_.empty() && fds_.empty());
    if (thrown_)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Scheduler::run(std::vector<Task<void>> tasks,
                    const std::function<void(uint64_t idle_until_ns)> &poll)
{
    for (Task<void> &task : tasks)
        start(std::move(task));
    for (;;) {
        passes_++;
        run_ready();
        if (tasks_.empty())
            break;
        wake_and_poll(poll);
    }
    end_tasks();
}

bool Scheduler::pass(const std::function<void(uint64_t idle_until_ns)> &poll)
{
    wake_and_poll(poll);
    passes_++;
    run_ready();
    if (!tasks_.empty())
        return true;
    end_tasks();
    return false;
}

} // namespace dtx
