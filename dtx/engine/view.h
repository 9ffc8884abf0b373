/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h: which servers of a database are used. A server that is promoted away is dead until it is
 * restored; the copies of its shards on others take its place.
 *
 * Each server keeps the view it was told last, and one that is proposed to it. A view is in force
 * when all servers that live in it have it. As each view has a server in common with the next, and
 * a server never goes back to an older one, at most one is in force.
 *
 * A change is proposed to all that live in it, prepared, and then accepted by all of them, one
 * after the other, a server that returns last. What was accepted anywhere had been prepared
 * everywhere: it can be finished. What was accepted nowhere was never in force: it can be dropped.
 *
 * Tests: tests/unit/dtx/engine/view_test.cpp
 */
#ifndef DTX_ENGINE_VIEW_H
#define DTX_ENGINE_VIEW_H

#include <dtx/address.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtx
{

struct View {
    uint64_t number = 0; /* 0: none */
    uint64_t dead[kShardsMax / 64] = {};

    bool alive(uint32_t server) const
    {
        return (dead[server / 64] >> server % 64 & 1) == 0;
    }
    void kill(uint32_t server)
    {
        dead[server / 64] |= uint64_t{ 1 } << server % 64;
    }
    void revive(uint32_t server)
    {
        dead[server / 64] &= ~(uint64_t{ 1 } << server % 64);
    }
    bool operator==(const View &) const = default;
};

/* What a server says of itself. */
struct ServerState {
    uint64_t sequence = 0; /* how often it was told something */
    uint64_t heard = 0;    /* the largest number of a view it was ever told */
    View accepted;
    View proposed; /* number 0: none */
    bool operator==(const ServerState &) const = default;
};

/* On the medium, in two places: the same, but while it is being written. */
struct StateRecord {
    ServerState state;
    uint64_t checksum;
};

StateRecord record_of(const ServerState &state);

/* The newer of two records that are whole; nothing: none is. */
std::optional<ServerState> state_in(std::span<const StateRecord, 2> records);

/* Those of all servers, by number; nothing of those that did not answer. */
using States = std::vector<std::optional<ServerState>>;

/* The view that is in force, or that can be finished. Servers that are dead in @without need not
 * have answered. Nothing: too few have, or they do not agree. */
std::optional<View> usable_view(const States &states, const View &without = {});

/* Have all that live in it accepted it, and is nothing else proposed to them? */
bool is_settled(const States &states, const View &view);

/* Larger than all that any server has heard of. */
uint64_t next_number(const States &states);

/* Where copies are: those of shard s on the servers s, s + 1, .., as many as @replicas, that live.
 */
struct Placement {
    uint32_t servers = 1;
    uint32_t replicas = 1;
    View view;

    /* Around the ring of servers; without a division, for it is asked for often. */
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
    /* The server of one of them, 0: the primary. There is such a copy. */
    uint32_t server_of(uint32_t shard, uint32_t copy) const
    {
        for (uint32_t server = shard;; server = next(server))
            if (view.alive(server) && copy-- == 0)
                return server;
    }
    /* The first server that lives. */
    uint32_t first() const;
    /* Who gets the redo records of a coordinator: as many servers as there are replicas, or all. */
    std::vector<uint32_t> log_servers(uint32_t coordinator) const;
};

} // namespace dtx
#endif
