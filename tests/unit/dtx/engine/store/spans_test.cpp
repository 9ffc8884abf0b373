// SPDX-License-Identifier: BSD-3-Clause
// spans_test.cpp: bytes of spans on all copies, before and after servers are lost and sessions are
// fenced.
#include "engine/store/spans.h"

#include "support/old_server.h"
#include "unit/dtx/engine/restartable.h"

using dtx::Session;
using dtx::Span;
using dtx::SpanRead;
using dtx::SpanSum;
using dtx::SpanWrite;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kSlab = 64 << 10;

// The tables of other tests, and a span of 16 slabs.
struct SpanTables : Tables {
    Span span;

    SpanTables() : Tables(200), span(schema.span("bytes", kSlab, 16)) {}
};

std::vector<unsigned char> pattern(size_t bytes, uint32_t seed)
{
    std::vector<unsigned char> all(bytes);

    for (size_t i = 0; i < bytes; i++)
        all[i] = static_cast<unsigned char>(1 + (i * 7 + i / 251 + seed) % 255);
    return all;
}

void write_bytes(Session &session, const std::vector<SpanWrite> &pieces)
{
    Status status = now(session, [&](Txn &txn) -> Task<bool> {
        co_await txn.write_span(pieces);
        co_return true;
    });

    REQUIRE(status == Status::committed);
}

std::vector<unsigned char> read_bytes(Session &session, SpanRead piece)
{
    std::vector<unsigned char> all(piece.bytes);
    Status status;

    piece.into = all.data();
    status = now(session, [&](Txn &txn) -> Task<bool> {
        co_await txn.read_span({ &piece, 1 });
        co_return true;
    });
    REQUIRE(status == Status::committed);
    return all;
}

bool is_zero(const std::vector<unsigned char> &bytes)
{
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

// The text of the error with which a read ends, which must have @code.
std::string read_error(Session &session, const SpanRead &piece, int code)
{
    try {
        (void)read_bytes(session, piece);
    } catch (const dtx::Error &error) {
        CHECK(error.code() == code);
        return error.what();
    }
    return "";
}

// Could bytes be read after each change?
struct Survived {
    bool promotion;
    bool restoration;
};

// Writes bytes in shard 0, loses server 0, replaces it by an empty server, then loses server 1, the
// other copy.
Survived lose_servers(uint32_t canary)
{
    SpanTables tables;
    RestartableDatabase db(2, canary, tables);
    std::vector<unsigned char> wanted = pattern(3000, 1);
    SpanRead piece{ tables.span, 0, 5 * kSlab - 1000, nullptr, wanted.size(), 0 };
    Survived survived{};

    {
        Session session(*db.cluster, 0);

        write_bytes(session, { { tables.span, 0, piece.offset, wanted.data(), wanted.size() } });
        CHECK(read_bytes(session, piece) == wanted);
    }
    db.servers[0]->stop();
    db.cluster->promote({ 0 });
    {
        Session session(*db.cluster, 0);

        survived.promotion = read_bytes(session, piece) == wanted;
    }
    db.servers[0]->lose_pool();
    db.servers[0]->start();
    db.cluster->restore(0);
    db.servers[1]->stop();
    db.cluster->promote({ 1 });

    Session session(*db.cluster, 0);

    survived.restoration = read_bytes(session, piece) == wanted;
    return survived;
}

} // namespace

TEST_CASE("spans: pieces of any place and length are on all copies", "[unit]")
{
    auto mode =
        GENERATE(std::string(), std::string(",mode=ring"), std::string("tcp"), std::string("sim"));
    SpanTables tables;
    Database db(3, replicated(2), tables, mode);
    Session session(*db.cluster, 0);
    std::vector<unsigned char> one = pattern(1, 1);
    std::vector<unsigned char> odd = pattern(kSlab + 77, 2);
    std::vector<unsigned char> large = pattern(600000, 3);

    CAPTURE(mode);
    write_bytes(session, { { tables.span, 0, 0, one.data(), one.size() },
                           { tables.span, 2, 4 * kSlab - 33, odd.data(), odd.size() },
                           { tables.span, 1, kSlab, large.data(), large.size() },
                           { tables.span, 0, tables.span.bytes() - 1, one.data(), 1 },
                           { tables.span, 0, 7, nullptr, 0 } });
    for (uint32_t copy = 0; copy < 2; copy++) {
        CAPTURE(copy);
        CHECK(read_bytes(session, { tables.span, 0, 0, nullptr, 1, copy }) == one);
        CHECK(read_bytes(session, { tables.span, 0, tables.span.bytes() - 1, nullptr, 1, copy }) ==
              one);
        CHECK(read_bytes(session, { tables.span, 2, 4 * kSlab - 33, nullptr, odd.size(), copy }) ==
              odd);
        CHECK(read_bytes(session, { tables.span, 1, kSlab, nullptr, large.size(), copy }) == large);
        CHECK(is_zero(read_bytes(session, { tables.span, 0, 1, nullptr, 20000, copy })));
        CHECK(is_zero(read_bytes(session, { tables.span, 1, 0, nullptr, kSlab, copy })));
    }
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                CHECK(txn.copies(0) == 2);
                co_return true;
            }) == Status::committed);
}

