/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.cc: attempts from their begin to their end, and what comes between them.
 *
 * Tests: tests/unit/dtx/engine/session_test.cpp
 */
#include "engine/session.h"

#include "engine/backoff.h"
#include "engine/commit.h"
#include "engine/error.h"
#include "engine/hash_index.h"
#include "engine/recover.h"
#include "engine/words.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace dtx
{

static constexpr uint32_t kConflictsOfCanaries = 1000;

struct Session::State {
    State(const Cluster &all, uint32_t number, Listener *who)
        : cluster(all), coordinator(number), listener(who),
          scheduler(all.options().seed * 1024 + number, all.options().interleave),
          store(all, scheduler),
          /* The number that may be under way follows a clock; interleaved steps do not. */
          backoff(all.options().techniques.backoff,
                  all.options().techniques.depth && !scheduler.interleaves())
    {
    }

    const Cluster &cluster;
    uint32_t coordinator;
    Listener *listener;
    Scheduler scheduler;
    Store store;
    Backoff backoff;
    uint32_t under_way = 0; /* transactions that were admitted */
    std::deque<std::coroutine_handle<>> waiting;
    Counters counters;
    std::vector<uint32_t> log_servers;
    std::optional<Patience> patience; /* since it was fenced, or first tried to join */
    bool leaving = false;
    std::vector<std::unique_ptr<Accesses>> accesses; /* of all coroutines */
    uint64_t prefix = 0;
    uint64_t sequence = 0;
    uint64_t stuck_word = 0; /* a lock in our way, and since when */
    uint64_t stuck_since_ns = 0;
};

Session::Session(const Cluster &cluster, uint32_t coordinator, Listener *listener)
    : state_(std::make_unique<State>(cluster, coordinator, listener))
{
    const Options &options = cluster.options();

    if (coordinator >= options.coordinators)
        throw Error(RPM_E_INVAL, "coordinator " + std::to_string(coordinator) + " of " +
                                     std::to_string(options.coordinators));
    state_->store.hand_out = [this](Address word, uint64_t slots) { return hand_out(word, slots); };
    state_->log_servers.reserve(options.replicas); /* commits refer to it */
    join(Claim::join);
}

Session::~Session()
{
    state_->leaving = true;
    return_all_slots();
    state_->store.close();
}

/* Claim our logs and finish what was left under our number, or, where a server was started again,
 * what all have left. */
bool Session::try_to_join(Claim claim)
{
    Store &store = state_->store;

    store.open(state_->coordinator, claim);
    if (is_ready(store)) {
        finish_one(store, state_->coordinator);
        return true;
    }
    store.close();
    /* Of several who find that out, one does it. Should he hang, somebody else does. */
    recover_unready(state_->cluster,
                    state_->patience->is_half_over() ? Claim::takeover : Claim::join);
    return false;
}

void Session::lose_patience(const Error &error)
{
    state_->store.close();
    if (state_->leaving || state_->patience->is_over())
        throw Error(error.code(), error.what());
}

/* Others may be at that too, servers may be away: then wait for them, all coroutines together as
 * long as the session's patience lasts. */
void Session::join(Claim claim)
{
    if (!state_->patience)
        state_->patience.emplace(state_->cluster.patience_ns());
    for (bool joined = false; !joined;) {
        try {
            joined = try_to_join(claim);
        } catch (const Fenced &fenced) {
            lose_patience(fenced);
        } catch (const Error &error) {
            if (error.code() != RPM_E_OWNED)
                throw;
            lose_patience(error);
        }
        if (!joined)
            state_->patience->wait();
    }
    state_->patience.reset();
    start_numbers();
}

/* Those of transactions: a claim is new to one server in one view. */
void Session::start_numbers()
{
    Store &store = state_->store;
    const Placement &placement = store.placement();

    if (state_->cluster.options().durable)
        state_->log_servers = placement.log_servers(state_->coordinator);
    state_->sequence = 0;
    state_->prefix =
        number_prefix(store, state_->coordinator, store.port(placement.first()).epoch());
}

/* Whoever fenced us may have thought us dead, or a server is gone for a while: begin anew. */
void Session::rejoin(uint64_t joined)
{
    if (state_->store.joined() != joined)
        return; /* another coroutine has done so */
    state_->counters.rejoined++;
    state_->store.poll();
    state_->store.close();
    join(Claim::rejoin);
}

bool Session::enter()
{
    if (!state_->waiting.empty() || state_->under_way >= state_->backoff.depth())
        return false;
    state_->under_way++;
    return true;
}

void Session::queue(std::coroutine_handle<> handle)
{
    state_->waiting.push_back(handle);
}

/* Whoever has waited longest first; each has entered before it goes on. */
void Session::leave()
{
    state_->under_way--;
    while (!state_->waiting.empty() && state_->under_way < state_->backoff.depth()) {
        state_->under_way++;
        state_->scheduler.wake(state_->waiting.front());
        state_->waiting.pop_front();
    }
}

Accesses &Session::begin()
{
    Accesses *own = nullptr;

    for (auto &accesses : state_->accesses)
        if (!accesses->busy) {
            own = accesses.get();
            break;
        }
    if (own == nullptr) {
        state_->accesses.push_back(std::make_unique<Accesses>());
        own = state_->accesses.back().get();
        own->lane = static_cast<uint32_t>(state_->accesses.size()) - 1;
    }
    own->busy = true;
    own->txn = state_->prefix | (++state_->sequence & 0xffffffff);
    own->joined = state_->store.joined();
    own->begin_ns = state_->listener != nullptr ? now_ns() : 0;
    return *own;
}

Task<Session::Ending> Session::commit(Accesses &accesses)
{
    Commit commit(state_->store, accesses, state_->log_servers);

    co_return co_await commit.run() ? Ending::commit : Ending::conflict;
}

Task<bool> Session::expect_changed(Accesses &accesses, const char *what, uint32_t conflicts)
{
    Commit commit(state_->store, accesses, state_->log_servers);
    bool unchanged = false;

    /* Without one of the rules what is read may be anything, for a while. */
    if (state_->cluster.options().canary != kCanaryNone && conflicts < kConflictsOfCanaries)
        co_return false;
    try {
        unchanged = co_await commit.is_as_read();
    } catch (const Fenced &) {
        co_return true;
    } catch (...) {
        end(accesses, Ending::abort);
        throw;
    }
    if (!unchanged)
        co_return false;
    end(accesses, Ending::abort);
    throw Error(RPM_E_CORRUPT, what);
}

Session::Ending Session::ending_of(const Accesses &accesses)
{
    if (accesses.logged)
        return Ending::commit;
    return accesses.maybe_logged ? Ending::unknown : Ending::conflict;
}

Status Session::status_of(Ending ending)
{
    return ending == Ending::commit    ? Status::committed
           : ending == Ending::unknown ? Status::unknown
                                       : Status::aborted;
}

bool Session::end(Accesses &accesses, Ending ending)
{
    Counters &counters = state_->counters;
    uint64_t &count = ending == Ending::commit     ? counters.committed
                      : ending == Ending::abort    ? counters.aborted
                      : ending == Ending::conflict ? counters.conflicts
                                                   : counters.unknown;

    count++;
    if (ending != Ending::conflict)
        state_->backoff.done(state_->backoff.is_narrow() ? now_ns() : 0);
    /* What began before a new beginning leaves them to a vacuum: it may have been one. */
    if (accesses.joined == state_->store.joined() && ending != Ending::unknown)
        for (uint32_t i = 0; i < accesses.size(); i++)
            if (ending == Ending::commit ? accesses[i].freed : accesses[i].fresh)
                state_->store.give_back(accesses[i].address);
    if (state_->listener != nullptr)
        state_->listener->ended({ accesses.txn, state_->coordinator, accesses.lane,
                                  accesses.begin_ns, now_ns(), status_of(ending),
                                  accesses.sorted() });
    accesses.clear();
    accesses.busy = false;
    return ending == Ending::conflict;
}

/* One attempt that holds a lock for longer than the lease: its coordinator is dead, or has been
 * stopped. Take over from it. That may be this session as it was before it joined again, if a lock
 * of its was taken after they had been broken. */
void Session::look_after_owner(Obstacle obstacle)
{
    uint64_t now = now_ns();

    if (obstacle.word == kMoved)
        rejoin(state_->store.joined());
    if (obstacle.word == 0 || obstacle.word == kMoved ||
        obstacle.word >> kSequenceBits == state_->prefix >> kSequenceBits)
        return;
    if (obstacle.word != state_->stuck_word) {
        state_->stuck_word = obstacle.word;
        state_->stuck_since_ns = now;
        return;
    }
    if (now - state_->stuck_since_ns < state_->cluster.options().lease_us * 1000)
        return;
    state_->stuck_since_ns = now;
    try {
        state_->cluster.recover(coordinator_of(obstacle.word));
    } catch (const Fenced &) {
        /* Somebody else is taking over from it. */
    } catch (const Error &error) {
        if (error.code() != RPM_E_OWNED && error.code() != RPM_E_REFUSED)
            throw; /* it cannot be fenced yet, or a server is away: later */
    }
}

Task<void> Session::back_off(uint32_t conflicts)
{
    uint64_t now = now_ns();
    Obstacle obstacle = std::exchange(state_->store.obstacle, Obstacle{});

    if (state_->cluster.options().conflicts_max != 0 &&
        conflicts > state_->cluster.options().conflicts_max)
        throw Error(RPM_E_BUSY,
                    "a transaction was in others' way " + std::to_string(conflicts) + " times");
    look_after_owner(obstacle);
    co_await state_->scheduler.sleep_until(
        now + state_->backoff.wait_ns(conflicts, now, state_->scheduler.chance()));
}

/* Slots of a table from its word, by a transaction of its own: those that were returned, or else
 * new ones. */
Task<std::vector<uint64_t>> Session::hand_out(Address word, uint64_t many)
{
    uint64_t room = state_->cluster.layout().table(static_cast<uint32_t>(word.slot())).slots;
    uint64_t first = first_slot(state_->cluster.schema(), word.slot());
    std::vector<uint64_t> slots;
    uint64_t era = 0;
    auto body = [&, this](Txn &txn) -> Task<bool> {
        Store &store = state_->store;

        era = store.era();

        Access *access = co_await store.fetch(txn.accesses_, word);
        Word &state = access->as<Word>();

        slots.clear();
        for (; state.returned != 0 && slots.size() < many;) {
            Address next =
                Address::of(word.shard(), static_cast<uint32_t>(word.slot()), state.returned - 1);

            /* The word and the slot were read at different times, and need not belong together. */
            if (next.slot() >= room)
                throw Inconsistent{};

            Access *free = co_await store.fetch(txn.accesses_, next);

            if (free->valid())
                throw Inconsistent{};
            slots.push_back(next.slot());
            state.returned = free->header().key;
        }
        /* What was never handed out nobody has written to: one of them will do to see that the word
         * is not an old one. */
        if (slots.size() < many && first + state.handed_out < room) {
            Address next = Address::of(word.shard(), static_cast<uint32_t>(word.slot()),
                                       first + state.handed_out);

            if ((co_await store.fetch(txn.accesses_, next))->version != 0)
                throw Inconsistent{};
        }
        for (; slots.size() < many && first + state.handed_out < room; state.handed_out++)
            slots.push_back(first + state.handed_out);
        access->header().flags = kObjectValid;
        access->written = true;
        co_return !slots.empty();
    };
    Status status = (co_await attempt(body, false)).status;

    /* They may be nobody's, or somebody else's. */
    if (status == Status::unknown || era != state_->store.era())
        throw Conflict{};
    co_return slots;
}

void Session::return_slots(Address word, const std::vector<uint64_t> &slots, uint64_t era)
{
    auto body = [&, this](Txn &txn) -> Task<bool> {
        Store &store = state_->store;

        if (store.era() != era)
            co_return false;

        Access *access = co_await store.fetch(txn.accesses_, word);
        Word &state = access->as<Word>();

        for (uint64_t slot : slots) {
            Access *free = co_await store.fetch(
                txn.accesses_, Address::of(word.shard(), static_cast<uint32_t>(word.slot()), slot));

            free->header().key = state.returned;
            free->header().flags = 0;
            free->written = true;
            state.returned = slot + 1;
        }
        access->written = true;
        co_return true;
    };

    (void)transact_now(body);
}

/* What this session has kept. If it cannot, because a server is gone, they stay unused. */
void Session::return_all_slots()
{
    constexpr size_t kAtOnce = 64;
    const Cluster &cluster = state_->cluster;
    uint64_t era = state_->store.era(); /* after it they are others' */

    if (!state_->store.is_open())
        return;

    try {
        for (uint32_t shard = 0; shard < cluster.shards(); shard++)
            for (uint32_t table = 1; table < cluster.layout().tables(); table++) {
                std::vector<uint64_t> all = state_->store.take_all(shard, table);

                for (size_t i = 0; i < all.size(); i += kAtOnce)
                    return_slots(
                        Address::of(shard, kWordsTable, table),
                        { all.begin() + static_cast<ptrdiff_t>(i),
                          all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), i + kAtOnce)) },
                        era);
            }
    } catch (...) {
        return;
    }
}

void Session::run(std::vector<Task<void>> tasks)
{
    state_->scheduler.run(tasks,
                          [this](uint64_t idle_until_ns) { state_->store.poll(idle_until_ns); });
}

Scheduler::Turn Session::turn()
{
    return state_->scheduler.turn();
}

Store &Session::store()
{
    return state_->store;
}

const Counters &Session::counters() const
{
    state_->counters.remote = state_->store.remote();
    return state_->counters;
}

const Cluster &Session::cluster() const
{
    return state_->cluster;
}

} // namespace dtx
