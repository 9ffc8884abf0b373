/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks.h: a client waits for locks of files (lock/locks.h), and drops those of dead clients.
 *
 * A client that waits for a lock polls, so its wait costs the holder nothing, and the client that
 * has waited longest need not get the lock next. No client detects deadlocks, whose processes may
 * be at several mounts: EDEADLK is never returned. A signal ends a wait.
 *
 * A lock lasts until other clients take its client for dead: all its connections are closed, or it
 * is a mount whose heartbeat stands still (seen_beats.h). Then a client that waits for one of its
 * locks, or looks for dead clients (take_turn()), fences it and drops its locks; mount() of a
 * client that joins with its number drops them as well.
 * If the fenced client was only stopped or cut off, its session joins the database again with the
 * same number, and it enters the volume again, without these locks. Before its next call it tells
 * the owners that it watches (Client::watched_locks()): open files of the library and of mounts,
 * whose calls fail from then on. A rejoined session does not know whether locks were dropped, so it
 * reads them. A call by an open file with locks returns only if the client has committed a row
 * since, or within 1.5 s before, which a fenced client cannot: so its locks were there during the
 * call (show_life()).
 *
 * Tests: tests/unit/fs/lock/locks_test.cpp
 */
#ifndef FS_CORE_CLIENT_LOCKS_H
#define FS_CORE_CLIENT_LOCKS_H

#include "core/client/client.h"
#include "core/lock/locks.h"

#include <cstdint>
#include <functional>

namespace rfs
{

/* Awaited: set a lock of this client, or unlock a range. @wanted: its client is set here. Failure:
 * as of set_lock(); EAGAIN, another owner has it, and not @waits; EINTR, @interrupted returned true
 * while it waited. A flock() that has to wait gives up first what its owner had, as on Linux: two
 * readers that both want to write would wait for each other for ever. */
dtx::Task<> lock_file(Client &client, uint32_t ino, LockRow wanted, bool waits,
                      std::function<bool()> interrupted);

/* Awaited: the same, and WatchedLocks::add() after a lock was set; again if the client has entered
 * the volume anew meanwhile: it may have been taken for dead before it watched the lock. @lost:
 * borrowed until WatchedLocks::forget(). */
dtx::Task<> lock_watched(Client &client, uint32_t ino, LockRow wanted, bool waits,
                         std::function<bool()> interrupted, bool *lost);

/* Awaited: an owner has unlocked a range: if it has no lock any more, it is not watched on. */
dtx::Task<> unwatch_unlocked(Client &client, WatchedLocks::Owner owner);

/* Awaited: drop the locks that an owner of this client has on a file. */
dtx::Task<> drop_owner(Client &client, uint32_t ino, uint64_t owner);

/* Awaited: drop all locks under this client's number: its own, or those of a dead client that had
 * the number before. */
dtx::Task<> drop_own_locks(Client &client);

/* Awaited: drop all locks of a client that has died, unless the table mounts has changed since
 * @changes was read from it: then another client may have the number (tree/mounts.h). */
dtx::Task<> drop_locks_of_dead(Client &client, uint32_t coordinator, uint32_t changes);

} // namespace rfs
#endif