TEST_CASE("spans: the sums of pieces of any place and length are those of each copy's bytes",
          "[unit]")
{
    auto mode =
        GENERATE(std::string(), std::string(",mode=ring"), std::string("tcp"), std::string("sim"));
    SpanTables tables;
    Database db(3, replicated(2), tables, mode);
    Session session(*db.cluster, 0);
    std::vector<unsigned char> bytes = pattern(600000, 3);
    std::vector<SpanSum> wanted;
    std::vector<uint64_t> sums(150);

    CAPTURE(mode);
    for (uint32_t shard = 0; shard < 3; shard++)
        write_bytes(session, { { tables.span, shard, 1000, bytes.data(), bytes.size() } });
    for (uint32_t i = 0; i < sums.size(); i++) // of most bytes more than a list can have
        wanted.push_back({ tables.span, i % 3, 1000 + i, i % 7 == 0 ? 599000 : 1 + 97ull * i, i,
                           &sums[i], i / 3 % 2 });
    for (int round = 0; round < 2; round++) {
        REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                    co_await txn.sum_span(wanted);
                    co_return true;
                }) == Status::committed);
        for (uint32_t i = 0; i < sums.size(); i++) {
            CAPTURE(i, round);
            CHECK(sums[i] == XXH3_64bits_withSeed(&bytes[i], wanted[i].bytes, i));
        }
        bytes[200] ^= 1; // is in most ranges
        for (uint32_t shard = 0; shard < 3; shard++)
            write_bytes(session, { { tables.span, shard, 1000 + 200, &bytes[200], 1 } });
    }
}

TEST_CASE("spans: the sum of a copy that differs is another one", "[unit]")
{
    SpanTables tables;
    Database db(
        2,
        [] {
            dtx::Options options = replicated(2);

            options.canary = dtx::kCanarySpanPrimary; // writes the first copy alone
            return options;
        }(),
        tables, "tcp");
    Session session(*db.cluster, 0);
    std::vector<unsigned char> bytes = pattern(4096, 3);
    std::vector<unsigned char> zeros(4096);
    uint64_t sums[2] = {};
    std::vector<SpanSum> wanted = { { tables.span, 1, 0, 4096, 5, &sums[0], 0 },
                                    { tables.span, 1, 0, 4096, 5, &sums[1], 1 } };

    write_bytes(session, { { tables.span, 1, 0, bytes.data(), bytes.size() } });
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_await txn.sum_span(wanted);
                co_return true;
            }) == Status::committed);
    CHECK(sums[0] == XXH3_64bits_withSeed(bytes.data(), 4096, 5));
    CHECK(sums[1] == XXH3_64bits_withSeed(zeros.data(), 4096, 5));
}

TEST_CASE("spans: sums that cannot be computed are refused", "[unit]")
{
    bool old = GENERATE(false, true);
    SpanTables tables;
    dtx::Options options = replicated(2);
    support::Servers servers(2, 16 << 20, "tcp");

    options.urls = servers.urls;
    if (old)
        options.dial = support::dial_without_sums(servers.urls);
    options.log_bytes = 256 << 10;
    dtx::Cluster cluster(tables.schema, options);
    cluster.create();
    Session session(cluster, 0);
    uint64_t sum = 77;
    auto code = [&](const SpanSum &wrong) {
        return code_of([&] {
            (void)now(session, [&](Txn &txn) -> Task<bool> {
                co_await txn.sum_span({ &wrong, 1 });
                co_return true;
            });
        });
    };

    CAPTURE(old);
    CHECK(code({ tables.span, 0, 0, 0, 0, &sum }) == RPM_E_INVAL);
    CHECK(code({ tables.span, 0, 0, dtx::kSumBytesMax + 1, 0, &sum }) == RPM_E_RANGE);
    CHECK(code({ tables.span, 0, tables.span.bytes() - 7, 8, 0, &sum }) == RPM_E_RANGE);
    CHECK(code({ tables.span, 2, 0, 8, 0, &sum }) == RPM_E_INVAL);
    CHECK(code({ tables.span, 0, 0, 8, 0, &sum, 2 }) == RPM_E_INVAL);
    CHECK(sum == 77);
    CHECK(code({ tables.span, 0, 0, dtx::kSumBytesMax, 0, &sum }) == (old ? RPM_E_NOCAP : 0));
    CHECK((sum == 77) == old);
}

