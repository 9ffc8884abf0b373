/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h: what coordinators that are gone have left: rows of transactions that are committed,
 * but not yet where they belong, and locks.
 *
 * Tests: tests/unit/dtx/engine/recover_test.cpp
 */
#ifndef DTX_ENGINE_RECOVER_H
#define DTX_ENGINE_RECOVER_H

#include "engine/cluster.h"
#include "engine/store.h"

namespace dtx
{

/* Coordinator of a transaction, by its number. */
inline constexpr unsigned kSequenceBits = 32;
inline constexpr unsigned kEpochBits = 22;
inline constexpr uint32_t coordinator_of(uint64_t txn)
{
    return static_cast<uint32_t>(txn >> (kSequenceBits + kEpochBits));
}
inline constexpr uint32_t kCoordinatorsMax = 100; /* a pool's directory has room for their logs */

/* May all shards be used? Not after one of their servers was started again. */
bool is_ready(Store &store);

/* Finish what the coordinator, whose claims @store has, left behind: rows whose locks it still
 * holds. All others may go on meanwhile. */
Recovery finish_one(Store &store, uint32_t coordinator);

/* Finish what all have left behind. @store is open as the recoverer's. Fences all, and makes all
 * shards ready. */
Recovery finish_all(Store &store);

} // namespace dtx
#endif
