/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orphans.h: files without names that clients may still have open.
 *
 * The table mounts has the clients that have the volume open. When a file loses its last name, the
 * same transaction notes these clients in a row of the table orphans, all but the caller, who knows
 * whether it has the file open. Each client looks at the orphans once in a while and takes itself
 * off those that it has not open; one whose clients have all done so is freed. No client can open
 * the file meanwhile, since no name leads to it. So opening and closing files costs no transaction.
 *
 * Tests: tests/unit/fs/client/orphans_test.cpp
 */
#ifndef FS_CORE_TREE_ORPHANS_H
#define FS_CORE_TREE_ORPHANS_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstdint>
#include <vector>

namespace rfs
{

/* Awaited: note a file that has lost its last name. */
dtx::Task<> add_orphan(Call &call, uint32_t ino);

/* Awaited: may a client have this orphan open? False also if it is no orphan. */
dtx::Task<bool> is_held(Call &call, uint32_t ino);

/* Awaited: take a client, by its coordinator number, off an orphan. True: no client is left. */
dtx::Task<bool> let_go(Call &call, uint32_t ino, uint32_t coordinator);

/* An orphan, and the clients that may have it open. */
struct Orphan {
    uint32_t ino;
    ClientSet clients;
};

/* Awaited: at most @limit orphans of a shard, from number @from on. */
dtx::Task<std::vector<Orphan>> list_orphans(Call &call, uint32_t shard, uint32_t from,
                                            uint32_t limit);

} // namespace rfs
#endif
