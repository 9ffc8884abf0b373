// SPDX-License-Identifier: BSD-3-Clause
// dtx_test.cpp: the bytes of dtx/FORMAT.md. Each golden file, made by a script without dtx, is
// decoded to the values that it was made from, and these values are encoded to the same bytes.
#include "engine/cluster/servers.h"
#include "engine/format/allocator.h"
#include "engine/format/bucket.h"
#include "engine/format/comment.h"
#include "engine/format/description.h"
#include "engine/format/descriptor.h"
#include "engine/format/node.h"
#include "engine/format/redo.h"
#include "engine/format/roots.h"
#include "engine/format/server_state.h"
#include "engine/format/shard_header.h"
#include "engine/format/txn_number.h"
#include "golden/hex.h"
#include "unit/dtx/engine/database.h"

#include <cstring>

namespace
{

const uint64_t kTxn = dtx::number_prefix(999, 3, 5) | 77;

// The golden bytes as a struct, which has their size.
template <class Layout> Layout golden_as(const std::string &name)
{
    Bytes bytes = golden(name);
    Layout found;

    REQUIRE(bytes.size() == sizeof(found));
    std::memcpy(&found, bytes.data(), sizeof(found));
    return found;
}

template <class Layout> Bytes bytes_of(const Layout &made)
{
    auto first = reinterpret_cast<const unsigned char *>(&made);

    return Bytes(first, first + sizeof(made));
}

dtx::ServerState golden_state()
{
    dtx::ServerState state{ 5, 3, { 2 }, { 3 } };

    state.accepted.kill(1);
    state.proposed.kill(1);
    state.proposed.kill(200);
    return state;
}

} // namespace

TEST_CASE("golden: a shard's descriptor is encoded to and decoded from the golden bytes",
          "[golden]")
{
    auto found = golden_as<dtx::Descriptor>("descriptor");
    std::string description = dtx::description_of(Tables().schema);
    dtx::Descriptor made{};

    CHECK(found.magic == dtx::kDescriptorMagic);
    CHECK(found.format == dtx::kFormatVersion);
    CHECK(dtx::is_whole(found));
    made.schema_version = 1;
    made.schema_sum = dtx::sum_of(description);
    made.shards = 3;
    made.shard = 2;
    made.replicas = 2;
    made.server = 2;
    made.description_bytes = static_cast<uint32_t>(description.size());
    made.flags = dtx::kNotDurable;
    dtx::seal(made);
    CHECK(bytes_of(made) == golden("descriptor"));
}

TEST_CASE("golden: a schema's comment is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("comment");
    Bytes room(dtx::kCommentRoom);

    expected.resize(room.size());
    CHECK(dtx::decode_comment(expected.data()) == "rows=17");
    dtx::encode_comment("rows=17", room.data());
    CHECK(room == expected);
}

TEST_CASE("golden: a server's state is encoded to and decoded from the golden bytes", "[golden]")
{
    dtx::StateRecord records[2] = { golden_as<dtx::StateRecord>("state"), {} };

    CHECK(dtx::state_in(records) == golden_state());
    CHECK(bytes_of(dtx::record_of(golden_state())) == golden("state"));
}

TEST_CASE("golden: the header of a shard is encoded to the golden bytes", "[golden]")
{
    dtx::ServerState state = golden_state();

    CHECK(dtx::encode_shard_header(golden_as<dtx::Descriptor>("descriptor"), "rows=17", &state,
                                   dtx::description_of(Tables().schema)) == golden("shard_header"));
}

TEST_CASE("golden: the root of an ordered index is created with the golden bytes", "[golden]")
{
    Tables tables;
    dtx::Layout layout(tables.schema);
    Bytes found;

    dtx::each_root(tables.schema, layout, [&](uint64_t offset, const Bytes &images) {
        if (offset == layout.table(tables.sorted.number + 1).offset)
            found = images;
    });
    CHECK(found == golden("root"));
}

TEST_CASE("golden: a slot and its redo record are encoded to and decoded from the golden bytes",
          "[golden]")
{
    Tables tables;
    dtx::Layout layout(tables.schema);
    dtx::Address address = dtx::Address::of(2, tables.accounts.number, 5);
    Bytes expected = golden("slot");
    Bytes record = golden("redo");
    Bytes image;
    std::vector<dtx::Spare> spares;
    dtx::ReadWriteSet set;
    dtx::Access *access = set.add(address, layout.table(address.table()).slot_bytes);

    REQUIRE(access->bytes == expected.size());
    CHECK(dtx::decode_redo(
        layout, 3, record.data(), record.size(),
        [&](dtx::Address at, const unsigned char *bytes, uint32_t n) {
            CHECK(at == address);
            image.assign(bytes, bytes + n);
        },
        [&](const dtx::Spare &at) { spares.push_back(at); }));
    REQUIRE(spares.size() == 1);
    CHECK(spares[0].address == dtx::Address::of(2, tables.sorted.number, 6));
    CHECK(spares[0].version == 9);
    CHECK(image == expected);

    std::memset(access->image, 0, access->bytes);
    access->header().version = 7;
    access->header().key = 42;
    access->header().writer = kTxn;
    access->header().flags = dtx::kObjectValid;
    access->as<Account>().cents = 1000;
    dtx::seal(access->image, access->bytes);
    CHECK(dtx::is_whole(access->image, access->bytes));
    CHECK(Bytes(access->image, access->image + access->bytes) == expected);
    dtx::encode_redo(kTxn, set.sorted(), spares, record);
    CHECK(record == golden("redo"));
}

TEST_CASE("golden: an allocator head, a bucket and a node have the golden bytes", "[golden]")
{
    dtx::AllocatorHead allocator{ 640, 18 };
    dtx::Bucket bucket{};
    dtx::Node node{};

    bucket.used = 2;
    bucket.next = 300;
    bucket.entry[0] = { 42, 5 };
    bucket.entry[1] = { uint64_t{ 1 } << 40, 6 };
    node.low = 10;
    node.high = UINT64_MAX;
    node.level = 1;
    node.used = 2;
    node.entry[0] = { 10, 3 };
    node.entry[1] = { uint64_t{ 1 } << 40, 4 };
    CHECK(bytes_of(allocator) == golden("allocator"));
    CHECK(bytes_of(bucket) == golden("bucket"));
    CHECK(bytes_of(node) == golden("node"));
}

TEST_CASE("golden: a session writes a span, and the mark of its slab, as the golden bytes",
          "[golden]")
{
    Tables tables;
    dtx::Span span = tables.schema.span("bytes", 4096, 2);
    Database db(1, {}, tables);
    dtx::Session session(*db.cluster, 0);
    std::vector<dtx::SpanWrite> pieces = { { span, 0, 4096, "hello", 5 } };
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    Bytes found(3 * 4096);

    REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                co_await txn.write_span(pieces);
                co_return true;
            }) == dtx::Status::committed);
    servers.open(0, dtx::Claim::none);
    servers.connection(0).read(0, db.cluster->layout().span(0).marks, found.data(), found.size());
    servers.close();
    CHECK(found == golden("span"));
}
