/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_join.cc: a session joins a database, and joins again after it was fenced, a server was
 * lost or a commit failed half-way; a second thread connects then, while the session's own runs its
 * coroutines.
 *
 * Tests: tests/unit/dtx/engine/txn/session_join_test.cpp, session_test.cpp, requests_test.cpp
 */
#include <dtx/session.h>

#include "engine/base/assert.h"
#include "engine/base/second_thread.h"
#include "engine/recovery/recover.h"
#include "engine/txn/session_state.h"
#include <dtx/error.h>

#include <algorithm>
#include <utility>

namespace dtx
{

/* One try to join, which blocks its thread until the servers have answered, or have not for
 * Options::timeout_us. Until it has ended it shares nothing with the session but the cluster. */
struct Session::Opening {
    /* @first: which coordinator number is tried first if any may be had. @recovery: how to claim
     * the recoverer's log if a server was started again. */
    Opening(const Cluster &all, uint32_t number, uint64_t first_number, Claim how, Claim recovery)
        : cluster(all), coordinator(number), first(first_number), claim(how),
          claim_of_recoverer(recovery), scheduler(all.options().seed, 0), servers(all, scheduler)
    {
    }

    Opening(const Opening &) = delete; /* @servers has a reference to @scheduler */
    Opening &operator=(const Opening &) = delete;
    void run();
    void open_any();
    void open();

