/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks.h: advisory locks of a file, as of fcntl(2) and flock(2), within a call.
 *
 * An owner is told apart by client, number and kind; locks of different kinds ignore each other, as
 * on Linux. All locks of a file are read by one scan, so that calls that lock one file at the same
 * time run one after the other. A client's first lock of a file also adds a row to the table
 * locked_files, by which the locks of a dead client are found. A further one is its heartbeat.
 *
 * Invariants
 *   ranges of one owner do not overlap, and two that touch are of different types
 *   of two locks of different owners that overlap, both are for reading
 *   the client of a lock has a row in locked_files for its file
 *   a file without an inode has no locks
 *
 * Tests: tests/unit/fs/lock/locks_test.cpp
 */
#ifndef FS_CORE_LOCK_LOCKS_H
#define FS_CORE_LOCK_LOCKS_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rfs
{

/* Do both have the same owner? */
bool same_owner(const LockRow &one, const LockRow &other);
/* Can both not be held at once? False if they have the same owner. */
bool conflict(const LockRow &one, const LockRow &other);

/* Can they be rows of one file? Of the check: calls keep it so. */
bool is_sound(const LockRow &lock);
bool fit_together(const LockRow &one, const LockRow &other);

/* Awaited: set a lock, of a type instead of another one, or unlock a range (LockType::none): ranges
 * of the owner's locks are split, merged and replaced. Returns the first lock that conflicts; then
 * nothing has changed, and the owner has what it had. Failure: EINVAL, no such range; ENOLCK, the
 * file or the volume would have too many locks; ESTALE. */
dtx::Task<std::optional<LockRow>> set_lock(Call &call, uint32_t ino, LockRow wanted);

/* Awaited: the lock with the lowest start that conflicts with a wanted one. */
dtx::Task<std::optional<LockRow>> test_lock(Call &call, uint32_t ino, LockRow wanted);

/* Awaited: all locks that conflict with a wanted one. */
dtx::Task<std::vector<LockRow>> list_conflicts(Call &call, uint32_t ino, LockRow wanted);

/* Awaited: has the owner of @of any lock on a file, of that kind? */
dtx::Task<bool> has_locks(Call &call, uint32_t ino, LockRow of);

/* The next four are awaited, and do nothing if there are no such locks.
 * Drop the locks that an owner has on a file, of both kinds. @client: client_number(). */
dtx::Task<> drop_locks(Call &call, uint32_t ino, uint16_t client, uint64_t owner);
/* All locks of the owners of @seen, which are of dead clients. */
dtx::Task<> drop_seen(Call &call, uint32_t ino, std::vector<LockRow> seen);
/* All locks of a client. */
dtx::Task<> drop_locks_of_client(Call &call, uint32_t ino, uint16_t client);
/* All locks of a file, which is to be freed. */
dtx::Task<> drop_all_locks(Call &call, uint32_t ino);

/* Awaited: write a client's heartbeat, one higher if it @beats; and read it. 0: it has none. */
dtx::Task<> put_beat(Call &call, uint16_t client, bool beats);
dtx::Task<uint64_t> beat_of(Call &call, uint16_t client);

/* Awaited: at most @limit files on which a client may have locks, kBeatFile among them. */
dtx::Task<std::vector<uint32_t>> list_locked_files(Call &call, uint16_t client, uint32_t limit);

} // namespace rfs
#endif
