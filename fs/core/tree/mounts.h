/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h: the clients that have the volume open, in the one row of the table mounts.
 *
 * A client that is alone may become the solo client: while it is, its callers may keep the
 * attributes and names that a call returned for kKeepNs, if the call has also read that it is solo.
 * Another client that opens the volume ends that, and waits for longer than kKeepNs before its
 * first call. So nothing has to be sent to the solo client, which may be stopped or dead.
 *
 * A client may have the volume alone, to repair it: while it lives, no other one enters.
 *
 * Tests: tests/unit/fs/client/mount_test.cpp
 */
#ifndef FS_CORE_TREE_MOUNTS_H
#define FS_CORE_TREE_MOUNTS_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstdint>
#include <optional>

namespace rfs
{

inline constexpr uint64_t kKeepNs = 1000000000;

/* Awaited: the row. */
dtx::Task<MountsRow> mounts(Call &call);

/* What a client meets that opens the volume. */
struct Entry {
    bool waits = false; /* there was a solo client: the caller waits kKeepNs and more */
    std::optional<uint32_t>
        alone{};          /* coordinator that has the volume alone: nothing was changed */
    uint32_t changes = 0; /* MountsRow::changes, then */
};

/* Awaited: add a client, by its coordinator number, unless another one has the volume alone. */
dtx::Task<Entry> add_client(Call &call, uint32_t coordinator);

/* Awaited: take all other clients off, which are dead, and have the volume alone until
 * remove_client(). False: the row has changed since @changes, and is left as it is. */
dtx::Task<bool> take_alone(Call &call, uint32_t changes);

/* Awaited: has the caller the volume alone? */
dtx::Task<bool> is_alone(Call &call);

/* Awaited: take a client off. @changes: MountsRow::changes when it was seen to be dead; the row is
 * left alone if it has changed since, because another client with the same number may have
 * joined. */
dtx::Task<> remove_client(Call &call, uint32_t coordinator);
dtx::Task<> remove_dead_client(Call &call, uint32_t coordinator, uint32_t changes);

/* Awaited: become the solo client, if the caller is the only client that has the volume open. */
dtx::Task<> become_solo(Call &call);

/* Awaited: is the caller the solo client? */
dtx::Task<bool> is_solo(Call &call);

} // namespace rfs
#endif
