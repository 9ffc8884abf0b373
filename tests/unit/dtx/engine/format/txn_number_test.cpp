// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/txn_number.h"

#include "support/catch.h"

TEST_CASE("dtx: a transaction's number has coordinator, view and epoch in its upper 35 bits",
          "[unit]")
{
    CHECK(dtx::number_prefix(0, 0, 0) == 0);
    CHECK(dtx::number_prefix(999, 0, 0) == uint64_t{ 999 } << 54);
    CHECK(dtx::number_prefix(0, 3, 0) == uint64_t{ 3 } << 45);
    CHECK(dtx::number_prefix(0, 0, 5) == uint64_t{ 5 } << 29);
    CHECK(dtx::coordinator_of(dtx::number_prefix(dtx::kVacuum, 511, 65535)) == dtx::kVacuum);
    CHECK(dtx::number_prefix(999, 512 + 3, 65536 + 5) == dtx::number_prefix(999, 3, 5));
}
