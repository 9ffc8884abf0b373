// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/roots.h"

#include "engine/format/bucket.h"
#include "unit/dtx/engine/database.h"

#include <map>

using dtx::Address;

TEST_CASE("dtx: a shard is created with allocator heads, home buckets and roots", "[unit]")
{
    Database db(1, {}, Tables(5000)); // so many that its buckets are written in several pieces
    const dtx::Schema &schema = db.cluster->schema();
    std::map<uint32_t, uint64_t> roots; // by table
    uint64_t other = 0;

    for (uint32_t table = 0; table < db.cluster->layout().tables(); table++)
        db.cluster->each_object(table, 0,
                                [&](Address at, const unsigned char *image, uint32_t bytes) {
                                    const dtx::ObjectHeader &header = dtx::header_of(image);
                                    bool root = dtx::is_root(schema, at);

                                    REQUIRE(dtx::is_intact(schema, at, image, bytes));
                                    REQUIRE(dtx::is_unused(schema, at, header));
                                    REQUIRE(header.version == (root ? 1 : 0));
                                    REQUIRE(header.flags == (root ? dtx::kObjectValid : 0u));
                                    (root ? roots[table] : other)++;
                                });
    CHECK(roots[0] == schema.tables().size());
    CHECK(roots[db.tables.accounts.number + 1] == dtx::bucket_homes(5000));
    CHECK(roots[db.tables.sorted.number + 1] == 1);
    CHECK(roots.size() == 3);
    CHECK(other > 10000);
}

TEST_CASE("dtx: zeros are damage in the place of a root, and no other slot", "[unit]")
{
    Tables tables(100);
    dtx::Layout layout(tables.schema);
    uint32_t buckets = tables.accounts.number + 1;
    std::vector<unsigned char> zeros(layout.table(buckets).slot_bytes);
    auto intact = [&](uint32_t table, uint64_t slot) {
        return dtx::is_intact(tables.schema, Address::of(0, table, slot), zeros.data(),
                              static_cast<uint32_t>(zeros.size()));
    };

    CHECK(intact(tables.accounts.number, 0));
    CHECK(intact(buckets, 0));
    CHECK_FALSE(intact(buckets, 1));
    CHECK_FALSE(intact(buckets, dtx::bucket_homes(100)));
    CHECK(intact(buckets, dtx::first_spare_bucket(100)));
    CHECK_FALSE(intact(tables.sorted.number + 1, 0));
    CHECK(intact(tables.sorted.number + 1, 1));
    CHECK_FALSE(intact(0, 0));
    CHECK_FALSE(dtx::is_unused(tables.schema, Address::of(0, buckets, 1), { 2, 0, 0, 0, 0 }));
    CHECK_FALSE(dtx::is_unused(tables.schema, Address::of(0, buckets, 0), { 1, 0, 0, 0, 0 }));
}