TEST_CASE("spans: over a link, pieces for several servers take one round trip", "[unit]")
{
    SpanTables tables;
    Database db(3, replicated(2), tables, "tcp");
    Session session(*db.cluster, 0);
    std::vector<unsigned char> block = pattern(4096, 1);
    std::vector<SpanWrite> pieces;

    for (uint32_t shard = 0; shard < 3; shard++)
        for (uint32_t i = 0; i < 4; i++)
            pieces.push_back({ tables.span, shard, i * kSlab, block.data(), block.size() });
    uint64_t before = session.counters().round_trips;

    write_bytes(session, pieces);
    CHECK(session.counters().round_trips == before + 1);

    std::vector<unsigned char> found(pieces.size() * block.size());
    std::vector<SpanRead> reads;

    for (const SpanWrite &piece : pieces)
        reads.push_back({ tables.span, piece.shard, piece.offset,
                          &found[reads.size() * block.size()], block.size() });
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                co_await txn.read_span(reads);
                co_return true;
            }) == Status::committed);
    CHECK(session.counters().round_trips == before + 2);
    for (size_t i = 0; i < pieces.size(); i++)
        CHECK(std::equal(block.begin(), block.end(), &found[i * block.size()]));
}

TEST_CASE("spans: what is outside of a span is refused, and nothing is written", "[unit]")
{
    SpanTables tables;
    Database db(2, replicated(2), tables);
    Session session(*db.cluster, 0);
    uint64_t end = tables.span.bytes();
    std::vector<unsigned char> block = pattern(16, 1);
    Span foreign{ 0, kSlab, 17 };
    auto refused = [&](const SpanWrite &wrong, int code) {
        std::vector<SpanWrite> pieces = { { tables.span, 0, 0, block.data(), 16 }, wrong };

        CHECK(code_of([&] { write_bytes(session, pieces); }) == code);
    };

    refused({ tables.span, 0, end - 15, block.data(), 16 }, RPM_E_RANGE);
    refused({ tables.span, 0, end + 1, block.data(), 0 }, RPM_E_RANGE);
    refused({ tables.span, 0, UINT64_MAX - 3, block.data(), 16 }, RPM_E_RANGE);
    refused({ tables.span, 2, 0, block.data(), 16 }, RPM_E_INVAL);
    refused({ foreign, 0, 0, block.data(), 16 }, RPM_E_INVAL);
    refused({ Span{ 1, kSlab, 16 }, 0, 0, block.data(), 16 }, RPM_E_INVAL);
    CHECK(is_zero(read_bytes(session, { tables.span, 0, 0, nullptr, 16 })));
    CHECK(session.counters().rejoined == 0);
    CHECK(contains(read_error(session, { tables.span, 0, 0, nullptr, 16, 2 }, RPM_E_INVAL),
                   "which has 2 copies"));
    CHECK(contains(read_error(session, { tables.span, 0, end, nullptr, 1 }, RPM_E_RANGE),
                   "1 bytes at offset 1048576 of span 'bytes' end behind its 1048576 bytes"));
}

