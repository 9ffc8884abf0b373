/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * free_slots.h: the free slots of one session: taken from the allocator heads, used for new rows
 * and index nodes, freed by deletions, and returned when there are many.
 *
 * The records of the transactions in which the session took or freed slots name them, as spare
 * slots. Before the session trims such records it writes a note, a record that names all of its
 * spare slots (ServerConnection::note()). So if it dies, or is fenced, its logs tell which slots it
 * had: the session that joins with its number continues with them, and one that takes over returns
 * them. A slot that got a row since, or was returned, has another version than its record says.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp, tests/unit/dtx/check/vacuum_test.cpp
 */
#ifndef DTX_ENGINE_FREE_SLOTS_H
#define DTX_ENGINE_FREE_SLOTS_H

#include "engine/cluster/servers.h"
#include <dtx/address.h>
#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace dtx
{

class FreeSlots
{
  public:
    explicit FreeSlots(Servers &servers);

    /* Awaited: a free slot, as an access with an image of zeros that the commit writes. Throws
     * Error: RPM_E_NOSPACE. */
    struct Allocate {
        std::optional<Access *> now()
        {
            if (Access *own = slots.allocate_now(set, shard, table))
                return own;
            return std::nullopt;
        }
        Task<Access *> later()
        {
            return slots.take_more(set, shard, table);
        }
        FreeSlots &slots;
        ReadWriteSet &set;
        uint32_t shard;
        uint32_t table;
    };
    AtOnce<Allocate> allocate(ReadWriteSet &set, uint32_t shard, uint32_t table)
    {
        return AtOnce(Allocate{ *this, set, shard, table });
    }

    /* The same if this session has a free slot; else nullptr. */
    Access *allocate_now(ReadWriteSet &set, uint32_t shard, uint32_t table)
    {
        return slots_of(shard, table).empty() ? nullptr : take_one(set, shard, table);
    }

    /* Add a slot that this session owns to its free slots. */
    void give_back(Address address);

    /* The allocator head of a table of which this session has more free slots than it may keep. */
    std::optional<Address> surplus();

    /* Removes at most @most free slots of the table of @head from this session, for the caller to
     * return. */
    std::vector<uint64_t> take(Address head, size_t most);

    /* A transaction of this session is committed by its records in the logs: it has made @spares
     * the session's, or has used a spare slot, or returned it. */
    void own(std::span<const Spare> spares);
    void disown(Address address);
    /* All spare slots, those of transactions under way included, and perhaps some that the session
     * has used or returned. */
    std::vector<Spare> owned() const;

    /* Increases when this session joins again: its earlier slots may belong to another session by
     * then. A session uses only slots of the current generation. */
    uint64_t generation() const
    {
        return generation_;
    }
    /* To be called when the session has joined. @spares: those that its logs name. */
    void begin_generation(std::span<const Spare> spares);

    /* Set by the session: takes @many slots from an allocator head, in a transaction of its own. */
    std::function<Task<std::vector<uint64_t>>(Address head, uint64_t many)> hand_out;

  private:
    std::vector<uint64_t> &slots_of(uint32_t shard, uint32_t table);
    Access *take_one(ReadWriteSet &set, uint32_t shard, uint32_t table);
    Task<Access *> take_more(ReadWriteSet &set, uint32_t shard, uint32_t table);

    Servers &servers_;
    std::vector<std::vector<uint64_t>> free_; /* by shard and table */
    std::optional<Address> surplus_;          /* the head of the last table found with too many */
    std::unordered_map<uint64_t, uint64_t> owned_; /* spare slots: versions, by address */
    uint64_t generation_ = 0;
};

} // namespace dtx
#endif
