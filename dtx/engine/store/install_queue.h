/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * install_queue.h: the commits of a session that were acknowledged and whose rows are still in
 * flight to the servers.
 *
 * Over a link a transaction is committed as soon as its redo record is durable in all its logs. The
 * session then sends the rows and acknowledges the commit. When the rows are on all copies, the
 * session lets the logs trim the record, frees the locks, and reuses slots that the transaction
 * freed. Until then other sessions find the rows locked, and a commit of this session that needs
 * such a row waits.
 *
 * Tests: tests/unit/dtx/engine/store/install_queue_test.cpp
 */
#ifndef DTX_ENGINE_INSTALL_QUEUE_H
#define DTX_ENGINE_INSTALL_QUEUE_H

#include "engine/cluster/servers.h"
#include "engine/store/free_slots.h"
#include "engine/store/unlocks.h"
#include <dtx/address.h>
#include <dtx/task.h>

#include <coroutine>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dtx
{

class InstallQueue
{
  public:
    struct Commit {
        uint64_t txn = 0;
        Sent rows;
        std::vector<Address> locked; /* in ascending order */
        std::vector<Address> freed;  /* slots of rows that the transaction erased */
        std::vector<std::pair<uint32_t, uint64_t>>
            records; /* server, and LSN in its log, of each copy of the redo record */
    };

    InstallQueue(Servers &servers, FreeSlots &slots, Unlocks &unlocks)
        : servers_(servers), slots_(slots), unlocks_(unlocks)
    {
    }
    InstallQueue(const InstallQueue &) = delete;
    InstallQueue &operator=(const InstallQueue &) = delete;

    /* Take over @commit, which is durable in its logs and whose rows were sent: when they are
     * installed, poll() frees its locks. */
    void add(Commit commit);

    /* Finish the commits whose rows are installed by now. */
    void poll();

    /* Forget all commits, because the session closes its connections. The next session that joins
     * with its coordinator number installs them from the logs. */
    void close();

    bool empty() const
    {
        return commits_.empty();
    }
    /* Has installing rows or freeing a lock failed? Then the session has to join again. */
    bool failed() const
    {
        return failed_ || unlocks_.failed();
    }
    /* Is this transaction's commit in the queue? */
    bool has(uint64_t txn) const;
    /* Does a commit in the queue hold the lock of this object? */
    bool has(Address address) const;

    /* Wait until one more commit is finished. Throws Fenced if failed(). */
    Task<> wait_for_one();

  private:
    struct Wait {
        bool await_ready() const noexcept
        {
            return installs.empty() || installs.failed();
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            installs.waiting_.push_back(handle);
        }
        void await_resume() const noexcept {}
        InstallQueue &installs;
    };
    bool end(Commit &commit);
    bool unlock(Commit &commit);
    void wake_all();

    Servers &servers_;
    FreeSlots &slots_;
    Unlocks &unlocks_;
    std::vector<Commit> commits_; /* oldest first */
    std::vector<std::coroutine_handle<>> waiting_;
    bool failed_ = false;
};

} // namespace dtx
#endif
