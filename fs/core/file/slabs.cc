/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slabs.cc: rows of the table slabs.
 *
 * Tests: tests/unit/fs/file/slabs_test.cpp
 */
#include "core/file/slabs.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/format/keys.h"

#include <algorithm>
#include <bit>

namespace rfs
{

uint64_t last_slab_key(const Sizes &sizes, uint32_t shard)
{
    return key_of(shard, static_cast<uint32_t>(sizes.slabs - 1));
}

uint32_t free_in(const SlabRow &row)
{
    uint32_t free = kSlabBlocks;

    for (uint64_t word : row.used)
        free -= static_cast<uint32_t>(std::popcount(word));
    return free;
}

/* Takes up to @most free blocks of a slab, the lowest first. */
static void take_of(Slab slab, SlabRow &row, size_t most, std::vector<Pointer> &taken)
{
    size_t end = taken.size() + most;

    for (size_t word = 0; word < row.used.size() && taken.size() < end; word++)
        while (~row.used[word] != 0 && taken.size() < end) {
            int bit = std::countr_one(row.used[word]);

            row.used[word] |= 1ull << bit;
            taken.push_back(point_to(slab.shard, uint64_t{ slab.number } * kSlabBlocks + 64 * word +
                                                     static_cast<uint64_t>(bit)));
        }
}

dtx::Task<std::vector<Pointer>> take_blocks(Call &call, const Room &room, size_t count)
{
    std::vector<Pointer> taken;

    RFS_ASSERT(call.owner != 0);
    taken.reserve(count);
    for (Slab slab : room.slabs) {
        uint64_t key = key_of(slab.shard, slab.number);
        auto row = co_await call.txn.read(call.tables().slabs, key);

        if (!row || (row->owner != call.owner && !canary(Canary::slab_shared)))
            continue;

        size_t before = taken.size();

        take_of(slab, *row, std::min<size_t>(count - before, usable(free_in(*row), room.reserve)),
                taken);
        if (taken.size() != before)
            (void)co_await call.txn.write(call.tables().slabs, key, *row);
        if (taken.size() == count)
            break;
    }
    if (taken.size() < count)
        throw Shortage{ count };
    call.taken += count;
    co_return taken;
}

dtx::Task<> free_blocks(Call &call, std::vector<Pointer> pointers)
{
    std::erase_if(pointers, [](const Pointer &pointer) { return pointer.is_hole(); });
    call.freed += pointers.size();
    std::sort(pointers.begin(), pointers.end(),
              [](const Pointer &a, const Pointer &b) { return a.place < b.place; });
    for (size_t i = 0; i < pointers.size();) {
        uint64_t number = pointers[i].block() / kSlabBlocks;
        uint32_t shard = pointers[i].shard();
        uint64_t key = key_of(shard, static_cast<uint32_t>(number));
        auto found = co_await call.txn.read(call.tables().slabs, key);
        SlabRow row =
            need(found, { "slabs", key }, "it does not exist, but a pointer leads into the slab");

        for (; i < pointers.size() && pointers[i].shard() == shard &&
               pointers[i].block() / kSlabBlocks == number;
             i++) {
            uint64_t at = pointers[i].block() % kSlabBlocks;

            need((row.used[at / 64] >> at % 64 & 1) != 0, { "slabs", key },
                 "it marks a block as free to which a pointer leads");
            row.used[at / 64] &= ~(1ull << at % 64);
        }
        (void)co_await call.txn.write(call.tables().slabs, key, row);
    }
}

} // namespace rfs
