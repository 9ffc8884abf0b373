/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.cc: admit transactions, run attempts, decide what their errors mean, back off.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp
 */
#include <dtx/session.h>

#include "engine/base/assert.h"
#include "engine/recovery/recover.h"
#include "engine/store/operation_batch.h"
#include "engine/txn/commit.h"
#include "engine/txn/session_state.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr uint32_t kConflictsOfCanaries = 1000;
static constexpr uint32_t kTransactionsAtOnce = 64; /* in mapped memory: about 100 us */

Session::Session(const Cluster &cluster, uint32_t coordinator, Listener *listener)
    : state_(std::make_unique<State>(cluster, coordinator, listener))
{
    const Options &options = cluster.options();

    if (coordinator >= options.coordinators && coordinator != kAnyCoordinator)
        throw Error(RPM_E_INVAL, "coordinator " + std::to_string(coordinator) + ", expected 0 to " +
                                     std::to_string(options.coordinators - 1));
    state_->store.slots.hand_out = [this](Address head, uint64_t n) { return hand_out(head, n); };
    state_->log_servers.reserve(options.replicas); /* commits refer to it */
    join();
}

Session::~Session()
{
    state_->leaving = true;
    end_joining();
    return_all_slots();
    trim_logs();
    state_->store.close();
}

/* Runs join_once(), which the session may have started, to its end. */
void Session::end_joining()
{
    try {
        if (state_->joins_once)
            run({});
    } catch (...) { /* what coroutines of the program have thrown */
    }
}

/* When a session ends, its rows are installed, and its records are not needed any more, except to
 * name slots that it could not return: damage to them would keep the logs from being taken over. If
 * a server does not answer, they stay. */
void Session::trim_logs()
{
    Servers &servers = state_->store.servers;

    DTX_ASSERT(state_->leaving);
    for (uint32_t server = 0; server < servers.count(); server++) {
        try {
            if (servers.is_open() && servers.connection(server).has_log() &&
                servers.connection(server).note(state_->store.slots.owned()))
                (void)servers.connection(server).trim();
        } catch (const Error &) {
        }
    }
}

/* Each attempt gets a number of its own. When a sixteenth of the numbers of a claim is left, the
 * session admits transactions one at a time, and the first that runs alone claims the logs again,
 * for new numbers. */
bool Session::may_enter() const
{
    return state_->under_way < state_->backoff.depth() &&
           (state_->under_way == 0 || state_->sequence < state_->numbers - state_->numbers / 16);
}

bool Session::wants_numbers() const
{
    return state_->under_way == 1 && state_->sequence >= state_->numbers - state_->numbers / 16;
}

bool Session::enter()
{
    if (!state_->waiting.empty() || !may_enter())
        return false;
    state_->under_way++;
    return true;
}

void Session::queue(std::coroutine_handle<> handle)
{
    DTX_ASSERT(handle);
    state_->waiting.push_back(handle);
}

/* Admits the coroutines that have waited longest. */
void Session::leave()
{
    DTX_ASSERT(state_->under_way > 0);
    state_->under_way--;
    while (!state_->waiting.empty() && may_enter()) {
        state_->under_way++;
        state_->scheduler.wake(state_->waiting.front());
        state_->waiting.pop_front();
    }
}

bool Session::is_turn_over()
{
    uint64_t pass = state_->scheduler.passes();

    if (std::exchange(state_->pass, pass) != pass)
        state_->ended_in_pass = 0;
    return ++state_->ended_in_pass >= kTransactionsAtOnce;
}

/* If the numbers are used up, or installing the rows of a commit failed, the session joins again
 * first, which fences the other transactions under way. */
bool Session::may_begin() const
{
    return state_->joining == 0 && state_->sequence < state_->numbers &&
           !state_->store.installs.failed();
}

Task<void> Session::prepare_to_begin()
{
    DTX_ASSERT(!may_begin());
    while (state_->joining > 0)
        if (state_->tries_to_join)
            co_await until_joined();
        else
            co_await turn(); /* a coroutine waits for commits that are installing */
    if (!may_begin())
        co_await rejoin_after_commits(state_->store.servers.joined(), true);
}

