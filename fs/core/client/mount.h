/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.h: a client opens and closes a volume; its part in freeing files that have lost their names
 * (tree/orphans.h).
 *
 * Tests: tests/unit/fs/client/orphans_test.cpp
 */
#ifndef FS_CORE_CLIENT_MOUNT_H
#define FS_CORE_CLIENT_MOUNT_H

#include "core/client/client.h"

#include <cstdint>
#include <string>

namespace rfs
{

/* Awaited: note that the client has the volume open. If another one was the solo client, waits for
 * about a second (mounts.h). Drops the locks that an earlier client with the same coordinator
 * number has left, and frees the files that it has held, and what has been left half freed. */
dtx::Task<> mount(Client &client);

/* Awaited: the client has no file open any more: drop its locks, let go of all orphans, free those
 * that no other client holds, and note that this client has closed the volume. */
dtx::Task<> unmount(Client &client);

/* Awaited: what a client does about once a second: look_at_orphans(), give slabs back that others
 * may need (Space::share()), and become the solo client if it is alone. @dead: as of
 * look_at_orphans(), and note that these clients have closed the volume; about every tenth time.
 * Throws dtx::Error, RPM_E_CORRUPT, at the end: an orphan is damaged. */
dtx::Task<> take_turn(Client &client, bool dead);

/* Awaited: let go of orphans that this client has not open, and free those that no client holds.
 * @dead: also take off clients that have died. Orphans whose rows are damaged stay; returns what is
 * wrong with the first of them, "": there is none. */
dtx::Task<std::string> look_at_orphans(Client &client, bool dead);

/* Awaited: the client has closed a file for the last time: free it if it has no name and no other
 * client holds it. */
dtx::Task<> close_file(Client &client, uint32_t ino);

} // namespace rfs
#endif
