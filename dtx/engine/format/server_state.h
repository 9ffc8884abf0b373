/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_state.h: the state of a server, in two copies in the first page of its own shard: the view
 * that the server accepted last, and the view that is proposed to it. cluster/view.h says what
 * views are for.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/server_state_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_SERVER_STATE_H
#define DTX_ENGINE_FORMAT_SERVER_STATE_H

#include "engine/base/assert.h"
#include <dtx/address.h>
#include <dtx/layout.h>

#include <cstdint>
#include <optional>
#include <span>

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
        DTX_ASSERT(server < kShardsMax);
        dead[server / 64] |= uint64_t{ 1 } << server % 64;
    }
    void revive(uint32_t server)
    {
        DTX_ASSERT(server < kShardsMax);
        dead[server / 64] &= ~(uint64_t{ 1 } << server % 64);
    }
    bool operator==(const View &) const = default;
};

/* The views that a server has accepted and was proposed. */
struct ServerState {
    uint64_t sequence = 0; /* of the write of this state */
    uint64_t highest = 0;  /* number of a view that it ever accepted or was proposed */
    View accepted;
    View proposed; /* number 0: none */
    bool operator==(const ServerState &) const = default;
};

/* On the medium, in two copies, which are the same except while they are written. */
struct StateRecord {
    ServerState state;
    uint64_t checksum;
};
static_assert(sizeof(View) == 40 && sizeof(StateRecord) == 104);

/* In the first page of a server's own shard: its two StateRecords. Zeros in other shards. */
inline constexpr uint64_t kStateOffset = kDescriptorBytes - 512;
inline constexpr uint64_t kStateStride =
    256; /* so that no cache line, and no block of 256 bytes, has parts of both */

/* The bytes from kStateOffset on. */
struct StateCopies {
    struct {
        StateRecord record;
        unsigned char unused[kStateStride - sizeof(StateRecord)];
    } copy[2];
};
static_assert(sizeof(StateCopies) == 2 * kStateStride);
static_assert(kStateOffset + sizeof(StateCopies) <= kDescriptorBytes);

/* Where the copy is that the write of this number writes first (@nth 0) or second (1): if a power
 * cut tears it, the other one is whole. */
constexpr uint64_t state_offset(uint64_t sequence, uint64_t nth)
{
    return kStateOffset + (sequence + nth) % 2 * kStateStride;
}

StateRecord record_of(const ServerState &state);

/* The newer of the records that are whole; nullopt if neither is. */
std::optional<ServerState> state_in(std::span<const StateRecord, 2> records);
std::optional<ServerState> state_in(const StateCopies &copies);

} // namespace dtx
#endif
