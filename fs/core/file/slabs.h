/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slabs.h: which blocks are in use: take and free blocks within a call.
 *
 * A slab has kSlabBlocks blocks of one shard. A client takes blocks only of slabs that it owns, and
 * it has become their owner by an earlier transaction. Servers accept writes of blocks only from
 * the session that has the claim on its coordinator's logs. A session that takes a slab of a dead
 * client fences that client's coordinator first (dtx::Cluster::inherit()), so no write of an
 * earlier owner arrives any more. A session that joins with that coordinator number in between, or
 * again after it was fenced, counts as another owner (Call::owner): it takes no blocks of a slab
 * before it has written itself as the owner into the slab's row. If two sessions write that row,
 * one transaction is aborted.
 *
 * Invariants
 *   a slab without a row has no owner, and none of its blocks is in use
 *   a block is in use exactly if a committed pointer leads to it; both change in one transaction
 *   at any time one call at most uses a slab to take blocks from (client/space.h)
 *
 * Tests: tests/unit/fs/file/slabs_test.cpp
 */
#ifndef FS_CORE_FILE_SLABS_H
#define FS_CORE_FILE_SLABS_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rfs
{

struct Slab {
    uint32_t shard = 0;
    uint32_t number = 0;

    bool operator==(const Slab &) const = default;
};

/* Blocks that stay free in each slab for calls that free as many as they take: a file can be
 * overwritten, and be cut in the middle of a block, although the volume is full. */
inline constexpr uint32_t kReserveBlocks = 8;

/* Slabs that a call may take blocks from, as far as they belong to Call::owner. */
struct Room {
    std::vector<Slab> slabs;
    bool reserve = false; /* also their reserve */
};

/* Ends an attempt: the slabs of its room have fewer free blocks than it needs. */
struct Shortage {
    size_t blocks; /* that it needs, of all of them */
};

/* Awaited: take @count blocks, in use from the commit on; counted in the call. Returns pointers
 * without checksums, in the order of the slabs and of the blocks in them. Throws Shortage, also if
 * a slab belongs to another client now. */
dtx::Task<std::vector<Pointer>> take_blocks(Call &call, const Room &room, size_t count);

/* Awaited: free the blocks to which pointers led; holes are skipped. Of any owner; counted in the
 * call. */
dtx::Task<> free_blocks(Call &call, std::vector<Pointer> pointers);

/* The highest key that a slab of a shard can have. */
uint64_t last_slab_key(const Sizes &sizes, uint32_t shard);

/* Blocks of a slab that are not in use. */
uint32_t free_in(const SlabRow &row);

/* Of so many free blocks of a slab, those that a call may take. */
constexpr uint32_t usable(uint32_t free, bool reserve)
{
    uint32_t kept = reserve ? 0 : kReserveBlocks;

    return free > kept ? free - kept : 0;
}

} // namespace rfs
#endif
