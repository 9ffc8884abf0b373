// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/schema.h>

#include "unit/dtx/engine/database.h"
#include <dtx/address.h>
#include <dtx/error.h>

TEST_CASE("dtx: a table comes with its index", "[unit]")
{
    Tables tables(1000);
    const auto &all = tables.schema.tables();

    REQUIRE(all.size() == 5);
    CHECK(all[tables.accounts.number].kind == dtx::TableKind::hash);
    CHECK(all[all[tables.accounts.number].index].kind == dtx::TableKind::buckets);
    CHECK(all[tables.sorted.number].kind == dtx::TableKind::ordered);
    CHECK(all[all[tables.sorted.number].index].kind == dtx::TableKind::nodes);
    CHECK(all[all[tables.sorted.number].index].index == tables.sorted.number);
}

TEST_CASE("dtx: an invalid schema is refused", "[unit]")
{
    struct Large {
        char bytes[65 << 10];
    };
    Tables tables;

    CHECK_THROWS_AS(dtx::Schema("", 1), dtx::Error);
    CHECK_THROWS_AS(dtx::Schema("a/b", 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("accounts", 1, partition_of), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("sorted.index", 1, partition_of), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("none", 0, partition_of), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("many", dtx::kSlotsMax, partition_of),
                    dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("nowhere", 1, nullptr), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Large>("large", 1, partition_of), dtx::Error);
    CHECK(tables.schema.tables().size() == 5);
}

TEST_CASE("dtx: a schema has a maximum number of tables", "[unit]")
{
    dtx::Schema schema("many", 1);
    uint32_t made = 0;

    for (; made < dtx::kTablesMax; made++) {
        try {
            (void)schema.hash_table<Account>("t" + std::to_string(made), 1, partition_of);
        } catch (const dtx::Error &) {
            break;
        }
    }
    CHECK(made == (dtx::kTablesMax - 1) / 2);
    CHECK(schema.tables().size() <= dtx::kTablesMax);
}
