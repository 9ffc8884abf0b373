/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.cc: the phases of a commit, each by operations on remote memory alone.
 *
 * Invariants
 *   a commit takes its locks in the order of addresses; it waits for no lock
 *   a commit reads a lock before the version that the lock protects
 *   no row is installed before the redo record is durable in all its logs
 *   no lock is freed before the rows are installed
 *   an exception while set.begun is set may leave locks: the session joins again, which
 *   frees them
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#include "engine/txn/commit.h"

#include "engine/base/assert.h"
#include "engine/format/redo.h"
#include "engine/format/txn_number.h"
#include "engine/store/operation_batch.h"
#include <dtx/error.h>

#include <algorithm>
#include <utility>

namespace dtx
{

static constexpr size_t kPatchesAtOnce = 64;
static constexpr uint64_t kDropEvery = 97; /* of kCanaryDropCommit */

Commit::Commit(Store &store, ReadWriteSet &set, const std::vector<uint32_t> &log_servers)
    : store_(store), set_(set), log_servers_(log_servers), writes_(set.space.writes),
      reads_(set.space.reads), spares_(set.space.spares), lsns_(set.space.lsns),
      patches_(set.space.patches)
{
    DTX_ASSERT(!set.maybe_logged && !set.logged); /* an attempt commits once */
    writes_.clear();
    reads_.clear();
    lsns_.clear();
    spares_ = set.handed_out;
    for (Access *access : set.sorted()) {
        DTX_ASSERT(access->written || !access->locked); /* else the lock would not be freed */
        DTX_ASSERT(access->written || !access->freed);  /* the slot of a row that stays */
        if (access->written)
            writes_.push_back(access);
        else if (access->seen)
            reads_.push_back(access);
        if (access->freed)
            spares_.push_back({ access->address, 0 }); /* make_versions() sets the version */
    }
}

/* Was the lock free? If not, remembers the transaction that held it. */
bool Commit::is_free(const Access *access)
{
    if (access->word != 0)
        set_.blocking_lock = { access->address, access->word };
    return access->word == 0;
}

/* In mapped memory an operation completes when it is added to the batch: then stop at the first
 * lock that is not free. */
void Commit::begin_lock(OperationBatch &batch)
{
    bool free = true;

    /* A session that finds the lock finishes the transaction from this coordinator's logs. */
    DTX_ASSERT(store_.servers.owns(coordinator_of(set_.txn)));
    DTX_ASSERT(set_.joined == store_.servers.joined());
    for (tried_ = 0; free && tried_ < writes_.size(); tried_++) {
        Access *access = writes_[tried_];

        DTX_ASSERT(access->locked == access->taken);
        DTX_ASSERT(tried_ == 0 || writes_[tried_ - 1]->address < access->address);
        access->word = 0;
        access->current = access->version;
        if (!access->taken && !store_.servers.canary(kCanaryLock))
            batch.compare_and_swap(access->address, 0, set_.txn, &access->word);
        free = access->word == 0;
    }
    batch.then();
    for (size_t i = 0; free && i < writes_.size(); i++)
        if (!writes_[i]->taken)
            batch.version(writes_[i]->address, &writes_[i]->current);
}

bool Commit::end_lock()
{
    bool free = true;

    DTX_ASSERT(tried_ <= writes_.size());
    for (size_t i = 0; i < tried_; i++) {
        writes_[i]->locked = is_free(writes_[i]);
        free = free && writes_[i]->locked;
    }
    DTX_ASSERT(!free || tried_ == writes_.size()); /* else some are not locked */
    return free && take_versions();
}

/* Notes the current versions of locked objects. False: an object has changed since it was read. */
bool Commit::take_versions()
{
    for (Access *access : writes_) {
        DTX_ASSERT(access->locked); /* else another transaction may change it now */
        if (access->seen && access->current != access->version &&
            !store_.servers.canary(kCanaryValidate))
            return false;
        access->version = access->current;
    }
    return true;
}

bool Commit::is_validated(const Access *access) const
{
    TableKind kind = store_.servers.cluster().schema().tables()[access->address.table()].kind;

    return !access->taken && !store_.servers.canary(kCanaryValidate) &&
           (!store_.servers.canary(kCanaryPhantom) ||
            (kind != TableKind::buckets && kind != TableKind::nodes));
}

/* A transaction that read a single object is validated too, unless the read is settled: otherwise
 * the version that it read may not be the newest committed one, because another transaction held
 * the object's lock at that time. */
void Commit::begin_validate(OperationBatch &batch)
{
    bool free = true;

    for (Access *access : reads_) {
        DTX_ASSERT(access->locked == access->taken); /* and those are not validated */
        access->word = 0;
        access->current = access->version;
    }
    for (size_t i = 0; free && i < reads_.size(); i++)
        if (is_validated(reads_[i])) {
            batch.lock_word(reads_[i]->address, &reads_[i]->word);
            free = reads_[i]->word == 0;
        }
    batch.then();
    for (size_t i = 0; free && i < reads_.size(); i++)
        if (is_validated(reads_[i]))
            batch.version(reads_[i]->address, &reads_[i]->current);
}

/* Is the version of the transaction's only read known to have been committed and the newest one
 * when it was read, so that it needs no validation? */
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

/* While this coroutine waited, another one may have found the session fenced and joined again: then
 * the locks of this commit are free, and its redo record, if there is one, was applied. */
[[noreturn, gnu::cold]] static void fail_joined()
{
    throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
}

inline void Commit::check_joined() const
{
    if (set_.joined != store_.servers.joined()) [[unlikely]]
        fail_joined();
}

void Commit::make_versions()
{
    DTX_ASSERT(!set_.maybe_logged); /* rows and record have the same images */
    for (Access *access : writes_) {
        ObjectHeader &header = access->header();

        DTX_ASSERT(access->locked);
        header.version =
            store_.servers.canary(kCanaryVersion) && access->version > 0
                ? access->version
                : next_version(store_.servers.cluster(), access->address, access->version);
        header.writer = set_.txn;
        seal(access->image, access->bytes);
    }
    for (Spare &spare : std::span(spares_).subspan(set_.handed_out.size()))
        spare.version = set_.find(spare.address)->header().version;
}

/* Called before the commit takes locks: the error of a log server that cannot take so large a
 * record, or nullopt. */
std::optional<Error> Commit::too_big() const
{
    size_t bytes = redo_bytes(writes_, spares_.size());

    for (uint32_t server : log_servers_)
        if (bytes > store_.servers.connection(server).record_max())
            return Error(RPM_E_TOOBIG,
                         "redo record of " + std::to_string(bytes) + " bytes, maximum " +
                             std::to_string(store_.servers.connection(server).record_max()) +
                             "; write fewer rows in one transaction, or create the database with "
                             "larger logs (log_bytes)");
    return std::nullopt;
}

/* Frees the locks and throws @error. The session need not join again. */
Task<> Commit::refuse(Error error)
{
    DTX_ASSERT(!set_.maybe_logged);
    co_await unlock();
    set_.begun = false;
    throw error;
}

/* Append the record to one log, and trim the log if it is full. False: all records in it are still
 * needed, so other commits of this session must end first. */
bool Commit::append(uint32_t server)
{
    const std::vector<unsigned char> &record = set_.record;
    ServerConnection &connection = store_.servers.connection(server);
    uint64_t lsn = 0;

    check_joined();
    DTX_ASSERT(lsns_.size() < log_servers_.size());
    do {
        store_.servers.remote()++;
        try {
            if (connection.append(record.data(), record.size(), pending_.get(), &lsn)) {
                set_.maybe_logged = true;
                lsns_.push_back(lsn);
                return true;
            }
        } catch (...) {
            set_.maybe_logged |= connection.is_mapped();
            throw;
        }
    } while (connection.trim() || connection.trim_note());
    return false;
}

Task<> Commit::log_rest()
{
    while (lsns_.size() < log_servers_.size())
        if (!append(log_servers_[lsns_.size()])) {
            if (store_.installs.failed())
                throw Fenced(RPM_E_LOST, "a log is full, and cannot be trimmed before the session "
                                         "joins again: a server did not take rows that its records "
                                         "have");
            co_await store_.servers.scheduler().turn();
        }
    store_.servers.poll_mapped();
    if (!pending_ || pending_->remaining == 0)
        co_return;
    store_.servers.round_trips()++;
    co_await Scheduler::Wait{ pending_->waiting };
}

/* Appends the record to the logs if all of them are in mapped memory. False: log_rest() has to
 * append to the others, and wait. */
bool Commit::log_now()
{
    bool mapped = std::all_of(log_servers_.begin(), log_servers_.end(), [this](uint32_t server) {
        return store_.servers.connection(server).is_mapped();
    });

    DTX_ASSERT(lsns_.empty()); /* each log gets the record once */
    encode_redo(set_.txn, writes_, spares_, set_.record);
    if (!mapped)
        pending_ = store_.servers.new_pending();
    while (mapped && lsns_.size() < log_servers_.size())
        mapped = append(log_servers_[lsns_.size()]);
    return mapped;
}

/* Puts the rows of one shard, from @first on, that fit into one call into patches_. Returns how
 * many.
 */
size_t Commit::take_patches(size_t first)
{
    DTX_ASSERT(first < writes_.size());

    uint32_t shard = writes_[first]->address.shard();

    patches_.clear();
    for (size_t i = first; i < writes_.size() && patches_.size() < kPatchesAtOnce; i++) {
        const Access *access = writes_[i];

        if (access->address.shard() != shard)
            break;
        patches_.push_back({ store_.servers.layout().row_offset(access->address), access->image,
                             access->bytes, 0 });
    }
    return patches_.size();
}

void Commit::begin_install(OperationBatch &batch)
{
    bool late = store_.servers.canary(kCanaryLogLate);

    DTX_ASSERT(late || (set_.maybe_logged && lsns_.size() == log_servers_.size()));
    DTX_ASSERT(late || !pending_ || pending_->remaining == 0); /* the record is durable */
    for (size_t first = 0, n; first < writes_.size(); first += n) {
        uint32_t shard = writes_[first]->address.shard();

        n = take_patches(first);
        for (uint32_t copy = 0; copy < store_.servers.copies(shard).size(); copy++)
            batch.write(shard, copy, patches_);
    }
}

void Commit::begin_unlock(OperationBatch &batch)
{
    for (Access *access : writes_)
        if (std::exchange(access->locked, false) && !store_.servers.canary(kCanaryLock))
            batch.compare_and_swap(access->address, set_.txn, 0, &access->word);
}

/* If freeing a lock takes a round trip, the transaction does not wait for it. If the session dies
 * or is fenced before the message reaches the server, other sessions take the lock from it as from
 * any dead session. */
Task<> Commit::unlock()
{
    OperationBatch unlocking(store_.servers, store_.servers.phases().commit);
    auto is_sent = [this](const Access *access) {
        return !store_.servers.primary(access->address.shard()).is_mapped() &&
               store_.unlocks.send(access->address, set_.txn) == 0;
    };

    /* The transaction had no effect, or its rows are installed. */
    DTX_ASSERT(set_.logged || !set_.maybe_logged);
    for (Access *access : writes_)
        if (access->locked && !store_.servers.canary(kCanaryLock) && is_sent(access))
            access->locked = false;
    begin_unlock(unlocking);
    co_await unlocking.run();
}

/* Frees all locks if they are in mapped memory. False: they are not, and nothing was done. */
bool Commit::unlock_now()
{
    OperationBatch unlocking(store_.servers, store_.servers.phases().commit);
    auto is_mapped = [this](const Access *access) {
        return store_.servers.mapped(access->address.shard()) != nullptr;
    };

    if (store_.servers.phases().commit == Via::call ||
        !std::all_of(writes_.begin(), writes_.end(), is_mapped))
        return false;
    DTX_ASSERT(set_.logged); /* and the rows are installed */
    begin_unlock(unlocking);
    return true;
}

/* The rows are installed: the logs may trim the record. */
void Commit::retire()
{
    DTX_ASSERT(set_.logged && lsns_.size() <= log_servers_.size());
    for (size_t i = 0; i < lsns_.size(); i++)
        store_.servers.connection(log_servers_[i]).retire(lsns_[i]);
}

/* The records name the session's spare slots, so a note of all of them comes before the trim. If
 * there is no room for it, trim() stops at the note before. */
void Commit::trim()
{
    for (uint32_t server : log_servers_)
        if (store_.servers.connection(server).wants_trim()) {
            (void)store_.servers.connection(server).note(store_.slots.owned());
            (void)store_.servers.connection(server).trim();
        }
}

/* If there are logs, the transaction is committed by its records: the session has got spare slots
 * from it, and used some. */
void Commit::end_log()
{
    DTX_ASSERT(set_.joined == store_.servers.joined()); /* else the slots may be another's now */
    set_.logged = !log_servers_.empty();
    set_.maybe_logged = true;
    if (!set_.logged)
        return;
    for (const Access *access : writes_)
        if (access->fresh)
            store_.slots.disown(access->address);
    store_.slots.own(spares_); /* a row may have been inserted and erased */
}

Task<> Commit::install()
{
    OperationBatch batch(store_.servers, store_.servers.phases().commit);

    check_joined();
    begin_install(batch);
    co_await batch.run();
    check_joined();
}

Task<bool> Commit::give_up()
{
    DTX_ASSERT(!set_.maybe_logged);
    co_await unlock();
    co_return false;
}

Task<bool> Commit::is_as_read()
{
    OperationBatch validating(store_.servers, store_.servers.phases().validate);
    bool holds = store_.servers.canary(kCanaryGiveUp);

    DTX_ASSERT(!set_.maybe_logged);
    for (Access *access : writes_)
        if (access->seen)
            reads_.push_back(access);
    if (!holds && !is_settled()) {
        if (!store_.installs.empty())
            co_await wait_for_own();
        check_joined();
        set_.begun = true;
        begin_validate(validating);
        co_await validating.run();
    }
    holds = holds || is_settled() || end_validate();
    co_await unlock();
    co_return holds;
}

/* Can one message both lock and validate? If one server has all objects, yes: it carries out steps
 * in order, so all locks are held when it validates the first read. With several servers, one could
 * validate before another has locked, and two transactions that each write what the other reads
 * could both commit. */
bool Commit::is_one_message() const
{
    const Phases &phases = store_.servers.phases();

    if (writes_.empty() || reads_.empty() || phases.lock != phases.validate ||
        phases.lock == Via::one_sided)
        return false;

    uint32_t server = store_.servers.server_of(writes_.front()->address.shard(), 0);
    auto elsewhere = [this, server](const Access *access) {
        return store_.servers.server_of(access->address.shard(), 0) != server;
    };

    if (phases.lock == Via::fewest && store_.servers.connection(server).is_mapped())
        return false;
    return store_.servers.canary(kCanaryValidateEarly) ||
           (std::none_of(writes_.begin(), writes_.end(), elsewhere) &&
            std::none_of(reads_.begin(), reads_.end(), elsewhere));
}

/* Waits while an earlier commit of this session, which is not installed on all copies yet, holds
 * locks of objects that this transaction has read or writes. */
Task<> Commit::wait_for_own()
{
    auto is_queued = [this](const Access *access) {
        return (access->seen || access->written) && store_.installs.has(access->address);
    };
    const std::vector<Access *> &all = set_.sorted();

    while (std::any_of(all.begin(), all.end(), is_queued))
        co_await store_.installs.wait_for_one();
}

/* The record is durable in all logs, so the rows will be installed, by this session or by recovery.
 * The transaction ends here; InstallQueue installs the rows and frees the locks. */
void Commit::queue_install(OperationBatch &installing)
{
    InstallQueue::Commit rest;

    DTX_ASSERT(set_.logged && lsns_.size() == log_servers_.size());
    rest.txn = set_.txn;
    rest.rows = installing.leave();
    for (Access *access : writes_)
        if (std::exchange(access->locked, false) && !store_.servers.canary(kCanaryLock))
            rest.locked.push_back(access->address);
    for (uint32_t i = 0; i < set_.size(); i++)
        if (set_[i].freed)
            rest.freed.push_back(set_[i].address);
    for (size_t i = 0; i < lsns_.size(); i++)
        rest.records.emplace_back(log_servers_[i], lsns_[i]);
    set_.queued = true;
    store_.installs.add(std::move(rest));
}

/* All phases are in this one coroutine, which starts others only where it has to wait: a coroutine
 * for each phase would cost a frame each. */
Task<bool> Commit::run()
{
    bool late = store_.servers.canary(kCanaryLogLate);
    bool drop = store_.servers.canary(kCanaryDropCommit) && set_.txn % kDropEvery == 0;
    bool together = is_one_message();
    OperationBatch locking(store_.servers, store_.servers.phases().lock);

    if (writes_.empty() && is_settled())
        co_return true;
    if (!store_.installs.empty())
        co_await wait_for_own();
    check_joined();
    if (!writes_.empty()) {
        if (std::optional<Error> error = too_big())
            co_await refuse(*error);
        set_.begun = true;
        begin_lock(locking);
        if (together) {
            locking.then();
            begin_validate(locking);
        }
        co_await locking.run();
        if (!end_lock())
            co_return co_await give_up();
    }

    OperationBatch validating(store_.servers, store_.servers.phases().validate);

    set_.begun = true;
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
    end_log();

    OperationBatch installing(store_.servers, store_.servers.phases().commit);

    if (!late && !drop)
        begin_install(installing);
    if (set_.logged && !installing.is_done()) {
        if (store_.servers.canary(kCanaryUnlockEarly))
            co_await unlock();
        co_await installing.send();
        check_joined();
        queue_install(installing);
        trim();
        co_return true;
    }
    co_await installing.run();
    check_joined();
    set_.logged = true;
    retire();

    if (!unlock_now())
        co_await unlock();
    trim();
    co_return true;
}

} // namespace dtx
