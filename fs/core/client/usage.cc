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

/* Awaited: blocks of a shard that are in use. */
static dtx::Task<uint64_t> count_used(Client &client, uint32_t shard)
{
    uint64_t used = 0;

    uint64_t last = last_slab_key(client.volume().tables.sizes, shard);

    for (uint64_t from = key_of(shard, 0); from <= last;) {
        auto body = [&](Call &call) {
            return call.txn.scan(call.tables().slabs, from, last, kRowsAtOnce);
        };
        auto rows = co_await client.call(kSelf, body);

        for (const auto &[key, row] : rows)
            used += kSlabBlocks - free_in(row);
        if (rows.size() < kRowsAtOnce)
            break;
        from = rows.back().first + 1;
    }
    co_return used;
}

dtx::Task<Blocks> count_blocks(Client &client)
{
    const Volume &volume = client.volume();
    Blocks blocks{ volume.tables.sizes.blocks() * volume.shards, 0 };
    uint64_t used = 0;

    for (uint32_t shard = 0; shard < volume.shards; shard++)
        used += co_await count_used(client, shard);
    blocks.free = blocks.all - std::min(used, blocks.all);
    co_return blocks;
}

} // namespace rfs
