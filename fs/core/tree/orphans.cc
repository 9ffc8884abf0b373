/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.cc: rows of the table orphans.
 *
 * Tests: tests/unit/fs/client/orphans_test.cpp
 */
#include "core/tree/orphans.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/format/keys.h"
#include "core/tree/mounts.h"

#include <bit>
#include <optional>

namespace rfs
{

static uint64_t orphan_key(const Call &call, uint32_t ino)
{
    return key_of(shard_of(ino, call.volume.shards), ino);
}

/* Has each client let an orphan go? */
static bool is_let_go(const ClientSet &clients)
{
    if (canary(Canary::orphan_early))
        return std::popcount(clients.bits[0]) + std::popcount(clients.bits[1]) <= 1;
    return clients.empty();
}

dtx::Task<> add_orphan(Call &call, uint32_t ino)
{
    MountsRow open = co_await mounts(call);
    OrphanRow row{ open.clients };

    if (call.open.has(ino))
        row.clients.add(call.coordinator);
    else
        row.clients.remove(call.coordinator);

    bool added = co_await add_row(call, call.tables().orphans, orphan_key(call, ino), row);

    need(added, { "orphans", orphan_key(call, ino) }, "it exists, although the file had a name");
}

dtx::Task<bool> is_held(Call &call, uint32_t ino)
{
    auto row = co_await call.txn.read(call.tables().orphans, orphan_key(call, ino));

    co_return row && !is_let_go(row->clients);
}

dtx::Task<bool> let_go(Call &call, uint32_t ino, uint32_t coordinator)
{
    auto row = co_await call.txn.read(call.tables().orphans, orphan_key(call, ino));

    if (!row)
        co_return true;
    if (row->clients.has(coordinator)) {
        row->clients.remove(coordinator);
        (void)co_await call.txn.write(call.tables().orphans, orphan_key(call, ino), *row);
    }
    co_return is_let_go(row->clients);
}

dtx::Task<std::vector<Orphan>> list_orphans(Call &call, uint32_t shard, uint32_t from,
                                            uint32_t limit)
{
    auto rows = co_await call.txn.scan(call.tables().orphans, key_of(shard, from),
                                       key_of(shard, UINT32_MAX), limit);
    std::vector<Orphan> orphans;

    for (const auto &[key, row] : rows)
        orphans.push_back({ lower_half(key), row.clients });
    co_return orphans;
}

} // namespace rfs
