/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h: a session's access to a database: its connections, its free slots, its commits and
 * unlocks that are not finished yet, its reads and writes of spans, and its caches of rows'
 * addresses and of inner index nodes.
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#ifndef DTX_ENGINE_STORE_H
#define DTX_ENGINE_STORE_H

#include "engine/cluster/servers.h"
#include "engine/format/node.h"
#include "engine/store/free_slots.h"
#include "engine/store/guesses.h"
#include "engine/store/install_queue.h"
#include "engine/store/object_reader.h"
#include "engine/store/spans.h"
#include "engine/store/unlocks.h"

#include <cstdint>
#include <unordered_map>

namespace dtx
{

struct Store {
    Store(const Cluster &cluster, Scheduler &scheduler);

    void close();

    /* Wake the coroutines whose operations have ended, and finish commits. @idle_until_ns: of
     * Servers::idle(). */
    void poll(uint64_t idle_until_ns = 0);
    /* Wait until all commits are finished, and at most a second until all locks are freed. */
    void settle();
    /* Has settle() nothing to wait for? Also if that has failed. */
    bool is_settled() const
    {
        return !servers.is_open() || installs.failed() || (installs.empty() && unlocks.empty());
    }

    Servers servers;
    Unlocks unlocks{ servers };
    FreeSlots slots{ servers };
    InstallQueue installs{ servers, slots, unlocks };
    ObjectReader objects{ servers, installs, unlocks };
    Spans spans{ servers };
    Guesses guesses;                          /* the slots in which rows were last seen */
    std::unordered_map<uint64_t, Node> nodes; /* inner nodes of ordered indexes, by address, as they
                                                 were when last read */
};

} // namespace dtx
#endif
