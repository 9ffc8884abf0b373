// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/txn_number.h"

#include "support/catch.h"

TEST_CASE("dtx: a transaction's number has coordinator, view and epoch in its upper half", "[unit]")
{
    CHECK(dtx::number_prefix(0, 0, 0) == 0);
    CHECK(dtx::number_prefix(99, 0, 0) == uint64_t{ 99 } << 57);
    CHECK(dtx::number_prefix(0, 3, 0) == uint64_t{ 3 } << 48);
    CHECK(dtx::number_prefix(0, 0, 5) == uint64_t{ 5 } << 32);
    CHECK(dtx::coordinator_of(dtx::number_prefix(dtx::kVacuum, 511, 65535)) == dtx::kVacuum);
    CHECK(dtx::number_prefix(99, 512 + 3, 65536 + 5) == dtx::number_prefix(99, 3, 5));
}
