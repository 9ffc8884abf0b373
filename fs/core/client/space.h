/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space.h: the slabs that a client owns, and which call takes blocks of which of them.
 *
 * Two calls that took blocks of one slab at once could choose the same block, and the one whose
 * commit fails could overwrite what the other has committed. So a call leases slabs for itself,
 * from before its first attempt until it has ended.
 *
 * Tests: tests/unit/fs/client/space_test.cpp
 */
#ifndef FS_CORE_CLIENT_SPACE_H
#define FS_CORE_CLIENT_SPACE_H

#include "core/file/slabs.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rfs
{

class Client;

class Space
{
  public:
    /* @client: borrowed; has this as a member. */
    explicit Space(Client &client) : client_(client) {}
    Space(const Space &) = delete;
    Space &operator=(const Space &) = delete;

    /* Slabs for one call; its destructor lets other calls have them. */
    class Lease
    {
      public:
        Lease(Space &space, Room room) : space_(&space), room_(std::move(room)) {}
        Lease(Lease &&other) noexcept
            : space_(std::exchange(other.space_, nullptr)), room_(std::move(other.room_))
        {
        }
        Lease &operator=(Lease &&) = delete;
        ~Lease();

        const Room &room() const
        {
            return room_;
        }
        /* The call has taken @blocks of them, in the order of the slabs. */
        void used(size_t blocks);
        /* The call found fewer free blocks than it needed: the client forgets these slabs. */
        void exhausted();

      private:
        friend class Space;

        void give_up();

        Space *space_;
        Room room_;
    };

    /* Awaited: lease slabs with @blocks free blocks, on @shard or, if that is full, on others. The
     * client becomes the owner of slabs that have none, and then of those of dead clients: asks
     * each owner once, which takes a connection to each server, if it lives. If only slabs have
     * room that other calls lease, waits for these calls. If the volume is full, leases the reserve
     * as well, as Room says then. Failure: ENOSPC. */
    dtx::Task<Lease> lease(uint32_t shard, size_t blocks);

    /* Awaited: give all slabs back that no call uses. */
    dtx::Task<> give_back();

    /* Awaited, about once a second: of a shard without unused slabs, give back those that no call
     * uses, but the two with most free blocks, so that other clients find the free blocks. */
    dtx::Task<> share();

    /* Awaited: if the last lease() found free blocks in slabs of other clients that live, wait
     * until these have given slabs back, as share() does. False: it found none, or this client has
     * waited for that in the last five seconds. */
    dtx::Task<bool> await_share();

  private:
    struct Own {
        Slab slab;
        uint32_t free; /* blocks, as far as this client knows */
        bool leased = false;
        bool lost = false; /* it belongs to another one now */
    };

    Own *find(Slab slab);
    void add_own(Slab slab, uint32_t free);
    void forget(Slab slab);
    size_t known_free(uint32_t shard, bool reserve) const;
    dtx::Task<> count_again(uint32_t shard);
    bool others_lease(const Room &room) const;
    size_t lease_own(uint32_t shard, size_t blocks, Room &room);
    dtx::Task<size_t> lease_more(uint32_t shard, size_t blocks, Room &room);
    dtx::Task<bool> acquire(uint32_t shard, bool reserve);
    dtx::Task<bool> acquire_unused(uint32_t shard);
    dtx::Task<bool> acquire_used(uint32_t shard, bool reserve, bool of_dead);
    dtx::Task<bool> take(Slab slab, uint64_t from);
    dtx::Task<bool> has_unused(uint32_t shard);
    std::vector<Own> idle(uint32_t shard) const;
    dtx::Task<> give_back(Slab slab);
    dtx::Task<bool> fence(uint64_t owner);
    bool is_own(uint64_t owner) const;

    Client &client_;
    std::vector<Own> own_;
    uint64_t given_up_ = 0;               /* leases that have ended */
    std::vector<uint32_t> next_;          /* by shard: slabs before this one have rows */
    bool asks_ = false;                   /* a lease asks whether an owner lives */
    bool tries_again_ = false;            /* a lease waits for slabs of others, and tries again */
    std::unordered_set<uint64_t> fenced_; /* owners; they stay so */
    std::unordered_set<uint64_t> living_; /* owners, when the last lease asked */
    bool others_have_room_ = false;
    uint64_t wait_again_ns_ = 0; /* await_share() does not wait before */
};

} // namespace rfs
#endif
