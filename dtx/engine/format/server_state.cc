/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_state.cc: make the record of a server's state, and choose the newer one of two.
 *
 * Tests: tests/unit/dtx/engine/format/server_state_test.cpp
 */
#include "engine/format/server_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

StateRecord record_of(const ServerState &state)
{
    return { state, XXH3_64bits(&state, sizeof(state)) };
}

std::optional<ServerState> state_in(std::span<const StateRecord, 2> records)
{
    std::optional<ServerState> newest;

    for (const StateRecord &record : records)
        if (record.checksum == XXH3_64bits(&record.state, sizeof(record.state)) &&
            (!newest || newest->sequence < record.state.sequence))
            newest = record.state;
    return newest;
}

std::optional<ServerState> state_in(const StateCopies &copies)
{
    const StateRecord records[] = { copies.copy[0].record, copies.copy[1].record };

    return state_in(records);
}

} // namespace dtx
