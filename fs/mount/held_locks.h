/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held_locks.h: which owners of a mount may have locks, by file and by handle of an open file: so
 * closing a file on which the mount has set no lock costs no transaction, and an open file whose
 * locks other clients have dropped, because they took this one for dead, fails until it is closed.
 *
 * The kernel tells when a process closes a file, which ends its locks of fcntl(2), and when an open
 * file ends, which ends locks of flock(2) and of fcntl(2) by open file.
 *
 * Tests: tests/fs/mount_test
 */
#ifndef FS_MOUNT_HELD_LOCKS_H
#define FS_MOUNT_HELD_LOCKS_H

#include "core/client/watched_locks.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rfs
{

class HeldLocks
{
  public:
    /* Owners whose locks of a file are being dropped. As long as this lives, the file is_busy(). */
    class Taken
    {
      public:
        Taken(Taken &&other) noexcept
            : locks_(std::exchange(other.locks_, nullptr)), ino_(other.ino_),
              held_(std::move(other.held_))
        {
        }
        Taken &operator=(Taken &&) = delete;
        ~Taken();

        uint32_t ino() const
        {
            return ino_;
        }
        bool empty() const
        {
            return held_.empty();
        }
        uint64_t owner() const
        {
            return held_.back().owner;
        }
        /* The locks of owner() are dropped. Those of owners that are left when this ends are held
         * on. */
        void dropped()
        {
            held_.pop_back();
        }

      private:
        friend class HeldLocks;
        struct Held {
            uint64_t handle;
            uint64_t owner;
        };

        Taken(HeldLocks *locks, uint32_t ino, std::vector<Held> held)
            : locks_(locks), ino_(ino), held_(std::move(held))
        {
        }

        HeldLocks *locks_; /* nullptr: nothing was taken */
        uint32_t ino_;
        std::vector<Held> held_;
    };

    /* @watched: borrowed. */
    explicit HeldLocks(WatchedLocks &watched) : watched_(watched) {}
    HeldLocks(const HeldLocks &) = delete;
    HeldLocks &operator=(const HeldLocks &) = delete;

    /* An owner has set a lock by an open file. */
    void add(uint32_t ino, uint64_t handle, uint64_t owner);

    /* Does an open file fail, because its locks are gone? nullptr: it has set none. */
    std::shared_ptr<const bool> lost_of(uint64_t handle) const
    {
        auto found = lost_.find(handle);

        return found != lost_.end() ? found->second : nullptr;
    }
    /* The same of an open file that sets a lock, to be watched (core/client/locks.h). */
    std::shared_ptr<bool> watch(uint64_t handle);
    /* The open file has ended. */
    void end(uint64_t handle);

    /* All that an owner has, or all that was set by a handle. */
    Taken take_owner(uint32_t ino, uint64_t owner);
    Taken take_handle(uint32_t ino, uint64_t handle);

    /* Are locks of the file being dropped? A request for a lock that has come after the request to
     * drop them waits for that. */
    bool is_busy(uint32_t ino) const
    {
        auto found = files_.find(ino);

        return found != files_.end() && found->second.busy > 0;
    }

  private:
    struct File {
        std::vector<Taken::Held> held;
        uint32_t busy = 0; /* how many Taken */
    };

    template <class Which> Taken take(uint32_t ino, Which which);

    WatchedLocks &watched_;
    std::unordered_map<uint32_t, File> files_;
    std::unordered_map<uint64_t, std::shared_ptr<bool>> lost_; /* by handle */
};

} // namespace rfs
#endif
