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
    CHECK(layout.tables_end() >= row);
    CHECK(layout.region_bytes() == layout.tables_end());
    CHECK(layout.lock_bytes() >= lock);
    CHECK(layout.table(tables.accounts.number).slot_bytes == 64);
}

TEST_CASE("dtx: spans lie behind the tables, each behind the marks of its slabs", "[unit]")
{
    Tables tables(100);
    uint64_t lock_bytes = dtx::Layout(tables.schema).lock_bytes();
    dtx::Span small = tables.schema.span("small", 4096, 1);
    dtx::Span large = tables.schema.span("large", 8192, 1000);
    dtx::Layout layout(tables.schema);

    REQUIRE(layout.spans() == 2);
    CHECK(layout.lock_bytes() == lock_bytes);
    CHECK(small.bytes() == 4096);
    CHECK(large.bytes() == 8192000);
    CHECK(layout.span(0).marks == layout.tables_end());
    CHECK(layout.span(0).slab_offset(0) == layout.span(0).marks + 4096);
    CHECK(layout.span(1).marks == layout.span(0).slab_offset(1));
    CHECK(layout.span(1).mark_offset(999) == layout.span(1).marks + 7992);
    CHECK(layout.span(1).slab_offset(0) == layout.span(1).marks + 8192);
    CHECK(layout.region_bytes() == layout.span(1).slab_offset(1000));
}
