// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/layout.h>

#include "unit/dtx/engine/database.h"
#include <dtx/object.h>

TEST_CASE("dtx: slots do not overlap, and neither do their locks", "[unit]")
{
    Tables tables(100);
    dtx::Layout layout(tables.schema);
    uint64_t row = dtx::kTablesOffset;
    uint64_t lock = dtx::kLocksOffset;

    REQUIRE(layout.tables() == 5);
    for (uint32_t table = 0; table < layout.tables(); table++)
        for (uint64_t slot = 0; slot < layout.table(table).slots; slot++) {
            dtx::Address address = dtx::Address::of(0, table, slot);

            REQUIRE(layout.row_offset(address) == row);
            REQUIRE(layout.lock_offset(address) == lock);
            REQUIRE(row % dtx::kLineBytes == 0);
            row += layout.table(table).slot_bytes;
            lock += 8;
        }
    CHECK(layout.region_bytes() >= row);
    CHECK(layout.lock_bytes() >= lock);
    CHECK(layout.table(tables.accounts.number).slot_bytes == 64);
}
