/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage.cc: add up the slabs.
 *
 * Tests: tests/unit/fs/client/usage_test.cpp
 */
#include "core/client/usage.h"

#include "core/format/keys.h"

#include <algorithm>

namespace rfs
{

static constexpr uint32_t kRowsAtOnce = 256; /* read in one transaction */

/* Awaited: the blocks of a shard. */
static dtx::Task<Blocks> count_in(Client &client, uint32_t shard)
{
    const Sizes &sizes = client.volume().tables.sizes;
    uint64_t last = last_slab_key(sizes, shard);
    uint64_t unused = sizes.slabs;
    Blocks blocks{ sizes.blocks(), 0, 0 };

    for (uint64_t from = key_of(shard, 0); from <= last;) {
        auto body = [&](Call &call) {
            return call.txn.scan(call.tables().slabs, from, last, kRowsAtOnce);
        };
        auto rows = co_await client.call(kSelf, body);

        for (const auto &[key, row] : rows) {
            blocks.free += free_in(row);
            blocks.usable += usable(free_in(row), false);
        }
        unused -= std::min<uint64_t>(unused, rows.size());
        if (rows.size() < kRowsAtOnce)
            break;
        from = rows.back().first + 1;
    }
    blocks.free += unused * kSlabBlocks;
    blocks.usable += unused * usable(kSlabBlocks, false);
    co_return blocks;
}

dtx::Task<Blocks> count_blocks(Client &client)
{
    Blocks all{};

    for (uint32_t shard = 0; shard < client.volume().shards; shard++) {
        Blocks here = co_await count_in(client, shard);

        all.all += here.all;
        all.free += here.free;
        all.usable += here.usable;
    }
    co_return all;
}

} // namespace rfs
