/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_number.h: the number of an attempt of a transaction, which is in its redo record, in the rows
 * that it writes and in the lock words that it holds: a session that finds a lock learns from it
 * whose it is.
 *
 * It has, from the highest bit: its coordinator, the number of the view, the epoch of the claim on
 * the coordinator's log on the first live server, and a sequence number.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/txn_number_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_TXN_NUMBER_H
#define DTX_ENGINE_FORMAT_TXN_NUMBER_H

#include <dtx/cluster.h>

#include <cstdint>

namespace dtx
{

inline constexpr unsigned kSequenceBits = 29;
inline constexpr unsigned kClaimBits = 16;
inline constexpr unsigned kViewBits = 9;
inline constexpr unsigned kEpochBits = kViewBits + kClaimBits;
inline constexpr uint32_t coordinator_of(uint64_t txn)
{
    return static_cast<uint32_t>(txn >> (kSequenceBits + kEpochBits));
}
/* The upper bits of a transaction's number: under which claim, by which coordinator, it ran. */
inline constexpr uint64_t claim_of(uint64_t txn)
{
    return txn >> kSequenceBits << kSequenceBits;
}
inline constexpr uint32_t kVacuum = 1022; /* the coordinator in the numbers of a vacuum */

/* The upper bits of the numbers of a coordinator's transactions in a view. @epoch: of the
 * coordinator's claim of its log on the first live server of the view. */
uint64_t number_prefix(uint32_t coordinator, uint64_t view, uint64_t epoch);

/* The lock words of a shard whose primary moved to another server: a session that finds this word
 * reads the view again. */
inline constexpr uint64_t kMoved = UINT64_MAX;
static_assert(coordinator_of(kMoved) >= kCoordinatorsMax);
static_assert(kVacuum >= kCoordinatorsMax && kVacuum != coordinator_of(kMoved));
/* Where the claim word of a coordinator lies in the locks region of a shard: claim_of() the
 * transactions whose locks count. A lock of another claim of this coordinator is free: the owner of
 * a later claim has written the word, after it had finished the transactions of earlier claims. */
inline constexpr uint64_t claim_offset(uint32_t coordinator)
{
    return kClaimsOffset + sizeof(uint64_t) * coordinator;
}
static_assert(claim_offset(kCoordinatorsMax) <= kLocksOffset);
static_assert(kCoordinatorsMax <= 1u << (64 - kSequenceBits - kEpochBits));

} // namespace dtx
#endif
