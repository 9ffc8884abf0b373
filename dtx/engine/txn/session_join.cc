/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_join.cc: a session joins a database, and joins again after it was fenced, a server was
 * lost or a commit failed half-way.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp, requests_test.cpp
 */
#include <dtx/session.h>

#include "engine/base/assert.h"
#include "engine/recovery/recover.h"
#include "engine/txn/session_state.h"
#include <dtx/error.h>

#include <algorithm>
#include <utility>

namespace dtx
{

/* Claims the logs of the first coordinator that no live session has. That all are owned may pass:
 * a session that recovers the database owns the logs of all coordinators meanwhile. */
void Session::open_any()
{
    uint32_t count = state_->cluster.options().coordinators;
    uint64_t first = state_->scheduler.random().below(count);

    for (uint64_t i = 0; i < count; i++) {
        try {
            uint32_t number = static_cast<uint32_t>((first + i) % count);

            state_->store.open(number, Claim::join);
            state_->coordinator = number;
            return;
        } catch (const Fenced &) {
            throw;
        } catch (const Error &error) {
            if (error.code() != RPM_E_OWNED)
                throw;
            state_->store.close();
        }
    }
    throw Error(RPM_E_OWNED, "live sessions have all " + std::to_string(count) +
                                 " coordinator numbers: end one (of a file system: unmount it "
                                 "somewhere), or raise Options::coordinators of all programs that "
                                 "use the database, at most " +
                                 std::to_string(kCoordinatorsMax));
}

/* Claims the session's logs and finishes the transactions that its coordinator left unfinished. If
 * a server was started again, recovers the whole database instead, and returns false: try again. */
bool Session::try_to_join(Claim claim)
{
    Store &store = state_->store;
    uint32_t given = state_->coordinator;

    if (given == kAnyCoordinator)
        open_any();
    else
        store.open(state_->coordinator, claim);
    DTX_ASSERT(store.servers.owns(state_->coordinator));
    if (is_ready(store.servers)) {
        uint32_t number = std::exchange(state_->coordinator, given);

        store.slots.begin_generation(finish_one(store.servers, number).spares);
        state_->coordinator = number;
        return true;
    }
    store.close();
    state_->coordinator = given; /* of any, another session may take this one meanwhile */
    /* Of several sessions that get here, one recovers the database, and the others wait. After half
     * of the time to their deadline they take the recovery over, because that session may hang. */
    recover_unready(state_->cluster,
                    state_->deadline->is_half_over() ? Claim::takeover : Claim::join);
    return false;
}

static constexpr uint64_t kDayS = 86400; /* a longer wait has no limit that matters */

void Session::check_deadline(const Error &error)
{
    DTX_ASSERT(state_->deadline);
    state_->store.close();
    if (state_->leaving || state_->deadline->is_over() || now_ns() >= state_->end_waits_ns)
        throw Error(error.code(), error.what());
    if (!state_->deadline->is_notice_due())
        return;

    uint64_t left_s = state_->deadline->left_ns() / 1000000000 + 1;

    state_->cluster.notify(
        error.what() +
        std::string(left_s > kDayS ? " (trying again)"
                                   : " (trying again for up to " + std::to_string(left_s) + " s)"));
}

/* One try. True: the session has joined. Throws if it cannot be tried again. */
bool Session::try_until_deadline(Claim claim)
{
    DTX_ASSERT(claim == Claim::join || claim == Claim::rejoin); /* which create the logs */
    if (!state_->deadline)
        state_->deadline.emplace(state_->cluster.retry_ns());
    try {
        if (try_to_join(claim)) {
            state_->deadline.reset();
            start_numbers();
            return true;
        }
    } catch (const Fenced &fenced) {
        check_deadline(fenced);
    } catch (const Error &error) {
        if (error.code() != RPM_E_OWNED) {
            state_->store.close();
            throw;
        }
        check_deadline(error);
    }
    return false;
}

/* While servers do not answer, or another session has the logs, tries again until the retry
 * deadline. */
void Session::join()
{
    while (!try_until_deadline(Claim::join))
        state_->deadline->wait();
}

/* The same for a coroutine: the others run between the tries, in which librpm's timeouts limit how
 * long the thread is blocked. Where steps interleave the thread waits, so that a run does not
 * depend on the clock. */
Task<void> Session::join_again()
{
    while (!try_until_deadline(Claim::rejoin))
        if (state_->scheduler.interleaves())
            state_->deadline->wait();
        else
            co_await state_->scheduler.sleep_until(state_->deadline->next_ns());
    if (state_->listener != nullptr)
        state_->listener->rejoined(++state_->joins);
}

/* Begins the numbers of transactions anew. They contain the epoch of the claim, which no earlier
 * claim on this server had in this view. */
void Session::start_numbers()
{
    Store &store = state_->store;
    const Placement &placement = store.servers.placement();

    if (state_->cluster.options().durable)
        state_->log_servers = placement.log_servers(state_->coordinator);
    state_->sequence = 0;
    state_->prefix = number_prefix(state_->coordinator, placement.view.number,
                                   store.servers.connection(placement.first()).epoch());
    DTX_ASSERT((state_->prefix & kNumbersMost) == 0);
    DTX_ASSERT(coordinator_of(state_->prefix) == state_->coordinator);
}

/* Closes all connections: operations under way end with RPM_E_FENCED, and attempts that began
 * before find that they were fenced. */
void Session::leave_servers()
{
    state_->counters.rejoined++;
    state_->store.poll();
    state_->store.close();
}

uint64_t Session::joined() const
{
    return state_->store.servers.joined();
}

/* A single try: if it fails, the next transaction joins. */
void Session::join_once()
{
    bool joined = false;

    leave_servers();
    state_->deadline.emplace(state_->cluster.retry_ns());
    try {
        joined = try_to_join(Claim::rejoin);
    } catch (const Error &) {
        state_->store.close();
    }
    state_->deadline.reset();
    if (!joined)
        return;
    start_numbers();
    if (state_->listener != nullptr)
        state_->listener->rejoined(++state_->joins);
}

Task<void> Session::until_joined()
{
    while (state_->tries_to_join)
        co_await State::Joined{ *state_ };
}

/* Closes all connections and joins again, after another session fenced this one, a server was lost,
 * or a commit failed half-way. @joined: Servers::joined() when the caller's attempt began. @needed:
 * true: wait until the session has joined. False: the attempt's outcome is known, and returning it
 * must not wait for servers, so try once; if that fails, the next transaction joins. One coroutine
 * joins; those that need it too wait for its end, and no attempt begins meanwhile. */
Task<void> Session::rejoin(uint64_t joined, bool needed)
{
    struct Joining {
        explicit Joining(State &all) : state(all)
        {
            DTX_ASSERT(!state.tries_to_join);
            state.tries_to_join = true;
            state.joining++;
        }
        ~Joining()
        {
            state.tries_to_join = false;
            state.joining--;
            for (std::coroutine_handle<> handle : std::exchange(state.until_joined, {}))
                state.scheduler.wake(handle);
        }
        State &state;
    };

    DTX_ASSERT(joined <= state_->store.servers.joined());
    if (state_->tries_to_join || state_->store.servers.joined() != joined) {
        if (needed)
            co_await until_joined();
        co_return;
    }
    if (!needed) {
        join_once();
        co_return;
    }

    Joining joining(*state_);

    leave_servers();
    co_await join_again();
}

/* May a commit that is not complete in the logs, or that has no logs, have written some of its rows
 * or records? */
bool Session::is_installing() const
{
    return std::any_of(state_->sets.begin(), state_->sets.end(), [this](const auto &own) {
        return own->busy && own->maybe_logged && !own->logged &&
               own->joined == state_->store.servers.joined();
    });
}

/* As rejoin(), after the commits of other coroutines that are installing have ended, while no
 * attempt begins. Joining again in the middle of such a commit makes its outcome unknown; and
 * without logs, some of its rows would be new and others old. */
Task<void> Session::rejoin_after_commits(uint64_t joined, bool needed)
{
    struct Joining {
        explicit Joining(uint32_t &all) : count(all)
        {
            count++;
        }
        ~Joining()
        {
            count--;
        }
        uint32_t &count;
    } joining(state_->joining);

    while (state_->store.servers.joined() == joined && is_installing())
        co_await turn();
    co_await rejoin(joined, needed);
}

} // namespace dtx
