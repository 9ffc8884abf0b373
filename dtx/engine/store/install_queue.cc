/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * install_queue.cc: finish acknowledged commits when their rows have been installed: retire their
 * records and free their locks.
 *
 * Invariants
 *   a lock is freed, and a record may be trimmed, only when the rows are on all copies
 *   a freed slot is used again only after the message that frees its lock was sent
 *
 * Tests: tests/unit/dtx/engine/store/install_queue_test.cpp
 */
#include "engine/store/install_queue.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

void InstallQueue::add(Commit commit)
{
    DTX_ASSERT(commit.txn != 0 && !has(commit.txn));
    DTX_ASSERT(commit.rows.pending != nullptr);
    DTX_ASSERT(!commit.records.empty()); /* from which recovery finishes it if this session dies */
    DTX_ASSERT(std::is_sorted(commit.locked.begin(), commit.locked.end()));
    commits_.push_back(std::move(commit));
}

bool InstallQueue::has(uint64_t txn) const
{
    return std::any_of(commits_.begin(), commits_.end(),
                       [txn](const Commit &commit) { return commit.txn == txn; });
}

bool InstallQueue::has(Address address) const
{
    return std::any_of(commits_.begin(), commits_.end(), [address](const Commit &commit) {
        return std::binary_search(commit.locked.begin(), commit.locked.end(), address);
    });
}

/* Frees locks until the connection accepts no more messages. True: all locks are freed. */
bool InstallQueue::unlock(Commit &commit)
{
    DTX_ASSERT(commit.rows.pending->remaining == 0);
    while (!commit.locked.empty()) {
        int err = unlocks_.send(commit.locked.back(), commit.txn);

        if (err == RPM_E_BUSY)
            return false;
        check(err, "freeing a lock");
        commit.locked.pop_back();
    }
    return true;
}

/* Finishes a commit as far as possible without waiting. True: it is finished. */
bool InstallQueue::end(Commit &commit)
{
    if (commit.rows.pending->remaining > 0)
        return false;
    check(commit.rows.pending->status, "installing rows");
    for (auto [server, lsn] : std::exchange(commit.records, {}))
        servers_.connection(server).retire(lsn);
    if (!unlock(commit))
        return false;
    for (Address address : commit.freed)
        slots_.give_back(address);
    return true;
}

/* Where steps interleave, some commits wait for the next poll although they could be finished. */
void InstallQueue::poll()
{
    size_t before = commits_.size();

    if (failed_)
        return;
    try {
        for (auto commit = commits_.begin(); commit != commits_.end();)
            if (servers_.scheduler().step().yields || !end(*commit))
                ++commit;
            else
                commit = commits_.erase(commit);
    } catch (const Error &) {
        failed_ = true;
    }
    if (failed_ || commits_.size() < before)
        wake_all();
}

Task<> InstallQueue::wait_for_one()
{
    if (failed())
        throw Fenced(RPM_E_LOST, "installing the rows of an earlier commit of this session failed");
    DTX_ASSERT(!empty());
    servers_.round_trips()++;
    co_await Wait{ *this };
}

void InstallQueue::wake_all()
{
    for (std::coroutine_handle<> handle : std::exchange(waiting_, {}))
        servers_.scheduler().wake(handle);
}

void InstallQueue::close()
{
    DTX_ASSERT(!servers_.is_open()); /* until then no other session finishes them */
    commits_.clear();
    failed_ = false;
    wake_all();
}

} // namespace dtx
