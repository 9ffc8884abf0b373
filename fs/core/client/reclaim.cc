/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reclaim.cc: wait for room in a full volume.
 *
 * Tests: tests/unit/fs/client/orphans_test.cpp
 */
#include "core/client/client.h"
#include "core/client/mount.h"
#include "core/tree/orphans.h"

namespace rfs
{

static constexpr uint64_t kReclaimNs = 2500000000; /* two turns of the other clients, and more */
static constexpr uint64_t kLookNs = 50000000;
static constexpr uint32_t kOrphansMost = 1 << 16; /* of a shard, that are looked at */

/* Awaited: how many orphans there are that may be freed soon. @keep: from now on, do not count
 * those. */
dtx::Task<size_t> Client::count_orphans(bool keep)
{
    size_t count = 0;

    for (uint32_t shard = 0; shard < volume().shards; shard++) {
        auto body = [&](Call &call) { return list_orphans(call, shard, 0, kOrphansMost); };
        auto orphans = co_await this->call(kSelf, body);

        for (const Orphan &orphan : orphans) {
            count += open_orphans_.contains(orphan.ino) ? 0 : 1;
            if (keep)
                open_orphans_.insert(orphan.ino);
        }
    }
    co_return count;
}

dtx::Task<bool> Client::reclaim()
{
    size_t before = co_await count_orphans(false);
    uint64_t end = dtx::now_ns() + kReclaimNs;

    if (before == 0)
        co_return false;
    for (bool dead = true; dtx::now_ns() < end; dead = false) {
        (void)co_await look_at_orphans(*this, dead);
        size_t now = co_await count_orphans(false);

        if (now < before)
            co_return true;
        co_await session_.sleep_until(dtx::now_ns() + kLookNs);
    }
    (void)co_await count_orphans(true);
    co_return false;
}

} // namespace rfs