ReadWriteSet &Session::begin()
{
    ReadWriteSet *own = nullptr;

    for (auto &set : state_->sets)
        if (!set->busy) {
            own = set.get();
            break;
        }
    if (own == nullptr) {
        state_->sets.push_back(std::make_unique<ReadWriteSet>());
        own = state_->sets.back().get();
        own->number = static_cast<uint32_t>(state_->sets.size()) - 1;
    }
    DTX_ASSERT(own->size() == 0 && !own->begun && !own->maybe_logged && !own->queued);
    DTX_ASSERT(state_->sequence < state_->numbers);
    own->busy = true;
    own->txn = state_->prefix | ++state_->sequence;
    own->joined = state_->store.servers.joined();
    own->begin_ns = state_->listener != nullptr ? now_ns() : 0;
    return *own;
}

Session::BodyResult Session::result_after(const Inconsistent &found, uint32_t conflicts,
                                          std::exception_ptr &thrown)
{
    /* With a canary, inconsistent reads are expected: try again a few times. */
    if (state_->cluster.options().canary != kCanaryNone && conflicts < kConflictsOfCanaries)
        return BodyResult::run_again;
    thrown = std::make_exception_ptr(Error(RPM_E_CORRUPT, found.what));
    return BodyResult::give_up;
}

static bool has_locks(ReadWriteSet &set)
{
    for (uint32_t i = 0; i < set.size(); i++)
        if (set[i].locked)
            return true;
    return false;
}

/* Ends an attempt. A commit that throws may have left locks: the session joins again, which
 * installs logged rows and frees the locks. If only some logs may have the record of the commit,
 * the session joins again at once, to find out whether the record is a commit. Else the outcome is
 * known before, and an error of joining again must not replace it. */
Task<bool> Session::conclude(ReadWriteSet &set, BodyResult result, std::exception_ptr thrown,
                             Progress &progress)
{
    Ending ending = result == BodyResult::fail ? Ending::abort : Ending::conflict;
    bool holds = false;
    bool rejoins = result == BodyResult::join_again || result == BodyResult::fail;
    std::exception_ptr error; /* of the commit; not one that joining again repairs */

    /* The locks have the number of the claim under which the attempt began. */
    DTX_ASSERT(set.joined != state_->store.servers.joined() ||
               set.txn >> kSequenceBits == state_->prefix >> kSequenceBits);
    try {
        if (result == BodyResult::commit || result == BodyResult::give_up ||
            (result == BodyResult::run_again && set.begun)) {
            Commit commit(state_->store, set, state_->log_servers);

            if (result == BodyResult::commit)
                holds = co_await commit.run();
            else if (result == BodyResult::give_up)
                holds = co_await commit.is_as_read();
            else
                holds = co_await commit.give_up();
            if (holds)
                ending = result == BodyResult::commit ? Ending::commit : Ending::abort;
        }
    } catch (const Fenced &) {
        ending = ending_of(set);
        rejoins = true;
    } catch (...) {
        ending = ending_of(set);
        rejoins = set.begun;
        error = std::current_exception();
    }
    if (ending == Ending::unknown && state_->cluster.options().durable)
        ending = co_await find_out(set);
    if (ending == Ending::conflict && error) {
        ending = Ending::abort;
        thrown = error;
    }

    DTX_ASSERT(rejoins || !has_locks(set)); /* no later attempt would free them */
    DTX_ASSERT(ending != Ending::commit || set.logged || set.space.writes.empty());
    set.maybe_logged = set.logged || ending == Ending::unknown;

    BlockingLock blocking_lock = set.blocking_lock;
    uint64_t joined = set.joined;
    bool again = end(set, ending, holds || ending == Ending::commit);

    progress.outcome.status = status_of(ending);
    progress.outcome.conflicts += again ? 1 : 0;
    /* The error may be that of a server that has died. With logs, recovery makes the other commits
     * whole, so the session does not wait until they have met the error too. */
    if (rejoins && state_->cluster.options().durable)
        co_await rejoin(joined, again);
    else if (rejoins)
        co_await rejoin_after_commits(joined, again);
    if (ending == Ending::abort && thrown)
        std::rethrow_exception(thrown);
    if (again)
        co_await back_off(progress, blocking_lock, joined);
    co_return again;
}

/* Reads the objects that a commit may have written, when its session has joined again: recovery has
 * then written all of them, or none and never will (recovery/recover.cc). True: one is as the
 * commit has written it. False: one is still older, or another transaction has made the version
 * that the commit would have made. Nothing: other transactions have written all of them since. */
