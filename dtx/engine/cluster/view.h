/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h: the view of a database says which of its servers are live and which dead. A server that
 * was promoted away is dead until it is restored; sessions use the copies of its shards on other
 * servers meanwhile.
 *
 * Each server keeps the view that it accepted last, and the view that is proposed to it. A view is
 * in force when all its live servers have accepted it. Each view has a server in common with
 * the next one, and a server never goes back to an older view: so at most one view is in force.
 *
 * A change of the view is proposed to all live servers of the new one, then prepared (sessions
 * are fenced, logged rows are installed), and then accepted by one server after the other, last by
 * a server that returns. If any server has accepted the view, the change was prepared on all of
 * them: an interrupted change can be finished. If no server has accepted it, the view was never in
 * force: it can be dropped.
 *
 * Tests: tests/unit/dtx/engine/cluster/view_test.cpp
 */
#ifndef DTX_ENGINE_VIEW_H
#define DTX_ENGINE_VIEW_H

#include "engine/format/server_state.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dtx
{

/* The states of all servers, by number; nullopt for a server that did not answer. */
using States = std::vector<std::optional<ServerState>>;

/* The view that is in force, or that would be if an interrupted change were finished. Servers that
 * are dead in @without need not have answered. nullopt: too few servers have answered, or they do
 * not agree. */
std::optional<View> usable_view(const States &states, const View &without = {});

/* Have all live servers of @view accepted it, and is nothing proposed to them? */
bool is_settled(const States &states, const View &view);

/* A number higher than that of any view that a server has accepted or was proposed. */
uint64_t next_number(const States &states);

/* The servers of each shard and log in a view. Of servers s, s + 1, .. s + replicas - 1, modulo
 * their number, those that live have a copy of shard s. */
struct Placement {
    uint32_t servers = 1;
    uint32_t replicas = 1;
    View view;

    /* The next server on the ring. Called often, so it has no division. */
    uint32_t next(uint32_t server) const
    {
        return server + 1 == servers ? 0 : server + 1;
    }
    /* How many copies a shard has. */
    uint32_t copies(uint32_t shard) const
    {
        uint32_t found = 0;
        uint32_t server = shard;

        for (uint32_t i = 0; i < replicas; i++, server = next(server))
            found += view.alive(server) ? 1 : 0;
        return found;
    }
    /* Has every shard a copy? A command makes no other view. */
    bool is_complete() const
    {
        for (uint32_t shard = 0; shard < servers; shard++)
            if (copies(shard) == 0)
                return false;
        return true;
    }
    /* The server that has copy @copy of a shard, 0: the primary. The shard has such a copy. */
    uint32_t server_of(uint32_t shard, uint32_t copy) const
    {
        for (uint32_t server = shard;; server = next(server))
            if (view.alive(server) && copy-- == 0)
                return server;
    }
    /* The first live server. */
    uint32_t first() const;
    /* The servers that get the redo records of a coordinator: @replicas of them, or all. */
    std::vector<uint32_t> log_servers(uint32_t coordinator) const;
};

} // namespace dtx
#endif
