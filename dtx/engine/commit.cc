/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.cc: the phases of a commit, each by operations on far memory alone.
 *
 * Invariants
 *   a commit takes its locks in the order of addresses; no lock is waited for
 *   a lock is looked at before the version that it protects
 *   no row is touched before the redo record is safe, no lock let go before the rows are
 *   an exception while accesses.begun is set may leave locks: the session joins again, which
 *   frees them
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#include "engine/commit.h"

#include "engine/redo.h"
#include "engine/round.h"
#include <dtx/error.h>

#include <algorithm>
#include <utility>

namespace dtx
{

static constexpr size_t kPatchesAtOnce = 64;
static constexpr uint64_t kDropEvery = 97; /* of the canary that forgets commits */

Commit::Commit(Store &store, Accesses &accesses, const std::vector<uint32_t> &log_servers)
    : store_(store), accesses_(accesses), log_servers_(log_servers), writes_(accesses.space.writes),
      reads_(accesses.space.reads), lsns_(accesses.space.lsns), patches_(accesses.space.patches)
{
    writes_.clear();
    reads_.clear();
    lsns_.clear();
    for (Access *access : accesses.sorted()) {
        if (access->written)
            writes_.push_back(access);
        else if (access->seen)
            reads_.push_back(access);
    }
}

/* A lock that was in somebody's hands. */
bool Commit::is_free(const Access *access)
{
    if (access->word != 0)
        accesses_.obstacle = access->word;
    return access->word == 0;
}

/* Where a round's operations are done at once, the first one in vain is the last one. */
void Commit::begin_lock(Round &round)
{
    bool free = true;

    for (tried_ = 0; free && tried_ < writes_.size(); tried_++) {
        Access *access = writes_[tried_];

        access->word = 0;
        access->current = access->version;
        if (!access->taken && !store_.canary(kCanaryLock))
            round.compare_and_swap(access->address, 0, accesses_.txn, &access->word);
        free = access->word == 0;
    }
    round.then();
    for (size_t i = 0; free && i < writes_.size(); i++)
        if (!writes_[i]->taken)
            round.version(writes_[i]->address, &writes_[i]->current);
}

bool Commit::end_lock()
{
    bool free = true;

    for (size_t i = 0; i < tried_; i++) {
        writes_[i]->locked = is_free(writes_[i]);
        free = free && writes_[i]->locked;
    }
    return free && take_versions();
}

/* Of what is locked: as it was read, if it was. */
bool Commit::take_versions()
{
    for (Access *access : writes_) {
        if (access->seen && access->current != access->version && !store_.canary(kCanaryValidate))
            return false;
        access->version = access->current;
    }
    return true;
}

bool Commit::is_looked_at(const Access *access) const
{
    TableKind kind = store_.cluster().schema().tables()[access->address.table()].kind;

    return !access->taken && !store_.canary(kCanaryValidate) &&
           (!store_.canary(kCanaryPhantom) ||
            (kind != TableKind::buckets && kind != TableKind::nodes));
}

/* A single object is validated as well, unless it is settled: another transaction may have held its
 * lock when it was read and freed it since, and may have read rows older than commits that were
 * acknowledged meanwhile. */
void Commit::begin_validate(Round &round)
{
    bool free = true;

    for (Access *access : reads_) {
        access->word = 0;
        access->current = access->version;
    }
    for (size_t i = 0; free && i < reads_.size(); i++)
        if (is_looked_at(reads_[i])) {
            round.lock_word(reads_[i]->address, &reads_[i]->word);
            free = reads_[i]->word == 0;
        }
    round.then();
    for (size_t i = 0; free && i < reads_.size(); i++)
        if (is_looked_at(reads_[i]))
            round.version(reads_[i]->address, &reads_[i]->current);
}

/* Were the reads one state of the database, even if they have changed since? */
bool Commit::is_settled() const
{
    return reads_.size() == 1 && (reads_.front()->settled || reads_.front()->taken);
}

bool Commit::end_validate()
{
    return std::all_of(reads_.begin(), reads_.end(), [this](const Access *access) {
        return is_free(access) && access->current == access->version;
    });
}

/* While we let others go first, one of them may have found this session fenced and joined again:
 * our locks are gone then, and what is logged has been installed. */
[[noreturn, gnu::cold]] static void fail_joined()
{
    throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
}

inline void Commit::check_joined() const
{
    if (accesses_.joined != store_.joined()) [[unlikely]]
        fail_joined();
}

void Commit::make_versions()
{
    for (Access *access : writes_) {
        ObjectHeader &header = access->header();

        header.version =
            access->version + (store_.canary(kCanaryVersion) && access->version > 0 ? 0 : 1);
        header.writer = accesses_.txn;
        seal(access->image, access->bytes);
    }
}

/* Before the commit locks anything: why a log server will not take the record, or nothing. */
std::optional<Error> Commit::too_big() const
{
    size_t bytes = redo_bytes(writes_);

    for (uint32_t server : log_servers_)
        if (bytes > store_.port(server).record_max())
            return Error(RPM_E_TOOBIG, "a transaction writes " + std::to_string(bytes) +
                                           " bytes; a log record has at most " +
                                           std::to_string(store_.port(server).record_max()));
    return std::nullopt;
}

/* With no lock left, so that the session need not join again. */
Task<> Commit::refuse(Error error)
{
    co_await unlock();
    accesses_.begun = false;
    throw error;
}

/* Into one log. A full one is trimmed. False: all that is in it is still needed, others must end
 * first. */
bool Commit::append(uint32_t server)
{
    const std::vector<unsigned char> &record = accesses_.record;
    Port &port = store_.port(server);
    uint64_t lsn = 0;

    check_joined();
    do {
        store_.remote()++;
        try {
            if (port.append(record.data(), record.size(), pending_.get(), &lsn)) {
                accesses_.maybe_logged = true;
                lsns_.push_back(lsn);
                return true;
            }
        } catch (...) {
            accesses_.maybe_logged |= port.places();
            throw;
        }
    } while (port.trim());
    return false;
}

Task<> Commit::log_rest()
{
    while (lsns_.size() < log_servers_.size())
        if (!append(log_servers_[lsns_.size()]))
            co_await store_.scheduler().turn();
    store_.poll_mapped();
    if (!pending_ || pending_->remaining == 0)
        co_return;
    store_.round_trips()++;
    co_await Scheduler::Wait{ pending_->waiting };
}

/* As far as that goes without waiting. False: the rest is to be waited for. */
bool Commit::log_now()
{
    bool near = std::all_of(log_servers_.begin(), log_servers_.end(),
                            [this](uint32_t server) { return store_.port(server).places(); });

    encode_redo(accesses_.txn, writes_, accesses_.record);
    if (!near)
        pending_ = store_.new_pending();
    while (near && lsns_.size() < log_servers_.size())
        near = append(log_servers_[lsns_.size()]);
    return near;
}

/* The rows of one shard from @first on that go together. */
size_t Commit::take_patches(size_t first)
{
    uint32_t shard = writes_[first]->address.shard();

    patches_.clear();
    for (size_t i = first; i < writes_.size() && patches_.size() < kPatchesAtOnce; i++) {
        const Access *access = writes_[i];

        if (access->address.shard() != shard)
            break;
        patches_.push_back(
            { store_.layout().row_offset(access->address), access->image, access->bytes, 0 });
    }
    return patches_.size();
}

void Commit::begin_install(Round &round)
{
    for (size_t first = 0, n; first < writes_.size(); first += n) {
        uint32_t shard = writes_[first]->address.shard();

        n = take_patches(first);
        for (uint32_t copy = 0; copy < store_.copies(shard).size(); copy++)
            round.write(shard, copy, patches_);
    }
}

void Commit::begin_unlock(Round &round)
{
    for (Access *access : writes_)
        if (std::exchange(access->locked, false) && !store_.canary(kCanaryLock))
            round.compare_and_swap(access->address, accesses_.txn, 0, &access->word);
}

/* Where it takes a round trip to free a lock, the transaction does not wait for it. If the session
 * ends, or is fenced, before the server has got the message, other sessions break the lock like any
 * other of a dead session. */
Task<> Commit::unlock()
{
    Round unlocking(store_, store_.phases().commit);
    auto is_sent = [this](const Access *access) {
        return !store_.port(store_.server_of(access->address.shard(), 0)).places() &&
               store_.send_unlock(access->address, accesses_.txn) == 0;
    };

    for (Access *access : writes_)
        if (access->locked && !store_.canary(kCanaryLock) && is_sent(access))
            access->locked = false;
    begin_unlock(unlocking);
    co_await unlocking.run();
}

/* If all locks are in mapped memory, so that taking them waits for nothing. False: nothing was
 * done. */
bool Commit::unlock_now()
{
    Round unlocking(store_, store_.phases().commit);
    auto is_near = [this](const Access *access) {
        return store_.near(access->address.shard()) != nullptr;
    };

    if (store_.phases().commit == Via::call ||
        !std::all_of(writes_.begin(), writes_.end(), is_near))
        return false;
    begin_unlock(unlocking);
    return true;
}

/* What was logged is where it belongs. */
void Commit::retire()
{
    for (size_t i = 0; i < lsns_.size(); i++)
        store_.port(log_servers_[i]).retire(lsns_[i]);
}

void Commit::trim()
{
    for (uint32_t server : log_servers_)
        if (store_.port(server).wants_trim())
            (void)store_.port(server).trim();
}

Task<> Commit::install()
{
    Round round(store_, store_.phases().commit);

    check_joined();
    begin_install(round);
    co_await round.run();
    check_joined();
}

Task<bool> Commit::give_up()
{
    co_await unlock();
    co_return false;
}

Task<bool> Commit::is_as_read()
{
    Round validating(store_, store_.phases().validate);
    bool holds = store_.canary(kCanaryGiveUp);

    for (Access *access : writes_)
        if (access->seen)
            reads_.push_back(access);
    if (!holds && !is_settled()) {
        if (!store_.behind().empty())
            co_await wait_for_own();
        check_joined();
        accesses_.begun = true;
        begin_validate(validating);
        co_await validating.run();
    }
    holds = holds || is_settled() || end_validate();
    co_await unlock();
    co_return holds;
}

/* Can one message both lock and validate? A server carries out its steps in order, so all locks are
 * held when the first read is validated, if one server has all of them. Of several servers one
 * could validate before another has locked, and two transactions that each write what the other
 * reads could both commit. */
bool Commit::is_one_message() const
{
    const Phases &phases = store_.phases();

    if (writes_.empty() || reads_.empty() || phases.lock != phases.validate ||
        phases.lock == Via::one_sided)
        return false;

    uint32_t server = store_.server_of(writes_.front()->address.shard(), 0);
    auto elsewhere = [this, server](const Access *access) {
        return store_.server_of(access->address.shard(), 0) != server;
    };

    if (phases.lock == Via::fewest && store_.port(server).places())
        return false;
    return store_.canary(kCanaryLookEarly) ||
           (std::none_of(writes_.begin(), writes_.end(), elsewhere) &&
            std::none_of(reads_.begin(), reads_.end(), elsewhere));
}

/* An earlier commit of this session holds the locks of rows that it has not installed on all copies
 * yet: wait until it has freed them. */
Task<> Commit::wait_for_own()
{
    auto is_behind = [this](const Access *access) {
        return (access->seen || access->written) && store_.behind().has(access->address);
    };
    const std::vector<Access *> &all = accesses_.sorted();

    while (std::any_of(all.begin(), all.end(), is_behind))
        co_await store_.wait_behind();
}

/* The record is durable in all logs, so the rows will be installed, by this session or by recovery.
 * The transaction ends here; Behind installs the rows and frees the locks. */
void Commit::leave_behind(Round &installing)
{
    Behind::Commit rest;

    rest.txn = accesses_.txn;
    rest.rows = installing.leave();
    for (Access *access : writes_)
        if (std::exchange(access->locked, false) && !store_.canary(kCanaryLock))
            rest.locked.push_back(access->address);
    for (uint32_t i = 0; i < accesses_.size(); i++)
        if (accesses_[i].freed)
            rest.freed.push_back(accesses_[i].address);
    for (size_t i = 0; i < lsns_.size(); i++)
        rest.records.emplace_back(log_servers_[i], lsns_[i]);
    accesses_.behind = true;
    store_.behind().take(std::move(rest));
}

/* One coroutine for all phases, and another one only where something has to be waited for. */
Task<bool> Commit::run()
{
    bool late = store_.canary(kCanaryLogLate);
    bool drop = store_.canary(kCanaryDropCommit) && accesses_.txn % kDropEvery == 0;
    bool together = is_one_message();
    Round locking(store_, store_.phases().lock);

    if (writes_.empty() && is_settled())
        co_return true;
    if (!store_.behind().empty())
        co_await wait_for_own();
    check_joined();
    if (!writes_.empty()) {
        if (std::optional<Error> error = too_big())
            co_await refuse(*error);
        accesses_.begun = true;
        begin_lock(locking);
        if (together) {
            locking.then();
            begin_validate(locking);
        }
        co_await locking.run();
        if (!end_lock())
            co_return co_await give_up();
    }

    Round validating(store_, store_.phases().validate);

    accesses_.begun = true;
    if (!together)
        begin_validate(validating);
    co_await validating.run();
    if (writes_.empty())
        co_return end_validate();
    if (!end_validate())
        co_return co_await give_up();
    make_versions();
    if (late)
        co_await install();
    if (!drop && !log_servers_.empty() && !log_now())
        co_await log_rest();
    check(pending_ ? pending_->status : 0, "writing a redo record");
    check_joined();
    accesses_.logged = !log_servers_.empty();
    accesses_.maybe_logged = true;

    Round installing(store_, store_.phases().commit);

    if (!late && !drop)
        begin_install(installing);
    if (accesses_.logged && !installing.is_done()) {
        if (store_.canary(kCanaryUnlockEarly))
            co_await unlock();
        co_await installing.send();
        check_joined();
        leave_behind(installing);
        trim();
        co_return true;
    }
    co_await installing.run();
    check_joined();
    accesses_.logged = true;
    retire();

    if (!unlock_now())
        co_await unlock();
    trim();
    co_return true;
}

} // namespace dtx