static Task<std::optional<bool>> has_written(Store &store, ReadWriteSet &set)
{
    const std::vector<Access *> &writes = set.space.writes;
    OperationBatch batch(store.servers, store.servers.phases().execute);
    std::vector<std::vector<unsigned char>> found;

    DTX_ASSERT(set.joined != store.servers.joined());
    for (const Access *access : writes) {
        found.emplace_back(access->bytes);
        batch.read(access->address, found.back().data(), access->bytes);
    }
    co_await batch.run();
    for (size_t i = 0; i < writes.size(); i++) {
        const ObjectHeader &header = header_of(found[i].data());
        uint64_t version = writes[i]->header().version;
        bool is_own = header.version == version && header.writer == set.txn;

        if (!is_whole(found[i].data(), writes[i]->bytes) || header.version > version)
            continue; /* torn: another session is writing it */
        co_return is_own;
    }
    co_return std::nullopt;
}

/* Joins again and finds out whether an attempt, whose record some of the logs may have, is
 * committed. Unknown if the session cannot join again, or if other transactions have written all of
 * the attempt's rows since. */
Task<Session::Ending> Session::find_out(ReadWriteSet &set)
{
    RetryDeadline deadline(state_->cluster.retry_ns());
    uint64_t joined = set.joined;

    DTX_ASSERT(set.maybe_logged && !set.logged);
    do {
        try {
            co_await rejoin(joined, true);
            joined = state_->store.servers.joined();
            if (!state_->store.servers.is_open())
                continue; /* another coroutine tried to join, and could not */

            std::optional<bool> written = co_await has_written(state_->store, set);

            if (!written)
                break;
            set.logged = *written;
            co_return *written ? Ending::commit : Ending::conflict;
        } catch (const Fenced &) { /* by another session, or with a server, after it had joined */
        } catch (const Error &) {
            break;
        }
    } while (!deadline.is_over() && now_ns() < state_->end_waits_ns);
    co_return Ending::unknown;
}

Session::Ending Session::ending_of(const ReadWriteSet &set)
{
    if (set.logged)
        return Ending::commit;
    return set.maybe_logged ? Ending::unknown : Ending::conflict;
}

Status Session::status_of(Ending ending)
{
    return ending == Ending::commit    ? Status::committed
           : ending == Ending::unknown ? Status::unknown
                                       : Status::aborted;
}

/* Guesses where the rows are that a committed transaction has inserted. */
static void remember_fresh(Store &store, ReadWriteSet &set)
{
    for (uint32_t i = 0; i < set.size(); i++) {
        TableKind kind = store.servers.cluster().schema().tables()[set[i].address.table()].kind;

        if (set[i].fresh && set[i].valid() &&
            (kind == TableKind::hash || kind == TableKind::ordered))
            store.guesses.put(set[i].header().key, set[i].address);
    }
}

bool Session::end(ReadWriteSet &set, Ending ending, bool holds)
{
    Counters &counters = state_->counters;
    uint64_t &count = ending == Ending::commit     ? counters.committed
                      : ending == Ending::abort    ? counters.aborted
                      : ending == Ending::conflict ? counters.conflicts
                                                   : counters.unknown;

    /* Also if the listener throws: the session would wait for the attempt for ever. */
    struct Release {
        explicit Release(ReadWriteSet &all) : set(all) {}
        ~Release()
        {
            set.clear();
            set.busy = false;
        }
        ReadWriteSet &set;
    } release(set);

    DTX_ASSERT(set.busy);
    DTX_ASSERT(!set.logged || ending == Ending::commit);
    DTX_ASSERT(!set.maybe_logged || ending == Ending::commit || ending == Ending::unknown);
    count++;
    if (ending != Ending::conflict)
        state_->backoff.done(state_->backoff.is_narrow() ? now_ns() : 0);
    /* If the session has joined again since the attempt began, a vacuum may have returned these
     * slots already. */
    if (set.joined == state_->store.servers.joined() && ending != Ending::unknown)
        for (uint32_t i = 0; i < set.size(); i++)
            if (ending == Ending::commit ? set[i].freed && !set.queued : set[i].fresh)
                state_->store.slots.give_back(set[i].address);
    if (ending == Ending::commit)
        remember_fresh(state_->store, set);
    if (state_->listener != nullptr)
        state_->listener->ended({ set.txn, state_->coordinator, set.number, set.begin_ns, now_ns(),
                                  status_of(ending), holds, set.sorted() });
    return ending == Ending::conflict;
}

