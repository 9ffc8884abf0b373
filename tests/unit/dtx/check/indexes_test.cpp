// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/allocator.h"
#include "engine/format/node.h"
#include "engine/index/hash_index.h"
#include "unit/dtx/check/damage.h"
#include <dtx/checks.h>

#include <cstring>

using dtx::checks::check_indexes;

namespace
{

template <class Body> Body &body_of(unsigned char *image)
{
    return *reinterpret_cast<Body *>(image + sizeof(dtx::ObjectHeader));
}

bool has_entries(const dtx::ObjectHeader &header, const unsigned char *payload)
{
    dtx::Bucket bucket;

    std::memcpy(&bucket, payload, sizeof(bucket));
    return header.version != 0 && bucket.used > 1;
}

bool is_leaf(const dtx::ObjectHeader &header, const unsigned char *payload)
{
    dtx::Node node;

    std::memcpy(&node, payload, sizeof(node));
    return is_valid(header, payload) && node.level == 0 && node.used > 1;
}

// The violations on copy 1 after @change of one object there; copy 0 must have none.
dtx::Findings after(Database &db, dtx::Address address,
                    const std::function<void(unsigned char *)> &change)
{
    damage(*db.cluster, 1, address, change);
    CHECK(check_indexes(*db.cluster, 0).texts() == std::vector<std::string>{});
    return check_indexes(*db.cluster, 1);
}

uint32_t index_of(const Database &db, dtx::Table<Account> table)
{
    return db.cluster->schema().tables()[table.number].index;
}

} // namespace

TEST_CASE("indexes: after a run all rules are checked and hold on every copy")
{
    Database db = rows_of_two_copies();

    for (uint32_t copy = 0; copy < 2; copy++) {
        dtx::Findings found = check_indexes(*db.cluster, copy);

        for (const char *rule : { "entries", "rows entered", "shape", "slots" })
            CHECK(broken(found, rule) == 0);
    }
}

TEST_CASE("indexes: a lost entry, or one without a row, is reported")
{
    Database db = rows_of_two_copies();
    uint32_t buckets = index_of(db, db.tables.accounts);
    dtx::Address bucket = first_object(*db.cluster, buckets, has_entries);
    dtx::Findings found =
        after(db, bucket, [](unsigned char *image) { body_of<dtx::Bucket>(image).used--; });

    CHECK(broken(found, "rows entered") == 1);
    CHECK(broken(found, "entries") == 0);
    found = after(db, bucket, [](unsigned char *image) {
        body_of<dtx::Bucket>(image).used++;
        body_of<dtx::Bucket>(image).entry[0].slot = 1999;
    });
    CHECK(broken(found, "entries") == 1);
    CHECK(broken(found, "rows entered") == 1);
    found = after(db, bucket, [](unsigned char *image) {
        body_of<dtx::Bucket>(image).entry[0] = body_of<dtx::Bucket>(image).entry[1];
    });
    CHECK(broken(found, "rows entered") == 2); // one is there twice, one not at all
}

TEST_CASE("indexes: misplaced buckets and endless chains are reported")
{
    Database db = rows_of_two_copies();
    uint32_t buckets = index_of(db, db.tables.accounts);
    dtx::Address bucket = first_object(*db.cluster, buckets, has_entries);

    CHECK(broken(after(db, bucket,
                       [&](unsigned char *image) {
                           body_of<dtx::Bucket>(image).next = bucket.slot();
                       }),
                 "shape") == 1);
    CHECK(broken(after(db, bucket,
                       [&](unsigned char *image) {
                           body_of<dtx::Bucket>(image).next = 0;
                           body_of<dtx::Bucket>(image).entry[0].key += 2;
                       }),
                 "shape") == 1);
}

TEST_CASE("indexes: nodes out of order, of wrong range or without a parent are reported")
{
    Database db = rows_of_two_copies();
    uint32_t nodes = index_of(db, db.tables.sorted);
    dtx::Address leaf = first_object(*db.cluster, nodes, is_leaf);
    auto swap = [](unsigned char *image) {
        std::swap(body_of<dtx::Node>(image).entry[0], body_of<dtx::Node>(image).entry[1]);
    };

    CHECK(broken(after(db, leaf, swap), "shape") == 1);
    CHECK(broken(after(db, leaf, swap), "shape") == 0);
    CHECK(broken(after(db, leaf, [](unsigned char *image) { body_of<dtx::Node>(image).high--; }),
                 "shape") == 1);
    after(db, leaf, [](unsigned char *image) { body_of<dtx::Node>(image).high++; });
    CHECK(broken(after(db, dtx::Address::of(leaf.shard(), nodes, 0),
                       [](unsigned char *image) { body_of<dtx::Node>(image).used = 1; }),
                 "shape") >= 2);
}

TEST_CASE("indexes: rows on a wrong shard and slots with two uses are reported")
{
    Database db = rows_of_two_copies();
    uint32_t table = db.tables.accounts.number;
    dtx::Address row = first_object(*db.cluster, table, is_valid);
    dtx::Address head = dtx::Address::of(row.shard(), dtx::kAllocatorTable, table);
    dtx::Findings found;

    found = after(db, row,
                  [](unsigned char *image) { dtx::header_of(image).key ^= uint64_t{ 1 } << 32; });
    CHECK(broken(found, "rows entered") == 1);
    CHECK(broken(found, "entries") == 1);
    after(db, row, [](unsigned char *image) { dtx::header_of(image).key ^= uint64_t{ 1 } << 32; });
    found = after(db, head, [&](unsigned char *image) {
        body_of<dtx::AllocatorHead>(image).returned = row.slot() + 1;
    });
    CHECK(broken(found, "slots") == 1);
    found = after(db, head, [&](unsigned char *image) {
        body_of<dtx::AllocatorHead>(image).returned = 0;
        body_of<dtx::AllocatorHead>(image).handed_out = row.slot();
    });
    CHECK(broken(found, "slots") >= 1);
}
