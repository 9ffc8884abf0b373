/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.cc: look at the orphans of all shards.
 *
 * Tests: tests/unit/fs/client/orphans_test.cpp
 */
#include "core/client/mount.h"

#include "core/client/files.h"
#include "core/client/locks.h"
#include "core/tree/mounts.h"
#include "core/tree/orphans.h"

#include <librpm.h>

#include <string>

namespace rfs
{

static constexpr uint32_t kOrphansAtOnce = 256; /* read in one transaction */

/* Awaited: a client is off an orphan; if it was the last one, the file is freed. */
static dtx::Task<> release(Client &client, uint32_t ino, uint32_t coordinator)
{
    bool last = co_await client.call(
        kSelf, [ino, coordinator](Call &call) { return let_go(call, ino, coordinator); });

    if (last)
        co_await free_file(client, ino);
}

namespace
{

/* Which clients live, as far as one look has asked. To ask takes a connection to each server. */
struct Asked {
    ClientSet living;
    ClientSet dead;
};

} // namespace

/* Awaited: has another client died? It is fenced then. */
static dtx::Task<bool> is_dead(Client &client, uint32_t coordinator, Asked &asked)
{
    if (coordinator == client.session().coordinator())
        co_return false;
    if (!asked.living.has(coordinator) && !asked.dead.has(coordinator)) {
        dtx::Life life = co_await client.session().inherit(coordinator);

        (life == dtx::Life::died ? asked.dead : asked.living).add(coordinator);
    }
    co_return asked.dead.has(coordinator);
}

/* Awaited: take off the clients that hold an orphan and have died. A client that has joined since
 * with the same number does not hold it: the file had lost its names before. */
static dtx::Task<> release_dead(Client &client, Orphan orphan, Asked &asked)
{
    for (uint32_t c = 0; c < kClientsMax; c++) {
        bool dead = false;

        if (orphan.clients.has(c))
            dead = co_await is_dead(client, c, asked);
        if (dead)
            co_await release(client, orphan.ino, c);
    }
}

/* Awaited: one orphan. @asked: nullptr: do not ask who has died. */
static dtx::Task<> look_at(Client &client, Orphan orphan, Asked *asked)
{
    uint32_t own = client.session().coordinator();

    if (orphan.clients.has(own) && !client.open_files().has(orphan.ino))
        co_await release(client, orphan.ino, own);
    else if (orphan.clients.empty())
        co_await free_file(client, orphan.ino); /* its last client died while it freed it */
    if (asked != nullptr)
        co_await release_dead(client, orphan, *asked);
}

/* Awaited: the same. An orphan whose rows are damaged stays. Returns what is wrong with it; "":
 * nothing. */
static dtx::Task<std::string> fault_of_orphan(Client &client, Orphan orphan, Asked *asked)
{
    try {
        co_await look_at(client, orphan, asked);
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_CORRUPT)
            throw;
        co_return error.what();
    }
    co_return "";
}

dtx::Task<std::string> look_at_orphans(Client &client, bool dead)
{
    Asked asked{};
    std::string fault;

    for (uint32_t shard = 0; shard < client.volume().shards; shard++)
        for (uint32_t from = 0;;) {
            auto body = [&](Call &call) { return list_orphans(call, shard, from, kOrphansAtOnce); };
            auto orphans = co_await client.call(kSelf, body);

            for (const Orphan &orphan : orphans) {
                std::string found =
                    co_await fault_of_orphan(client, orphan, dead ? &asked : nullptr);

                fault = fault.empty() ? found : fault;
            }
            if (orphans.size() < kOrphansAtOnce || orphans.back().ino == UINT32_MAX)
                break;
            from = orphans.back().ino + 1;
        }
    co_return fault;
}

/* Awaited: take clients off that have died, after their locks. */
static dtx::Task<> remove_dead(Client &client, Asked &asked)
{
    MountsRow row = co_await client.call(kSelf, [](Call &call) { return mounts(call); });

    for (uint32_t c = 0; c < kClientsMax; c++) {
        auto body = [&](Call &call) { return remove_dead_client(call, c, row.changes); };
        bool dead = false;

        if (row.clients.has(c))
            dead = co_await is_dead(client, c, asked);
        if (!dead)
            continue;
        co_await drop_locks_of_dead(client, c, row.changes);
        co_await client.call(kSelf, body);
        co_return; /* the row has changed; the next look takes the next one */
    }
}

dtx::Task<> take_turn(Client &client, bool dead)
{
    Asked asked{};

    std::string fault = co_await look_at_orphans(client, dead);

    if (dead)
        co_await remove_dead(client, asked);
    co_await client.space().share();
    co_await client.call(kSelf, [](Call &call) { return become_solo(call); });
    if (!fault.empty())
        throw dtx::Error(RPM_E_CORRUPT, fault);
}

dtx::Task<> mount(Client &client)
{
    co_await client.enter();
    co_await drop_own_locks(client);
    (void)co_await look_at_orphans(client, false);
}

dtx::Task<> unmount(Client &client)
{
    co_await drop_own_locks(client);
    (void)co_await look_at_orphans(client, false);
    co_await client.leave();
}

dtx::Task<> close_file(Client &client, uint32_t ino)
{
    auto body = [ino](Call &call) -> dtx::Task<bool> {
        auto row = co_await call.txn.read(call.tables().inodes, ino);
        bool held = false;

        if (row && row->links == 0) /* else it is no orphan: the usual case reads one row */
            held = co_await is_held(call, ino);
        co_return held;
    };
    bool held = co_await client.call(kSelf, body);

    if (held && !client.open_files().has(ino))
        co_await release(client, ino, client.session().coordinator());
}

} // namespace rfs