bool Session::is_under_way(uint64_t txn) const
{
    return state_->store.installs.has(txn) ||
           std::any_of(state_->sets.begin(), state_->sets.end(),
                       [txn](const auto &own) { return own->busy && own->txn == txn; });
}

/* Does the attempt hold the lock now? The word that caused the conflict was read earlier, on a busy
 * machine much earlier, and the owner may have freed the lock since. If the coordinator's logs were
 * claimed since, and its transactions finished, the lock does not count: this frees it. False also
 * if a message that this session has sent may still free the lock, and if the server does not
 * answer: then the next attempt finds that out. */
Task<bool> Session::is_held(BlockingLock lock)
{
    Store &store = state_->store;
    uint32_t coordinator = coordinator_of(lock.attempt);
    uint64_t &claim = state_->claims[coordinator];
    uint64_t word = 0;

    /* An attempt that is under way frees its lock itself. */
    DTX_ASSERT(lock.attempt != 0 && !is_under_way(lock.attempt));
    try {
        OperationBatch batch(store.servers, store.servers.phases().execute);

        batch.lock_word(lock.object, &word);
        batch.claim_word(lock.object.shard(), coordinator, &claim);
        co_await batch.run();
        if (word == lock.attempt && claim_of(word) != claim) {
            OperationBatch freeing(store.servers, store.servers.phases().execute);

            freeing.compare_and_swap(lock.object, lock.attempt, 0, &word);
            co_await freeing.run();
            co_return false;
        }
    } catch (const Error &) {
        co_return false;
    }
    co_return word == lock.attempt &&
        (coordinator_of(word) != state_->coordinator ||
         store.servers.primary(lock.object.shard()).is_in_order() || store.unlocks.empty());
}

/* Called after a conflict with a lock that another attempt held, by an attempt that began at
 * @joined. Frees the lock if the owner's claim is not the one whose locks count. If the owner's
 * connection is closed, or it has held the lock for longer than the lease, this session takes over
 * from its coordinator. If the attempt is one of this session and not under way any more, this
 * session joins again, after which the lock does not count. Returns whether the conflict counts for
 * conflicts_max: false if the same attempt still holds the lock within its lease. */
Task<bool> Session::handle_lock_owner(BlockingLock lock, uint64_t joined)
{
    Servers &servers = state_->store.servers;
    uint32_t coordinator = coordinator_of(lock.attempt);
    bool own = coordinator == state_->coordinator;

    if (lock.attempt == kMoved)
        co_await rejoin(joined, true);
    if (lock.attempt == 0 || lock.attempt == kMoved || (own && is_under_way(lock.attempt)))
        co_return true;
    if (coordinator >= kCoordinatorsMax)
        throw Error(RPM_E_CORRUPT, "the lock of " + object_name(state_->cluster, lock.object) +
                                       " names coordinator " + std::to_string(coordinator) +
                                       ", expected 0 to " + std::to_string(kCoordinatorsMax - 1) +
                                       ": the lock word is damaged; stop all programs that use the "
                                       "database, then dtx-check recover, which frees all locks");

    Lease::Verdict verdict = state_->lease.met(lock.attempt, now_ns());
    bool over = verdict == Lease::Verdict::over;
    bool asks = over || verdict == Lease::Verdict::ask;
    bool looks = asks || claim_of(lock.attempt) != state_->claims[coordinator];
    bool held = false;

    joined = servers.joined();
    if (looks)
        held = co_await is_held(lock);

    bool acts = held && asks && servers.joined() == joined;

    if (acts && own) {
        co_await rejoin_after_commits(joined, true);
    } else if (acts && !state_->takes_over) { /* one at a time: it connects to all servers */
        co_await take_over(coordinator, over ? Claim::takeover : Claim::inherit);
    }
    co_return verdict == Lease::Verdict::fresh || over;
}

/* Completes the coordinator's transactions and frees its locks. With Claim::inherit only if its
 * session is disconnected: the second thread first asks the first server of its log, because that
 * is cheaper than connecting to all servers. A session that was joining again at that time may have
 * transactions under way by now, which must not be fenced: recover_one() checks again. The other
 * coroutines go on meanwhile; one that meets a lock of a dead session waits and tries again. */
