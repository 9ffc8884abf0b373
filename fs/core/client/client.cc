/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.cc: begin calls, and ask whether other clients live.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#include "core/client/client.h"

#include "core/base/canary.h"
#include "core/client/clock.h"
#include "core/lock/locks.h"
#include "core/tree/mounts.h"
#include <dtx/error.h>

namespace rfs
{

/* How long a client waits that has ended another's time as the solo client: longer than kKeepNs. */
static constexpr uint64_t kWaitNs = kKeepNs + kKeepNs / 10;
static constexpr uint64_t kAgainNs = 1000000;  /* between looks whether another call has entered */
static constexpr uint64_t kAwayNs = 50000000;  /* between looks whether one has come back */
static constexpr uint64_t kAskNs = 1000000000; /* between questions whether a client lives */
/* So long after show_life() began, a client cannot have been taken for dead, unless it was cut off:
 * less than the lease of rows that a transaction has locked (dtx). */
static constexpr uint64_t kSurelyAliveNs = 1500000000;

static uint64_t random_seed()
{
    uint64_t seed = 0;

    fill_random(&seed, sizeof(seed));
    return seed;
}

Client::Client(const OpenVolume &open, dtx::Listener *listener)
    : open_(open), session_(*open.cluster, dtx::kAnyCoordinator, listener), random_(random_seed())
{
}

Client::~Client()
{
    try {
        finish(space_.give_back());
    } catch (const dtx::Error &) { /* a server does not answer */
    } catch (const Failure &) {    /* the outcome is unknown */
    }
}

void Client::finish(dtx::Task<> task)
{
    session_.run_one(std::move(task));
}

/* Awaited. Returns whether the client has to wait before its first call. */
dtx::Task<bool> Client::enter_with_others()
{
    for (;;) {
        auto body = [](Call &call) { return add_client(call, call.coordinator); };
        Entry entry = co_await run_once<Entry>(kSelf, body, false);

        if (!entry.alone)
            co_return entry.waits;

        bool died = co_await inherit(*entry.alone);

        if (!died)
            throw dtx::Error(RPM_E_BUSY, "rpm-fs check --repair (client number " +
                                             std::to_string(client_number(*entry.alone)) +
                                             ") keeps other clients out of the volume: try again "
                                             "when it has ended");

        auto remove = [&](Call &call) {
            return remove_dead_client(call, *entry.alone, entry.changes);
        };

        co_await run_once<void>(kSelf, remove, false);
    }
}

void fail_in_use(uint32_t coordinator)
{
    throw dtx::Error(RPM_E_OWNED, "a client that lives (number " +
                                      std::to_string(client_number(coordinator)) +
                                      ") has the volume open: unmount it everywhere, end programs "
                                      "that use it by librpmfs, and try again");
}

/* Awaited. False: another client has come or gone meanwhile. */
dtx::Task<bool> Client::take_alone_once()
{
    auto read = [](Call &call) { return mounts(call); };
    MountsRow row = co_await run_once<MountsRow>(kSelf, read, false);

    row.clients.remove(session_.coordinator());
    for (bool waits : { false, true }) /* those that are away have the same time to come back */
        for (uint32_t c = 0; c < kClientsMax; c++) {
            dtx::Life life = dtx::Life::died;

            if (row.clients.has(c))
                life = co_await look_at(c, waits);
            if (life == dtx::Life::alive)
                fail_in_use(c);
        }

    auto take = [&](Call &call) { return take_alone(call, row.changes); };

    co_return co_await run_once<bool>(kSelf, take, false);
}

dtx::Task<> Client::enter_alone()
{
    alone_ = true;
    try {
        co_await enter();
    } catch (...) {
        alone_ = false;
        throw;
    }
}

dtx::Task<> Client::enter()
{
    uint64_t joined = session_.rejoined();
    bool waits = true;

    if (alone_)
        for (bool taken = false; !taken;)
            taken = co_await take_alone_once();
    else
        waits = co_await enter_with_others();
    if (waits && !canary(Canary::solo_no_wait))
        co_await session_.sleep_until(dtx::now_ns() + kWaitNs);
    co_await look_for_locks();
    joined_ = joined;
    entered_ = true;
    entries_++;
}

/* Awaited, after the table mounts says that the client has entered: a client that took it for dead
 * before has dropped its locks by now, or leaves them (client/locks.cc). */
dtx::Task<> Client::look_for_locks()
{
    uint16_t own = client_number(session_.coordinator());
    std::vector<WatchedLocks::Owner> owners = watched_locks_.owners();

    for (const WatchedLocks::Owner &owner : owners) {
        LockRow of{ 0, kLockEnd, owner.number, 0, own, owner.kind, LockType::none };
        auto body = [&](Call &call) { return has_locks(call, owner.ino, of); };
        bool has = co_await run_once<bool>(kSelf, body, false);

        if (!has)
            watched_locks_.lost(owner);
    }
}

dtx::Task<> Client::show_life(bool beats)
{
    uint64_t begin = dtx::now_ns();
    auto body = [beats](Call &call) {
        return put_beat(call, client_number(call.coordinator), beats);
    };

    shows_life_ = true;
    try {
        co_await call(kSelf, body);
    } catch (...) {
        shows_life_ = false;
        throw;
    }
    shows_life_ = false;
    lived_ns_ = begin;
}

/* After a call by an open file: may it have lost its locks before? A fence stops the writes of a
 * client that was taken for dead, and not what it reads. */
bool Client::must_confirm_locks(const Credentials &who) const
{
    return who.lost != nullptr && lived_ns_ + kSurelyAliveNs < dtx::now_ns() &&
           watched_locks_.has(who.lost);
}

dtx::Task<> Client::confirm_locks()
{
    uint64_t called_ns = dtx::now_ns();

    while (lived_ns_ + kSurelyAliveNs < called_ns)
        if (shows_life_)
            co_await session_.sleep_until(dtx::now_ns() + kAgainNs);
        else
            co_await show_life(false);
}

dtx::Task<> Client::leave()
{
    entered_ = false;
    alone_ = false;
    co_await call(kSelf, [](Call &call) { return remove_client(call, call.coordinator); });
}

/* Awaited: of calls that run beside each other, one enters, and the others wait. */
dtx::Task<> Client::enter_again()
{
    if (entering_) {
        co_await session_.sleep_until(dtx::now_ns() + kAgainNs);
        co_return;
    }
    entering_ = true;
    try {
        co_await enter();
    } catch (...) {
        entering_ = false;
        throw;
    }
    entering_ = false;
}

/* Awaited. @waits: until the client with that number is not away any more. */
dtx::Task<dtx::Life> Client::look_at(uint32_t coordinator, bool waits)
{
    dtx::Life life = co_await session_.inherit(coordinator);

    while (waits && life == dtx::Life::away) {
        co_await session_.sleep_until(dtx::now_ns() + kAwayNs);
        life = co_await session_.inherit(coordinator);
    }
    co_return life;
}

dtx::Task<bool> Client::inherit(uint32_t coordinator)
{
    dtx::Life life = co_await look_at(coordinator, true);

    co_return life == dtx::Life::died;
}

dtx::Task<bool> Client::has_died(uint32_t coordinator, uint64_t beat)
{
    RFS_ASSERT(coordinator < kClientsMax && coordinator != session_.coordinator());

    uint64_t &asked_ns = asked_ns_[coordinator];
    uint64_t now = dtx::now_ns();

    if (seen_beats_.has_stood_still(coordinator, beat, now)) {
        co_await session_.recover(coordinator);
        co_return true;
    }
    if (asked_ns != 0 && now < asked_ns + kAskNs)
        co_return false;
    asked_ns = now; /* also if a server does not answer */

    bool died = canary(Canary::lock_early);

    if (!died) {
        dtx::Life life = co_await session_.inherit(coordinator);

        died = life == dtx::Life::died;
    }
    if (died)
        asked_ns = 0;
    co_return died;
}

uint64_t Client::owner()
{
    uint64_t joined = session_.rejoined();

    if (owner_ == 0 || owner_joined_ != joined)
        owner_ = owner_of(session_.coordinator(), random_.next());
    owner_joined_ = joined;
    return owner_;
}

Call Client::begin(dtx::Txn &txn, const Credentials &who)
{
    expect(who.lost == nullptr || !*who.lost, EIO);
    return Call{ txn,     open_.volume, who,      open_files_, session_.coordinator(),
                 owner(), random_,      wall_ns() };
}

} // namespace rfs