TEST_CASE("spans: the schema refuses spans that it cannot lay out", "[unit]")
{
    SpanTables tables;

    CHECK_THROWS_AS(tables.schema.span("bytes", 4096, 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("accounts", 4096, 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("no name", 4096, 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("a", 0, 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("a", 4097, 1), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("a", 4096, 0), dtx::Error);
    CHECK_THROWS_AS(tables.schema.span("a", 4096, UINT64_MAX / 4096), dtx::Error);
    CHECK_THROWS_AS(tables.schema.hash_table<Account>("bytes", 1, partition_of), dtx::Error);
    for (uint32_t i = 1; i < dtx::Schema::kSpansMax; i++)
        (void)tables.schema.span("s" + std::to_string(i), 4096, 1);
    CHECK_THROWS_AS(tables.schema.span("one-more", 4096, 1), dtx::Error);
}

TEST_CASE("spans: bytes survive a restart of all servers", "[unit]")
{
    SpanTables tables;
    RestartableDatabase db(2, 0, tables);
    std::vector<unsigned char> wanted = pattern(5000, 1);
    Session session(*db.cluster, 0);

    write_bytes(session, { { tables.span, 1, 100, wanted.data(), wanted.size() } });
    for (auto &server : db.servers) {
        server->stop();
        server->start();
    }
    for (uint32_t copy = 0; copy < 2; copy++)
        CHECK(read_bytes(session, { tables.span, 1, 100, nullptr, wanted.size(), copy }) == wanted);
}

TEST_CASE("spans: bytes survive a promotion, and a restoration to an empty server", "[unit]")
{
    Survived survived = lose_servers(0);

    CHECK(survived.promotion);
    CHECK(survived.restoration);
}

TEST_CASE("spans: bytes on the primary alone, or in slabs without marks, are lost", "[canary]")
{
    CHECK(!lose_servers(dtx::kCanarySpanPrimary).promotion);

    Survived unmarked = lose_servers(dtx::kCanarySpanUnmarked);

    CHECK(unmarked.promotion);
    CHECK(!unmarked.restoration);
}

// The servers lost their memory, and the operator made the database again. The session lives on.
TEST_CASE("spans: a session marks its slabs again in a database that was made again", "[unit]")
{
    SpanTables tables;
    RestartableDatabase db(2, 0, tables);
    std::vector<unsigned char> block = pattern(512, 1);
    Session session(*db.cluster, 0);
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);

    write_bytes(session, { { tables.span, 0, 3 * kSlab, block.data(), block.size() } });
    for (auto &server : db.servers) {
        server->stop();
        server->lose_pool();
        server->start();
    }
    db.cluster->create();
    write_bytes(session, { { tables.span, 0, 3 * kSlab, block.data(), block.size() } });
    servers.open(0, dtx::Claim::none);
    for (uint32_t server = 0; server < 2; server++) {
        uint64_t mark = 0;

        servers.connection(server).read(0, db.cluster->layout().span(0).mark_offset(3), &mark, 8);
        CHECK(mark == dtx::kSlabMark);
    }
    servers.close();
}

TEST_CASE("spans: a session that was fenced writes no bytes any more", "[unit]")
{
    auto mode = GENERATE(std::string(), std::string(",mode=ring"), std::string("tcp"));
    SpanTables tables;
    Database db(3, replicated(2), tables, mode);
    Session fenced(*db.cluster, 0);
    Session other(*db.cluster, 1);
    std::vector<unsigned char> late = pattern(512, 1);
    std::vector<SpanWrite> write = { { tables.span, 0, 0, late.data(), late.size() } };
    int attempts = 0;
    bool threw = false;

    CAPTURE(mode);
    REQUIRE(now(fenced, [&](Txn &txn) -> Task<bool> {
                if (++attempts > 1)
                    co_return false;
                (void)db.cluster->recover(0);
                try {
                    co_await txn.write_span(write);
                } catch (const dtx::Fenced &) {
                    threw = true;
                    throw;
                }
                co_return true;
            }) == Status::aborted);
    CHECK(threw);
    CHECK(attempts == 2);
    for (uint32_t copy = 0; copy < 2; copy++)
        CHECK(is_zero(read_bytes(other, { tables.span, 0, 0, nullptr, 512, copy })));
    write_bytes(fenced, write); // it has joined again
    CHECK(read_bytes(other, { tables.span, 0, 0, nullptr, 512 }) == late);
}

// A transaction with a single row needs no validation otherwise (object_reader.cc is_settled()).
TEST_CASE("spans: a body that read bytes after their row was changed runs again", "[unit]")
{
    auto mode = GENERATE(std::string(), std::string(",mode=ring"), std::string("tcp"));
    SpanTables tables;
    Database db(2, replicated(2), tables, mode);
    Session reader(*db.cluster, 0);
    Session writer(*db.cluster, 1);
    std::vector<unsigned char> found(100);
    int attempts = 0;
    // Writes bytes to a place and a row that leads there; the row's key is 1.
    auto move_to = [&](uint64_t offset) {
        std::vector<unsigned char> bytes = pattern(found.size(), static_cast<uint32_t>(offset));
        SpanWrite piece{ tables.span, 0, offset, bytes.data(), bytes.size() };
        Account row{ static_cast<int64_t>(offset) };

        REQUIRE(now(writer, [&](Txn &txn) -> Task<bool> {
                    co_await txn.write_span({ &piece, 1 });
                    bool written = co_await txn.write(tables.accounts, 1, row);

                    if (!written)
                        (void)co_await txn.insert(tables.accounts, 1, row);
                    co_return true;
                }) == Status::committed);
    };

    CAPTURE(mode);
    move_to(0);
    // So that the reader knows the row's slot, and reads nothing else.
    CHECK(now(reader, [&](Txn &txn) -> Task<bool> {
              co_return (co_await txn.read(tables.accounts, 1))->cents == 0;
          }) == Status::committed);

    Status status = now(reader, [&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read(tables.accounts, 1);
        uint64_t offset = static_cast<uint64_t>(row->cents);
        SpanRead piece{ tables.span, 0, offset, found.data(), found.size() };

        if (attempts++ == 0) {
            move_to(1000);
            write_bytes(writer, { { tables.span, 0, 0, "another", 7 } });
        }
        co_await txn.read_span({ &piece, 1 });
        co_return true;
    });

    CHECK(status == Status::committed);
    CHECK(attempts == 2);
    CHECK(found == pattern(found.size(), 1000));
}
