/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_loop.cc: run the coroutines of a session: to their end, or step by step in a loop of the
 * program.
 *
 * Tests: tests/unit/dtx/engine/txn/requests_test.cpp, work_test.cpp
 */
#include <dtx/session.h>

#include "engine/base/assert.h"
#include "engine/txn/session_state.h"

#include <algorithm>

namespace dtx
{

/* Runs all coroutines to their end. */
void Session::run_all(std::vector<Task<void>> tasks)
{
    state_->scheduler.run(std::move(tasks),
                          [this](uint64_t idle_until_ns) { state_->store.poll(idle_until_ns); });
}

/* No coroutine is left: installs what they have committed. */
void Session::end_run()
{
    std::vector<Task<void>> tasks;

    DTX_ASSERT(state_->scheduler.is_empty()); /* it could commit more */
    state_->store.settle();
    DTX_ASSERT(state_->store.installs.empty() || state_->store.installs.failed() ||
               !state_->store.servers.is_open());
    if (!state_->store.installs.failed())
        return;
    tasks.push_back(begin_to_join_once());
    run_all(std::move(tasks));
}

void Session::run(std::vector<Task<void>> tasks)
{
    std::exception_ptr thrown;

    try {
        run_all(std::move(tasks));
    } catch (...) {
        thrown = std::current_exception();
    }
    end_run();
    if (thrown)
        std::rethrow_exception(thrown);
}

void Session::run_one(Task<void> task)
{
    std::exception_ptr thrown;
    bool ended = false;
    auto body = [&]() -> Task<void> {
        try {
            co_await std::move(task);
        } catch (...) {
            thrown = std::current_exception();
        }
        ended = true;
    };

    start(body());
    while (!ended || state_->joins_once) /* which installs what the task has committed */
        (void)work(UINT64_MAX);
    DTX_ASSERT(!state_->leaving); /* the destructor uses run() */
    if (state_->scheduler.is_empty())
        end_run();
    if (thrown)
        std::rethrow_exception(thrown);
}

bool Session::work(uint64_t until_ns)
{
    Store &store = state_->store;

    if (state_->scheduler.is_empty() && store.is_settled()) {
        if (!store.installs.failed())
            return false;
        start(begin_to_join_once());
    }

    bool left = state_->scheduler.pass(
        [&](uint64_t idle_until_ns) { store.poll(std::min(idle_until_ns, until_ns)); });

    DTX_ASSERT(left || state_->under_way == 0); /* no transaction without its coroutine */
    return left || !store.is_settled() || store.installs.failed();
}

int Session::fd()
{
    if (!state_->wait_set)
        state_->wait_set.emplace();
    return state_->wait_set->fd();
}

bool Session::arm()
{
    Store &store = state_->store;
    std::vector<pollfd> fds = state_->scheduler.watched();
    size_t others = fds.size();
    uint64_t until_ns = state_->scheduler.idle_until_ns();

    (void)fd();
    if (state_->scheduler.is_empty() && store.is_settled() && !store.installs.failed()) {
        state_->wait_set->arm({}, UINT64_MAX);
        return false;
    }
    /* A commit for which no operation is under way is finished by the next poll. */
    if (until_ns == 0 || !store.servers.arm(fds) || store.installs.failed() ||
        (!store.installs.empty() && fds.size() == others))
        return true;
    DTX_ASSERT(until_ns != UINT64_MAX || !fds.empty()); /* else nothing would end the wait */
    state_->wait_set->arm(fds, std::min(until_ns, now_ns() + Servers::kSleepMaxNs));
    return false;
}

void Session::start(Task<void> task)
{
    state_->scheduler.start(std::move(task));
}

} // namespace dtx
