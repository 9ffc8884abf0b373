/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_state.h: the members of a session, for the files that implement it.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp
 */
#ifndef DTX_ENGINE_SESSION_STATE_H
#define DTX_ENGINE_SESSION_STATE_H

#include "engine/base/backoff.h"
#include "engine/base/wait_set.h"
#include "engine/recovery/recover.h"
#include "engine/store/store.h"
#include "engine/txn/lease.h"
#include <dtx/session.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace dtx
{

inline constexpr uint64_t kNumbersMost = (uint64_t{ 1 } << kSequenceBits) - 1;

struct Session::State {
    State(const Cluster &all, uint32_t number, Listener *who)
        : cluster(all), coordinator(number), listener(who),
          scheduler(all.options().seed * 1024 + (takes_time(all, number) ? now_ns() : number),
                    all.options().interleave),
          store(all, scheduler),
          /* The depth follows a clock, which a run with interleaved steps must not depend on. */
          backoff(all.options().techniques.backoff,
                  all.options().techniques.depth && !scheduler.interleaves()),
          numbers(all.options().numbers != 0 ? all.options().numbers : kNumbersMost),
          lease(all.options().lease_us * 1000)
    {
    }

    /* Sessions that begin at once and may have any number try different ones first; but where steps
     * interleave, a run must not depend on the clock. */
    static bool takes_time(const Cluster &all, uint32_t number)
    {
        return number == kAnyCoordinator && all.options().interleave == 0;
    }

    /* Awaited: a coroutine that tries to join has ended that. */
    struct Joined {
        bool await_ready() const noexcept
        {
            return !state.tries_to_join;
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            state.until_joined.push_back(handle);
        }
        void await_resume() const noexcept {}
        State &state;
    };

    const Cluster &cluster;
    uint32_t coordinator; /* kAnyCoordinator until the session has joined under one */
    Listener *listener;
    Scheduler scheduler;
    Store store;
    Backoff backoff;
    uint64_t pass = 0;          /* of the scheduler, in which a transaction ended last */
    uint32_t ended_in_pass = 0; /* transactions */
    uint32_t under_way = 0;     /* admitted transactions that have not ended */
    std::deque<std::coroutine_handle<>> waiting;
    Counters counters;
    std::vector<uint32_t> log_servers;
    std::optional<RetryDeadline> deadline; /* set while the session tries to join */
    uint64_t end_waits_ns = UINT64_MAX;    /* then no call waits for servers any more */
    bool leaving = false;
    uint32_t joining = 0; /* coroutines that wait to join again; no attempt begins meanwhile */
    bool tries_to_join = false; /* one of them has closed the connections and tries to open them */
    bool joins_once = false;    /* that coroutine is join_once(), which the session has started */
    std::vector<std::coroutine_handle<>> until_joined; /* go on when it has ended */
    uint64_t joins = 0;                                /* again */
    std::vector<std::unique_ptr<ReadWriteSet>> sets;   /* one for each transaction under way */
    uint64_t prefix = 0;
    uint64_t sequence = 0;
    uint64_t numbers;                /* the most attempts under one claim */
    std::optional<WaitSet> wait_set; /* of a program that waits itself */
    Lease lease;                     /* of the locks that caused this session's conflicts */
    bool takes_over = false;         /* a coroutine is in take_over() */
    std::array<uint64_t, kCoordinatorsMax> claims{}; /* claim words, as last read; 0: unknown */
};

} // namespace dtx
#endif
