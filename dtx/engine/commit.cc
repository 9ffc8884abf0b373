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

#include <array>

namespace dtx
{

static constexpr size_t kPatchesAtOnce = 64;
static constexpr uint64_t kDropEvery = 97; /* of the canary that forgets commits */

Commit::Commit(Store &store, Accesses &accesses, const std::vector<uint32_t> &log_servers)
    : store_(store), accesses_(accesses), log_servers_(log_servers)
{
    for (Access *access : accesses.sorted()) {
        if (access->written)
            writes_.push_back(access);
        else if (access->seen)
            reads_.push_back(access);
    }
}

Task<bool> Commit::lock_one(Access *access)
{
    uint64_t found;

    if (store_.canary(kCanaryLock))
        found = 0;
    else
        found = store_.compare_and_swap(access->address, 0, accesses_.txn);
    if (found != 0) {
        store_.obstacle = { access->address, found };
        co_return false;
    }
    access->locked = true;
    co_await store_.scheduler().step();

    uint64_t version = store_.read_version(access->address);

    if (access->seen && version != access->version && !store_.canary(kCanaryValidate))
        co_return false;
    access->version = version;
    co_return true;
}

Task<bool> Commit::lock()
{
    for (Access *access : writes_) {
        co_await store_.scheduler().step();
        if (!co_await lock_one(access))
            co_return false;
    }
    co_return true;
}

Task<bool> Commit::is_current(const Access *access)
{
    uint64_t word = store_.lock_word(access->address);

    if (word != 0) {
        store_.obstacle = { access->address, word };
        co_return false;
    }
    /* One object alone is as it was at one time. But whoever wrote it must have ended: others could
     * still see what was before, in the rows that he has not come to. */
    if (writes_.empty() && reads_.size() == 1)
        co_return true;
    co_await store_.scheduler().step();
    co_return store_.read_version(access->address) == access->version;
}

Task<bool> Commit::validate()
{
    if (store_.canary(kCanaryValidate))
        co_return true;
    for (const Access *access : reads_) {
        TableKind kind = store_.cluster().schema().tables()[access->address.table()].kind;

        if (store_.canary(kCanaryPhantom) &&
            (kind == TableKind::buckets || kind == TableKind::nodes))
            continue;
        co_await store_.scheduler().step();
        if (!co_await is_current(access))
            co_return false;
    }
    co_return true;
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
    pending->remaining++;
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

Task<> Commit::install()
{
    std::array<rpm_patch, kPatchesAtOnce> patches;

    for (size_t first = 0; first < writes_.size();) {
        uint32_t shard = writes_[first]->address.shard();
        size_t n = 0;

        for (; first + n < writes_.size() && n < kPatchesAtOnce; n++) {
            const Access *access = writes_[first + n];

            if (access->address.shard() != shard)
                break;
            patches[n] = { store_.layout().row_offset(access->address), access->image,
                           access->bytes, 0 };
        }
        for (uint32_t copy = 0; copy < store_.placement().copies(shard); copy++) {
            co_await store_.scheduler().step();
            check_joined();
            store_.remote() += n;
            store_.port(store_.server_of(shard, copy)).write(shard, { patches.data(), n });
        }
        first += n;
    }
}

Task<> Commit::unlock()
{
    for (Access *access : writes_) {
        if (!access->locked)
            continue;
        access->locked = false;
        if (store_.canary(kCanaryLock))
            continue;
        co_await store_.scheduler().step();
        (void)store_.compare_and_swap(access->address, accesses_.txn, 0);
    }
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