    const Cluster &cluster;
    uint32_t coordinator; /* kAnyCoordinator until one has been claimed */
    uint64_t first;
    Claim claim;
    Claim claim_of_recoverer;
    Scheduler scheduler; /* has no coroutine */
    Servers servers;
    std::vector<Spare> spares;
    bool joined = false;
    std::exception_ptr thrown;
};

/* Claims the logs of the first coordinator that no live session has. That all are owned may pass:
 * a session that recovers the database owns the logs of all coordinators meanwhile. */
void Session::Opening::open_any()
{
    uint32_t count = cluster.options().coordinators;

    for (uint64_t i = 0; i < count; i++) {
        try {
            uint32_t number = static_cast<uint32_t>((first + i) % count);

            servers.open(number, Claim::join);
            coordinator = number;
            return;
        } catch (const Fenced &) {
            throw;
        } catch (const Error &error) {
            if (error.code() != RPM_E_OWNED)
                throw;
            servers.close();
        }
    }
    throw Error(RPM_E_OWNED, "live sessions have all " + std::to_string(count) +
                                 " coordinator numbers: end one (of a file system: unmount it "
                                 "somewhere), or raise Options::coordinators of all programs that "
                                 "use the database, at most " +
                                 std::to_string(kCoordinatorsMax));
}

/* Claims the session's logs and finishes the transactions that its coordinator left unfinished. If
 * a server was started again, recovers the whole database instead: the session tries again. */
void Session::Opening::open()
{
    if (coordinator == kAnyCoordinator)
        open_any();
    else
        servers.open(coordinator, claim);
    DTX_ASSERT(servers.owns(coordinator));
    joined = is_ready(servers);
    if (joined) {
        spares = finish_one(servers, coordinator).spares;
        return;
    }
    servers.close(); /* another session may take this coordinator meanwhile */
    recover_unready(cluster, claim_of_recoverer);
}

void Session::Opening::run()
{
    try {
        open();
    } catch (...) {
        thrown = std::current_exception();
        joined = false;
        servers.close();
    }
}

/* Of several sessions that find that a server was started again, one recovers the database, and the
 * others wait. After half of the time to their deadline they take the recovery over, because that
 * session may hang. */
Session::Opening Session::begin_to_join(Claim claim)
{
    DTX_ASSERT(claim == Claim::join || claim == Claim::rejoin); /* which create the logs */
    DTX_ASSERT(!state_->store.servers.is_open());
    if (!state_->deadline)
        state_->deadline.emplace(state_->cluster.retry_ns());

    const Cluster &cluster = state_->cluster;
    bool any = state_->coordinator == kAnyCoordinator;

    return { cluster, state_->coordinator,
             any ? state_->scheduler.random().below(cluster.options().coordinators) : 0, claim,
             state_->deadline->is_half_over() ? Claim::takeover : Claim::join };
}

/* The session takes over the connections that a successful try has opened. */
void Session::take(Opening &opened)
{
    DTX_ASSERT(opened.joined && !opened.thrown);
    state_->coordinator = opened.coordinator;
    state_->store.servers.adopt(opened.servers);
    state_->store.slots.begin_generation(opened.spares);
    state_->deadline.reset();
    start_numbers();
}

static constexpr uint64_t kDayS = 86400; /* a longer wait has no limit that matters */

/* After a try that may be repeated. Throws its error if none is left, and tells the operator when a
 * second has passed. */
void Session::check_deadline(RetryDeadline &deadline, const Error &error)
{
    if (state_->leaving || deadline.is_over() || now_ns() >= state_->end_waits_ns)
        throw Error(error.code(), error.what());
    if (!deadline.is_notice_due())
        return;

    uint64_t left_s = deadline.left_ns() / 1000000000 + 1;

    state_->cluster.notify(
        error.what() +
        std::string(left_s > kDayS ? " (trying again)"
                                   : " (trying again for up to " + std::to_string(left_s) + " s)"));
}

/* A try has ended. True: the session has joined. Throws if it cannot be tried again. */
bool Session::end_try(Opening &tried)
{
    DTX_ASSERT(state_->deadline && !state_->store.servers.is_open());
    try {
        if (tried.thrown)
            std::rethrow_exception(tried.thrown);
        if (tried.joined)
            take(tried);
    } catch (const Fenced &fenced) {
        check_deadline(*state_->deadline, fenced);
    } catch (const Error &error) {
        if (error.code() != RPM_E_OWNED)
            throw;
        check_deadline(*state_->deadline, error);
    }
    return tried.joined;
}

/* While servers do not answer, or another session has the logs, tries again until the retry
 * deadline. */
void Session::join()
{
    for (;;) {
        Opening opening = begin_to_join(Claim::join);

        opening.run();
        if (end_try(opening))
            break;
        state_->deadline->wait();
    }
}

/* Awaited: makes calls that block. The other coroutines go on meanwhile, because a second thread
 * makes them. With Options::interleave or Options::dial, in tests, the session's thread does: an
 * interleaved run must not depend on when a second thread runs, and a device model may be used only
 * by the thread that made it. Throws what @body throws; Error, RPM_E_NOMEM. */
Task<void> Session::on_second_thread(std::function<void()> body)
{
    if (!may_use_second_thread()) {
        body();
        co_return;
    }

    SecondThread thread(std::move(body));

    co_await readable(thread.fd());
    thread.finish();
}

bool Session::may_use_second_thread() const
{
    return !state_->scheduler.interleaves() && !state_->cluster.options().dial;
}

/* Awaited: pauses before the next try; the other coroutines run meanwhile. Where steps interleave
 * the thread waits, so that a run does not depend on the clock. */
Task<void> Session::pause(RetryDeadline &deadline)
{
    if (state_->scheduler.interleaves())
        deadline.wait();
    else
        co_await state_->scheduler.sleep_until(deadline.next_ns());
}

/* As on_second_thread(), for calls that end with Fenced while a server does not answer or the view
 * is being changed: makes them again until the retry deadline, as a session joins again. */
Task<void> Session::until_answered(std::function<void()> body)
{
    RetryDeadline deadline(state_->cluster.retry_ns());

    for (;;) {
        try {
            co_await on_second_thread(body);
            co_return;
        } catch (const Fenced &fenced) {
            check_deadline(deadline, fenced);
        }
        co_await pause(deadline);
    }
}

/* As join(), for a coroutine: the others run meanwhile. */
Task<void> Session::join_again()
{
    for (;;) {
        Opening opening = begin_to_join(Claim::rejoin);

        co_await on_second_thread([&opening] { opening.run(); });
        if (end_try(opening))
            break;
        co_await pause(*state_->deadline);
    }
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

/* Ends all connections: operations under way end with RPM_E_FENCED, and attempts that began before
 * find that they were fenced. Waits for no server: a stopped one would not answer. */
void Session::leave_servers()
{
    state_->counters.rejoined++;
    state_->store.poll();
    state_->store.servers.drop();
    state_->store.close();
}

uint64_t Session::joined() const
{
    return state_->store.servers.joined();
}

Session::Joining::Joining(State &all) : state(&all)
{
    DTX_ASSERT(!state->tries_to_join);
    state->tries_to_join = true;
    state->joining++;
}

Session::Joining::~Joining()
{
    if (state == nullptr)
        return;
    state->tries_to_join = false;
    state->joins_once = false;
    state->joining--;
    for (std::coroutine_handle<> handle : std::exchange(state->until_joined, {}))
        state->scheduler.wake(handle);
}

/* A single try: if it fails, the next transaction joins. */
Task<void> Session::join_once(Joining joining)
{
    Opening opening = begin_to_join(Claim::rejoin);

    DTX_ASSERT(joining.state == state_.get()); /* no transaction begins meanwhile */
    state_->deadline.reset();
    try {
        co_await on_second_thread([&opening] { opening.run(); });
    } catch (const Error &) { /* no thread is left */
    }
    if (!opening.joined)
        co_return;
    take(opening);
    if (state_->listener != nullptr)
        state_->listener->rejoined(++state_->joins);
}

/* Closes all connections now; the task tries once to join again. */
Task<void> Session::begin_to_join_once()
{
    Joining joining(*state_);

    state_->joins_once = true;
    leave_servers();
    return join_once(std::move(joining));
}

Task<void> Session::until_joined()
{
    while (state_->tries_to_join)
        co_await State::Joined{ *state_ };
}

/* Closes all connections and joins again, after another session fenced this one, a server was lost,
 * or a commit failed half-way. @joined: Servers::joined() when the caller's attempt began. @needed:
 * true: wait until the session has joined. False: the attempt's outcome is known, and returning it
 * must not wait for servers, so another coroutine tries once; if that fails, the next transaction
 * joins. One coroutine joins; those that need it too wait for its end, and no attempt begins
 * meanwhile. */
Task<void> Session::rejoin(uint64_t joined, bool needed)
{
    DTX_ASSERT(joined <= state_->store.servers.joined());
    if (state_->tries_to_join || state_->store.servers.joined() != joined) {
        if (needed)
            co_await until_joined();
        co_return;
    }
    if (!needed) {
        Task<void> once = begin_to_join_once();

        if (may_use_second_thread())
            start(std::move(once));
        else
            co_await once; /* nothing else runs in between, as in a run before */
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
