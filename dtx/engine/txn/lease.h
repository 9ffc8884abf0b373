/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lease.h: for how long a session has found each lock held, and when it takes over from the owner.
 *
 * A session that finds a lock held by the same attempt again and again first asks a server whether
 * the owner's connection is closed, which happens within milliseconds after the owner's process was
 * killed. An owner that is connected may be slow or stopped: it keeps its locks until the lease has
 * passed. The time between two conflicts counts as at most 1/16 of the lease: if this session did
 * not run for longer, on a busy machine, then the owner may not have run either.
 *
 * Tests: tests/unit/dtx/engine/txn/lease_test.cpp
 */
#ifndef DTX_ENGINE_LEASE_H
#define DTX_ENGINE_LEASE_H

#include "engine/base/assert.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace dtx
{

class Lease
{
  public:
    static constexpr uint64_t kAskFirstNs = 10000000; /* then after twice that, and so on */
    static constexpr uint64_t kLooks = 16; /* time between two conflicts counts up to 1/16 of it */
    static constexpr size_t kLocksMost = 64;

    enum class Verdict {
        fresh, /* the first conflict with this lock */
        held,  /* the same attempt still holds it: wait */
        ask,   /* as held, and ask the server whether the owner's connection is closed */
        over   /* the lease has passed: take over from the owner */
    };

    explicit Lease(uint64_t lease_ns) : lease_ns_(lease_ns) {}

    /* At @now, the session had a conflict with a lock that attempt @word holds. */
    Verdict met(uint64_t word, uint64_t now)
    {
        DTX_ASSERT(word != 0); /* a free lock would pass for one of coordinator 0 */

        auto found = locks_.find(word);

        if (found == locks_.end() || now - found->second.last_ns > kLooks * lease_ns_) {
            forget(now);
            locks_[word] = { now, 0, kAskFirstNs, false };
            return Verdict::fresh;
        }

        Lock &lock = found->second;

        lock.held_ns += std::min(now - lock.last_ns, lease_ns_ / kLooks);
        lock.last_ns = now;
        if (lock.held_ns >= lease_ns_) {
            lock.held_ns = 0;
            lock.ask_ns = kAskFirstNs;
            lock.is_long = true;
            return Verdict::over;
        }
        if (lock.held_ns < lock.ask_ns)
            return Verdict::held;
        lock.ask_ns *= 2;
        lock.is_long = true;
        return Verdict::ask;
    }

    /* Has met() returned ask or over for this lock? */
    bool is_long(uint64_t word) const
    {
        auto found = locks_.find(word);

        return found != locks_.end() && found->second.is_long;
    }

  private:
    struct Lock {
        uint64_t last_ns; /* time of the last conflict */
        uint64_t held_ns; /* counted since the first conflict, or since the last verdict over */
        uint64_t ask_ns;  /* ask when held_ns reaches this */
        bool is_long;
    };

    /* Forget locks that caused no conflict for a while: they are most likely free by now. */
    void forget(uint64_t now)
    {
        if (locks_.size() < kLocksMost)
            return;
        std::erase_if(locks_, [&](const auto &lock) {
            return now - lock.second.last_ns > lease_ns_ / kLooks;
        });
        if (locks_.size() >= kLocksMost)
            locks_.clear();
    }

    uint64_t lease_ns_;
    std::unordered_map<uint64_t, Lock> locks_; /* by the number of the attempt that holds them */
};

} // namespace dtx
#endif
