/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_number.cc: compose the upper bits of a transaction's number.
 *
 * Tests: tests/unit/dtx/engine/format/txn_number_test.cpp
 */
#include "engine/format/txn_number.h"

#include "engine/base/assert.h"

namespace dtx
{

uint64_t number_prefix(uint32_t coordinator, uint64_t view, uint64_t epoch)
{
    uint64_t seen = view & ((1u << kViewBits) - 1);
    uint64_t claim = epoch & ((1u << kClaimBits) - 1);

    DTX_ASSERT(coordinator < 1u << (64 - kEpochBits - kSequenceBits));
    return uint64_t{ coordinator } << (kEpochBits + kSequenceBits) |
           seen << (kClaimBits + kSequenceBits) | claim << kSequenceBits;
}

} // namespace dtx
