// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/description.h"

#include "engine/cluster/server_connection.h"
#include "engine/cluster/shard_header.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

#include <cstring>

using dtx::Schema;

namespace
{

// The description of the schema in database.h, in the form that dtx/FORMAT.md gives.
const char *const kText = "test\n"
                          "words 5 16 256 0\n"
                          "accounts 1 8 2000 2\n"
                          "accounts.index 3 224 642 1\n"
                          "sorted 2 8 2000 4\n"
                          "sorted.index 4 480 689 3\n";

std::string difference(const Schema &there, const Schema &own)
{
    return dtx::first_difference(dtx::description_of(there), dtx::description_of(own));
}

// The text of the Error that @act throws; empty: it throws none.
std::string why_of(const std::function<void()> &act)
{
    try {
        act();
    } catch (const dtx::Error &error) {
        return error.what();
    }
    return "";
}

bool has(const std::string &text, const std::string &part)
{
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

// If a changed text is accepted, the schema made from it has exactly that text.
void check_exact(const std::string &text)
{
    try {
        Schema schema = Schema::of_description("test", 1, text);

        CHECK(dtx::description_of(schema) == text);
    } catch (const dtx::Error &) {
    }
}

struct Wide {
    int64_t cents[2];
};

} // namespace

TEST_CASE("description: the text of a schema is the same from version to version", "[unit]")
{
    Tables tables;

    CHECK(dtx::description_of(tables.schema) == kText);
    CHECK(dtx::sum_of(kText) == 0x7a330dfa32c3b74e);
}

TEST_CASE("description: a header has the bytes that FORMAT.md says", "[unit]")
{
    dtx::Options options = replicated(2);
    Tables tables;
    auto word = [](const std::vector<unsigned char> &page, size_t offset, size_t bytes) {
        uint64_t value = 0;

        std::memcpy(&value, &page[offset], bytes);
        return value;
    };

    options.urls = { "shm:a", "shm:b", "shm:c" };
    options.durable = false;
    tables.schema.set_comment("rows=17");
    std::vector<unsigned char> page =
        dtx::encode_shard_header(dtx::Cluster(tables.schema, options), { 1, 2 }, {});

    CHECK(page.size() == 24576);
    CHECK(std::memcmp(&page[0], "DXSHARD1", 8) == 0);
    CHECK(word(page, 8, 4) == 7);
    CHECK(word(page, 12, 4) == 1);
    CHECK(word(page, 16, 8) == dtx::sum_of(kText));
    CHECK(word(page, 24, 4) == 3);
    CHECK(word(page, 28, 4) == 1);
    CHECK(word(page, 32, 4) == 2);
    CHECK(word(page, 36, 4) == 2);
    CHECK(word(page, 40, 4) == std::strlen(kText));
    CHECK(word(page, 44, 4) == 1);
    CHECK(word(page, 64, 8) == 7);
    CHECK(std::memcmp(&page[80], "rows=17", 7) == 0);
    CHECK(std::memcmp(&page[4096], kText, std::strlen(kText)) == 0);
    CHECK(word(page, 4096 + std::strlen(kText), 8) == 0);
}

TEST_CASE("description: the longest possible description fits behind a descriptor", "[unit]")
{
    Schema schema("a-name-of-thirty-one-characters", 1);

    for (uint32_t i = 0; schema.tables().size() + 2 <= dtx::kTablesMax; i++)
        (void)schema.ordered_table<Wide>("table-of-thirty-one-letters-" + std::to_string(100 + i),
                                         dtx::kSlotsMax / 4 - 1, partition_of);
    for (uint32_t i = 0; i < Schema::kSpansMax; i++)
        (void)schema.span("span-of-thirty-one-letters-xx" + std::to_string(10 + i), 4096,
                          uint64_t{ 1 } << 44);
    CHECK(schema.tables().size() == 255);
    CHECK(dtx::description_of(schema).size() <= dtx::kDescriptionMax);
}

TEST_CASE("description: a schema is made from it, without partition functions", "[unit]")
{
    Schema schema = Schema::of_description("test", 7, kText);

    CHECK(dtx::description_of(schema) == kText);
    CHECK(schema.version() == 7);
    CHECK(schema.is_described());
    CHECK(!Tables().schema.is_described());
    CHECK(schema.tables()[3].name == "sorted");
    CHECK_THROWS_AS(schema.tables()[1].partition(1), dtx::Error);
}

TEST_CASE("description: a span has a line behind the tables", "[unit]")
{
    Tables tables;
    Tables other;
    std::string text = std::string(kText) + "bytes 6 65536 16 0\n";

    (void)tables.schema.span("bytes", 65536, 16);
    (void)other.schema.span("bytes", 65536, 17);
    CHECK(dtx::description_of(tables.schema) == text);

    Schema schema = Schema::of_description("test", 1, text);

    REQUIRE(schema.spans().size() == 1);
    CHECK(schema.spans()[0].name == "bytes");
    CHECK(schema.spans()[0].slab_bytes == 65536);
    CHECK(schema.spans()[0].slabs == 16);
    CHECK(difference(tables.schema, other.schema) ==
          "span 'bytes' has 16 slabs in each shard, and 17 in this program");
    CHECK(difference(tables.schema, Tables().schema) ==
          "span 'bytes' of the database is not in this program");
}

TEST_CASE("description: no foreign text becomes a schema", "[unit]")
{
    std::string text = kText;

    CHECK_THROWS_AS(Schema::of_description("other", 1, text), dtx::Error);
    CHECK_THROWS_AS(Schema::of_description("test", 1, ""), dtx::Error);
    for (size_t i = 0; i < text.size(); i++) {
        std::string changed = text;

        INFO(i);
        changed[i] = changed[i] == '7' ? '8' : '7';
        check_exact(changed);
        check_exact(text.substr(0, i));
    }
}

TEST_CASE("description: the first table that differs is named with its difference", "[unit]")
{
    Tables own;
    Schema fewer("test", 1);
    Schema kind("test", 1);
    Schema bytes("test", 1);
    Schema renamed("test", 1);
    Schema more = own.schema;

    (void)fewer.hash_table<Account>("accounts", 2000, partition_of);
    (void)kind.ordered_table<Account>("accounts", 2000, partition_of);
    (void)bytes.hash_table<Wide>("accounts", 2000, partition_of);
    (void)renamed.hash_table<Account>("customers", 2000, partition_of);
    (void)more.hash_table<Account>("more", 1, partition_of);
    CHECK(difference(fewer, own.schema) == "table 'sorted' of this program is not in the database");
    CHECK(difference(more, own.schema) == "table 'more' of the database is not in this program");
    CHECK(difference(kind, own.schema) ==
          "table 'accounts' is of kind ordered, and hash in this program");
    CHECK(difference(bytes, own.schema) ==
          "table 'accounts' has rows of 16 bytes, and 8 in this program");
    CHECK(difference(renamed, own.schema) ==
          "table 'customers' found, expected table 'accounts' of this program");
    CHECK(difference(Tables(2001).schema, own.schema) ==
          "table 'accounts' has room for 2001 rows in each shard, and 2000 in this program");
}

TEST_CASE("description: a program with other tables gets an error that names the first difference",
          "[unit]")
{
    Database db(2);
    dtx::Cluster other(Tables(2001).schema, db.cluster->options());

    std::string why = "the tables there are not those of this program: table 'accounts' has room "
                      "for 2000 rows in each shard, and 2001 in this program";

    CHECK(has(why_of([&] { other.verify(); }), why));
    CHECK(has(why_of([&] { dtx::Session session(other, 0); }), why));
    CHECK(has(why_of([&] { (void)other.recover(); }), why));
}

TEST_CASE("description: it suffices to recover, vacuum and read a database", "[unit]")
{
    Database db(3, replicated(2));
    dtx::Session session(*db.cluster, 0);
    dtx::RawConnection connection(*db.cluster, 1);
    dtx::ShardHeader header =
        dtx::read_shard_header(connection.get(), "test", *db.cluster, { 0, 1 });
    Schema schema = Schema::of_description("test", header.schema_version, header.description);
    dtx::Options options = db.cluster->options();
    uint64_t rows = 0;

    REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                for (uint32_t i = 0; i < 30; i++)
                    (void)co_await txn.insert(db.tables.accounts, in_partition(i, i), Account{ 1 });
                co_return true;
            }) == dtx::Status::committed);

    dtx::Cluster described(schema, options);

    CHECK_NOTHROW(described.verify());
    (void)described.recover();
    CHECK(described.vacuum().slots > 0);
    described.each_row(1, 1, [&](uint64_t, const void *, size_t bytes) { rows += bytes; });
    CHECK(rows == 30 * sizeof(Account));

    dtx::Session stranger(described, 1);

    CHECK(has(why_of([&] {
                  (void)now(stranger, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                      (void)co_await txn.read(db.tables.accounts, 1);
                      co_return true;
                  });
              }),
              "has no partition functions"));
}
