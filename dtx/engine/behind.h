/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * behind.h: commits whose outcome has been told and whose rows are still on their way.
 *
 * Over links a commit counts as soon as its redo record is safe in all its logs. Its rows are sent
 * then, and the transaction ends; when they are on all copies the record is let go, the locks are
 * freed, and slots that it gave up may be used again. Until then others find the rows locked, and a
 * commit of this session that needs one of them waits.
 *
 * Tests: tests/unit/dtx/engine/behind_test.cpp
 */
#ifndef DTX_ENGINE_BEHIND_H
#define DTX_ENGINE_BEHIND_H

#include "engine/round.h"
#include <dtx/address.h>

#include <coroutine>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dtx
{

class Store;

class Behind
{
  public:
    struct Commit {
        uint64_t txn = 0;
        Round::Sent rows;
        std::vector<Address> locked;                        /* in their order */
        std::vector<Address> freed;                         /* slots that it gave up */
        std::vector<std::pair<uint32_t, uint64_t>> records; /* servers, and where in their logs */
    };

    explicit Behind(Store &store) : store_(store) {}
    Behind(const Behind &) = delete;
    Behind &operator=(const Behind &) = delete;

    void take(Commit commit)
    {
        commits_.push_back(std::move(commit));
    }

    /* Go on with those whose rows are there by now. */
    void poll();

    /* The session is closed: what the logs have is finished when it, or another one, joins. */
    void close();

    bool empty() const
    {
        return commits_.empty();
    }
    /* Rows could not be sent, or a lock not freed: the session has to join again. */
    bool failed() const
    {
        return failed_;
    }
    bool has(uint64_t txn) const;
    bool has(Address address) const;

    /* Awaited: until another one of them has ended, or all will not. */
    struct Wait {
        bool await_ready() const noexcept
        {
            return behind.empty() || behind.failed();
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            behind.waiting_.push_back(handle);
        }
        void await_resume() const noexcept {}
        Behind &behind;
    };
    Wait wait()
    {
        return { *this };
    }

  private:
    bool end(Commit &commit);
    bool unlock(Commit &commit);
    void wake_all();

    Store &store_;
    std::vector<Commit> commits_; /* oldest first */
    std::vector<std::coroutine_handle<>> waiting_;
    bool failed_ = false;
};

} // namespace dtx
#endif
