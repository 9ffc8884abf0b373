/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watched_locks.h: owners of locks that must hear of it when their locks are gone, because other
 * clients took this one for dead and dropped them.
 *
 * Tests: tests/unit/fs/lock/locks_test.cpp
 */
#ifndef FS_CORE_CLIENT_WATCHED_LOCKS_H
#define FS_CORE_CLIENT_WATCHED_LOCKS_H

#include "core/format/rows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rfs
{

class WatchedLocks
{
  public:
    struct Owner {
        uint32_t ino;
        uint64_t number;
        LockKind kind;
        bool operator==(const Owner &) const = default;
    };

    /* An owner has set a lock. @lost: borrowed until forget(); true when its locks are gone. */
    void add(const Owner &owner, bool *lost)
    {
        Watched *found = find(owner, lost);

        if (found == nullptr)
            watched_.push_back({ owner, lost, ++changes_ });
        else
            found->change = ++changes_;
    }
    /* The owner has no lock any more, unless it has set one after changes() was @since. */
    void remove(const Owner &owner, uint64_t since)
    {
        std::erase_if(watched_, [&](const Watched &each) {
            return each.owner == owner && each.change <= since;
        });
    }
    bool has(const Owner &owner) const
    {
        return std::any_of(watched_.begin(), watched_.end(),
                           [&](const Watched &each) { return each.owner == owner; });
    }
    bool has(const bool *lost) const
    {
        return std::any_of(watched_.begin(), watched_.end(),
                           [&](const Watched &each) { return each.lost == lost; });
    }
    bool empty() const
    {
        return watched_.empty();
    }
    uint64_t changes() const
    {
        return changes_;
    }
    /* The borrowed @lost ends. */
    void forget(const bool *lost)
    {
        std::erase_if(watched_, [lost](const Watched &each) { return each.lost == lost; });
    }
    /* The owner's locks are gone. */
    void lost(const Owner &owner)
    {
        for (const Watched &each : watched_)
            if (each.owner == owner)
                *each.lost = true;
        std::erase_if(watched_, [&](const Watched &each) { return each.owner == owner; });
    }
    std::vector<Owner> owners() const
    {
        std::vector<Owner> all;

        for (const Watched &each : watched_)
            all.push_back(each.owner);
        return all;
    }

  private:
    struct Watched {
        Owner owner;
        bool *lost;
        uint64_t change; /* number of the last add() */
    };

    Watched *find(const Owner &owner, const bool *lost)
    {
        auto found = std::find_if(watched_.begin(), watched_.end(), [&](const Watched &each) {
            return each.owner == owner && each.lost == lost;
        });

        return found != watched_.end() ? &*found : nullptr;
    }

    std::vector<Watched> watched_;
    uint64_t changes_ = 0;
};

} // namespace rfs
#endif