Task<void> Session::take_over(uint32_t coordinator, Claim claim)
{
    struct Under {
        Under(State &all, uint32_t number) : state(all), coordinator(number)
        {
            state.takes_over = true;
        }
        ~Under()
        {
            state.takes_over = false;
            if (!owner_lives)
                state.claims[coordinator] = 0; /* its claim may have changed: read it again */
        }
        State &state;
        uint32_t coordinator;
        bool owner_lives = false;
    };

    DTX_ASSERT(coordinator != state_->coordinator); /* it would fence itself: rejoin() instead */
    DTX_ASSERT(!state_->takes_over);

    Under under(*state_, coordinator);
    const Cluster &cluster = state_->cluster;
    uint32_t server = state_->store.servers.placement().log_servers(coordinator).front();

    try {
        co_await on_second_thread([&cluster, &under, server, coordinator, claim] {
            under.owner_lives =
                claim == Claim::inherit && !is_disconnected(cluster, server, coordinator);
            if (!under.owner_lives)
                (void)recover_one(cluster, coordinator, claim);
        });
    } catch (const Fenced &fenced) {
        /* Another session is taking over from it, or a server does not answer: the session tries
         * again after its next conflict. */
        if (fenced.code() != RPM_E_FENCED)
            state_->cluster.notify(fenced.what());
    } catch (const Error &error) {
        if (error.code() != RPM_E_OWNED) /* the owner is connected, or cannot be fenced yet */
            throw;
    }
}

Task<void> Session::back_off(Progress &progress, BlockingLock blocking_lock, uint64_t joined)
{
    uint64_t now = now_ns();
    uint32_t most = state_->cluster.options().conflicts_max;
    uint32_t conflicts = progress.outcome.conflicts;

    DTX_ASSERT(progress.outcome.status == Status::aborted); /* the body runs again */
    co_await until_joined();
    if (state_->store.installs.failed())
        co_await rejoin_after_commits(state_->store.servers.joined(), false);

    bool counts = co_await handle_lock_owner(blocking_lock, joined);

    progress.counted += counts ? 1 : 0;
    if (most != 0 && progress.counted > most)
        throw Error(RPM_E_BUSY, "aborted after " + std::to_string(conflicts) +
                                    " conflicts (conflicts_max " + std::to_string(most) +
                                    "); raise the limit, or touch fewer rows at once");
    co_await state_->scheduler.sleep_until(
        now + state_->backoff.wait_ns(conflicts, state_->lease.is_long(blocking_lock.attempt), now,
                                      state_->scheduler.random()));
}

Task<Life> Session::inherit(uint32_t coordinator)
{
    Life life = Life::alive;

    co_await until_answered([&] { life = state_->cluster.inherit(coordinator); });
    co_return life;
}

Task<void> Session::recover(uint32_t coordinator)
{
    co_await until_answered([&] { (void)state_->cluster.recover(coordinator); });
}

Scheduler::Turn Session::turn()
{
    return state_->scheduler.turn();
}

Scheduler::Readable Session::readable(int fd)
{
    return state_->scheduler.readable(fd);
}

Scheduler::Sleep Session::sleep_until(uint64_t until_ns)
{
    return state_->scheduler.sleep_until(until_ns);
}

Store &Session::store()
{
    return state_->store;
}

void Session::end_waits_at(uint64_t until_ns)
{
    state_->end_waits_ns = until_ns;
}

const Counters &Session::counters() const
{
    Traffic traffic = state_->store.servers.traffic();

    state_->counters.remote = state_->store.servers.remote();
    state_->counters.mended = state_->store.servers.mended();
    state_->counters.round_trips = state_->store.servers.round_trips();
    state_->counters.messages = traffic.messages;
    state_->counters.sent_bytes = traffic.sent_bytes;
    state_->counters.received_bytes = traffic.received_bytes;
    return state_->counters;
}

uint64_t Session::rejoined() const
{
    return state_->counters.rejoined;
}

uint32_t Session::coordinator() const
{
    return state_->coordinator;
}

const Cluster &Session::cluster() const
{
    return state_->cluster;
}

} // namespace dtx
