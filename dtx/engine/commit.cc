/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commit.cc: the phases of a commit, each by operations on far memory alone.
 *
 * Invariants
 *   locks are taken in the order of addresses, and never waited for
 *   a lock is looked at before the version that it protects
 *   no row is touched before the redo record is safe, no lock let go before the rows are
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#include "engine/commit.h"

#include "engine/error.h"
#include "engine/redo.h"
#include "engine/round.h"

#include <algorithm>

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
        store_.obstacle = { access->address, access->word };
    return access->word == 0;
}

/* Where a round's operations are done at once, the first one in vain is the last one. */
Task<bool> Commit::lock()
{
    Round round(store_, store_.phases().lock);
    size_t tried = 0;
    bool free = true;

    for (; free && tried < writes_.size(); tried++) {
        Access *access = writes_[tried];

        co_await store_.scheduler().step();
        access->word = 0;
        if (!store_.canary(kCanaryLock))
            round.compare_and_swap(access->address, 0, accesses_.txn, &access->word);
        free = access->word == 0;
        access->locked = free;
    }
    round.then();
    for (size_t i = 0; free && i < writes_.size(); i++) {
        co_await store_.scheduler().step();
        round.version(writes_[i]->address, &writes_[i]->current);
    }
    co_await round.run();
    for (size_t i = 0; i < tried; i++) {
        writes_[i]->locked = is_free(writes_[i]);
        free = free && writes_[i]->locked;
    }
    co_return free &&take_versions();
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

    return !store_.canary(kCanaryPhantom) ||
           (kind != TableKind::buckets && kind != TableKind::nodes);
}

/* A single object as well: its lock may have been another's when it was read and free again now,
 * and what that one had read may be older than what others have been told since. */
Task<bool> Commit::validate()
{
    Round round(store_, store_.phases().validate);
    bool free = true;

    if (store_.canary(kCanaryValidate))
        co_return true;
    for (Access *access : reads_) {
        access->word = 0;
        access->current = access->version;
    }
    for (size_t i = 0; free && i < reads_.size(); i++) {
        if (!is_looked_at(reads_[i]))
            continue;
        co_await store_.scheduler().step();
        round.lock_word(reads_[i]->address, &reads_[i]->word);
        free = reads_[i]->word == 0;
    }
    round.then();
    for (size_t i = 0; free && i < reads_.size(); i++) {
        if (!is_looked_at(reads_[i]))
            continue;
        co_await store_.scheduler().step();
        round.version(reads_[i]->address, &reads_[i]->current);
    }
    co_await round.run();
    co_return std::all_of(reads_.begin(), reads_.end(), [this](const Access *access) {
        return is_free(access) && access->current == access->version;
    });
}

/* While we let others go first, one of them may have found this session fenced and joined again:
 * our locks are gone then, and what is logged has been installed. */
void Commit::check_joined() const
{
    if (accesses_.joined != store_.joined())
        throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
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

/* Before anything is locked: will all log servers take the record? */
void Commit::check_size() const
{
    size_t bytes = redo_bytes(writes_);

    for (uint32_t server : log_servers_)
        if (bytes > store_.port(server).record_max())
            throw Error(RPM_E_TOOBIG, "a transaction writes " + std::to_string(bytes) +
                                          " bytes; a log record has at most " +
                                          std::to_string(store_.port(server).record_max()));
}

/* Into one log. A full one is trimmed; if all that is in it is still needed, others must end first.
 */
Task<> Commit::append(const std::vector<unsigned char> &record, uint32_t server, Pending *pending)
{
    Port &port = store_.port(server);
    uint64_t lsn = 0;

    for (;;) {
        check_joined();
        store_.remote()++;
        if (port.append(record.data(), record.size(), pending, &lsn))
            break;
        if (!port.trim())
            co_await store_.scheduler().turn();
    }
    accesses_.maybe_logged = true;
    lsns_.push_back(lsn);
}

Task<> Commit::log()
{
    if (log_servers_.empty())
        co_return;

    std::vector<unsigned char> &record = accesses_.record;

    encode_redo(accesses_.txn, writes_, record);

    std::shared_ptr<Pending> pending = store_.new_pending();

    for (uint32_t server : log_servers_)
        co_await append(record, server, pending.get());
    store_.poll();
    if (pending->remaining > 0)
        co_await Scheduler::Wait{ pending->waiting };
    check(pending->status, "writing a redo record");
    check_joined();
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

Task<> Commit::install()
{
    Round round(store_, store_.phases().commit);

    for (size_t first = 0, n; first < writes_.size(); first += n) {
        n = take_patches(first);
        for (uint32_t copy = 0; copy < store_.placement().copies(writes_[first]->address.shard());
             copy++) {
            co_await store_.scheduler().step();
            check_joined();
            round.write(writes_[first]->address.shard(), copy, patches_);
        }
    }
    co_await round.run();
    check_joined();
}

Task<> Commit::unlock()
{
    Round round(store_, store_.phases().commit);

    for (Access *access : writes_) {
        if (!access->locked)
            continue;
        access->locked = false;
        if (store_.canary(kCanaryLock))
            continue;
        co_await store_.scheduler().step();
        round.compare_and_swap(access->address, accesses_.txn, 0, &access->word);
    }
    co_await round.run();
}

Task<bool> Commit::run()
{
    bool late = store_.canary(kCanaryLogLate);
    bool drop = store_.canary(kCanaryDropCommit) && accesses_.txn % kDropEvery == 0;

    check_joined();
    if (writes_.empty())
        co_return co_await validate();
    check_size();
    if (!co_await lock() || !co_await validate()) {
        co_await unlock();
        co_return false;
    }
    make_versions();
    if (late)
        co_await install();
    if (!drop)
        co_await log();
    accesses_.logged = true;
    if (!late && !drop)
        co_await install();
    for (size_t i = 0; i < lsns_.size(); i++)
        store_.port(log_servers_[i]).retire(lsns_[i]);
    co_await unlock();
    for (uint32_t server : log_servers_)
        if (store_.port(server).wants_trim())
            (void)store_.port(server).trim();
    co_return true;
}

} // namespace dtx
