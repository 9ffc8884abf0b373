/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.cc: the row of the table mounts.
 *
 * Tests: tests/unit/fs/client/mount_test.cpp
 */
#include "core/tree/mounts.h"

#include <dtx/cluster.h>

namespace rfs
{

static constexpr uint32_t kAlone = 1u << 31; /* in MountsRow::solo */

static uint32_t solo_of(uint32_t coordinator)
{
    return coordinator + 1;
}

dtx::Task<MountsRow> mounts(Call &call)
{
    auto row = co_await call.txn.read(call.tables().mounts, 0);

    co_return row.value_or(MountsRow{});
}

static dtx::Task<> put_mounts(Call &call, MountsRow row)
{
    row.changes++;

    bool written = co_await call.txn.write(call.tables().mounts, 0, row);

    if (!written)
        written = co_await add_row(call, call.tables().mounts, 0, row);
    need(written, { "mounts", 0 }, "it appeared within one transaction");
}

/* Who has the volume alone. A number that no client can have is damage, and is passed over. */
static std::optional<uint32_t> alone_in(const MountsRow &row)
{
    uint32_t coordinator = (row.solo & ~kAlone) - 1;

    if ((row.solo & kAlone) == 0 || coordinator >= kClientsMax || !row.clients.has(coordinator))
        return std::nullopt;
    return coordinator;
}

dtx::Task<Entry> add_client(Call &call, uint32_t coordinator)
{
    MountsRow row = co_await mounts(call);
    std::optional<uint32_t> alone = alone_in(row);
    Entry entry{ row.solo != 0, std::nullopt, row.changes };

    if (alone && *alone != coordinator) {
        entry.alone = alone;
        co_return entry;
    }
    row.clients.add(coordinator);
    row.solo = 0;
    co_await put_mounts(call, row);
    co_return entry;
}

dtx::Task<bool> take_alone(Call &call, uint32_t changes)
{
    MountsRow row = co_await mounts(call);
    bool same = row.changes == changes;

    if (same) {
        row.clients = {};
        row.clients.add(call.coordinator);
        row.solo = solo_of(call.coordinator) | kAlone;
        co_await put_mounts(call, row);
    }
    co_return same;
}

dtx::Task<bool> is_alone(Call &call)
{
    MountsRow row = co_await mounts(call);

    co_return alone_in(row) == call.coordinator;
}

dtx::Task<> remove_client(Call &call, uint32_t coordinator)
{
    MountsRow row = co_await mounts(call);

    row.clients.remove(coordinator);
    if ((row.solo & ~kAlone) == solo_of(coordinator))
        row.solo = 0;
    co_await put_mounts(call, row);
}

dtx::Task<> remove_dead_client(Call &call, uint32_t coordinator, uint32_t changes)
{
    MountsRow row = co_await mounts(call);

    if (row.changes != changes)
        co_return;
    row.clients.remove(coordinator);
    co_await put_mounts(call, row);
}

dtx::Task<> become_solo(Call &call)
{
    MountsRow row = co_await mounts(call);
    ClientSet others = row.clients;

    others.remove(call.coordinator);
    if (!row.clients.has(call.coordinator) || !others.empty() || row.solo != 0)
        co_return;
    row.solo = solo_of(call.coordinator);
    co_await put_mounts(call, row);
}

dtx::Task<bool> is_solo(Call &call)
{
    MountsRow row = co_await mounts(call);

    co_return row.solo == solo_of(call.coordinator);
}

} // namespace rfs
