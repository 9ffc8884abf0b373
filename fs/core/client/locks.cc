/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks.cc: try again and again, and look for dead holders in between.
 *
 * Tests: tests/unit/fs/lock/locks_test.cpp
 */
#include "core/client/locks.h"

#include "core/base/canary.h"
#include "core/tree/mounts.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rfs
{

static constexpr uint64_t kPauseMinNs = 1000000;
static constexpr uint64_t kPauseMaxNs = 50000000;
static constexpr uint32_t kFilesAtOnce = 256; /* read in one transaction */

static uint16_t number_of(Client &client)
{
    return client_number(client.session().coordinator());
}

namespace
{

/* Which clients have died, as far as one look has asked. */
class Dead
{
  public:
    explicit Dead(Client &client) : client_(client) {}

    /* Awaited. @number: of a client. */
    dtx::Task<bool> has(uint16_t number, uint64_t beat)
    {
        uint32_t coordinator = number - 1u;

        if (number == number_of(client_))
            co_return false;
        if (!asked_.has(coordinator)) {
            asked_.add(coordinator);

            bool is_dead = co_await died(coordinator, beat);

            if (is_dead)
                dead_.add(coordinator);
        }
        co_return dead_.has(coordinator);
    }

  private:
    /* If a server does not answer, the client is taken to live until the next look. */
    dtx::Task<bool> died(uint32_t coordinator, uint64_t beat)
    {
        bool found = false;

        try {
            found = co_await client_.has_died(coordinator, beat);
        } catch (const dtx::Error &) {
        }
        co_return found;
    }

    Client &client_;
    ClientSet asked_{};
    ClientSet dead_{};
};

/* Locks of others, and what the table mounts and heartbeats said when they were there. */
struct Seen {
    std::vector<LockRow> locks;
    std::map<uint16_t, uint64_t> beats; /* by client */
    uint32_t changes = 0;
};

} // namespace

/* Awaited: drops the locks of dead clients that conflict with a wanted one. True: it dropped some.
 * If a client has entered or left the volume since, it may be one of the dead that has joined again
 * and has found its locks (Client::enter()): then this drops none, and the caller tries again. */
static dtx::Task<bool> drop_dead(Client &client, uint32_t ino, LockRow wanted)
{
    Dead dead(client);
    auto list = [&](Call &call) -> dtx::Task<Seen> {
        MountsRow row = co_await mounts(call);
        Seen all;

        all.changes = row.changes;
        all.locks = co_await list_conflicts(call, ino, wanted);
        for (const LockRow &lock : all.locks)
            if (all.beats.count(lock.client) == 0)
                all.beats[lock.client] = co_await beat_of(call, lock.client);
        co_return all;
    };
    Seen seen = co_await client.call(kSelf, list);

    std::vector<LockRow> left; /* locks whose clients have died */

    for (const LockRow &lock : seen.locks) {
        bool is_dead = co_await dead.has(lock.client, seen.beats[lock.client]);

        if (is_dead)
            left.push_back(lock);
    }
    if (left.empty() || canary(Canary::lock_survives))
        co_return false;

    auto drop = [&](Call &call) -> dtx::Task<bool> {
        MountsRow row = co_await mounts(call);

        if (row.changes != seen.changes)
            co_return false;
        co_await drop_seen(call, ino, left);
        co_return true;
    };

    co_return co_await client.call(kSelf, drop);
}

dtx::Task<> lock_file(Client &client, uint32_t ino, LockRow wanted, bool waits,
                      std::function<bool()> interrupted)
{
    uint64_t pause_ns = kPauseMinNs;
    bool has_given_up = wanted.kind != LockKind::flock; /* what the owner had */
    auto set = [&](Call &call) { return set_lock(call, ino, wanted); };

    wanted.client = number_of(client);
    for (;;) {
        std::optional<LockRow> holder = co_await client.call(kSelf, set);
        bool dropped = false;

        if (!holder)
            co_return;
        if (!waits || pause_ns == kPauseMaxNs)
            dropped = co_await drop_dead(client, ino, wanted);
        if (dropped)
            continue;
        expect(waits, EAGAIN);
        if (!std::exchange(has_given_up, true))
            co_await drop_owner(client, ino, wanted.owner);
        expect(!interrupted(), EINTR);
        co_await client.session().sleep_until(dtx::now_ns() + pause_ns);
        expect(!interrupted(), EINTR);
        pause_ns = std::min(2 * pause_ns, kPauseMaxNs);
    }
}

dtx::Task<> lock_watched(Client &client, uint32_t ino, LockRow wanted, bool waits,
                         std::function<bool()> interrupted, bool *lost)
{
    for (uint64_t entries = UINT64_MAX; entries != client.entries();) {
        entries = client.entries();
        co_await lock_file(client, ino, wanted, waits, interrupted);
    }
    if (wanted.type != LockType::none)
        client.watched_locks().add({ ino, wanted.owner, wanted.kind }, lost);
}

dtx::Task<> unwatch_unlocked(Client &client, WatchedLocks::Owner owner)
{
    uint64_t since = client.watched_locks().changes();
    LockRow of{ 0, kLockEnd, owner.number, 0, number_of(client), owner.kind, LockType::none };
    auto body = [&](Call &call) { return has_locks(call, owner.ino, of); };

    if (!client.watched_locks().has(owner))
        co_return;
    try {
        bool has = co_await client.call(kSelf, body);

        if (!has)
            client.watched_locks().remove(owner, since);
    } catch (...) { /* a server is away; the owner is watched on */
    }
}

dtx::Task<> drop_owner(Client &client, uint32_t ino, uint64_t owner)
{
    uint16_t own = number_of(client);
    auto drop = [=](Call &call) { return drop_locks(call, ino, own, owner); };

    co_await client.call(kSelf, drop);
}

dtx::Task<> drop_own_locks(Client &client)
{
    uint16_t own = number_of(client);
    auto list = [own](Call &call) { return list_locked_files(call, own, kFilesAtOnce); };
    std::vector<uint32_t> files;

    do {
        files = co_await client.call(kSelf, list);
        for (uint32_t ino : files) {
            auto drop = [own, ino](Call &call) { return drop_locks_of_client(call, ino, own); };

            co_await client.call(kSelf, drop);
        }
    } while (!files.empty());
}

dtx::Task<> drop_locks_of_dead(Client &client, uint32_t coordinator, uint32_t changes)
{
    uint16_t dead = client_number(coordinator);
    auto list = [dead](Call &call) { return list_locked_files(call, dead, kFilesAtOnce); };
    std::vector<uint32_t> files = co_await client.call(kSelf, list);

    if (canary(Canary::lock_survives))
        co_return;
    for (bool still = true; still && !files.empty();) {
        uint32_t ino = files.back();
        auto drop = [&](Call &call) -> dtx::Task<bool> {
            MountsRow row = co_await mounts(call);

            if (row.changes != changes)
                co_return false;
            co_await drop_locks_of_client(call, ino, dead);
            co_return true;
        };

        still = co_await client.call(kSelf, drop);
        files.pop_back();
        if (files.empty())
            files = co_await client.call(kSelf, list);
    }
}

} // namespace rfs
