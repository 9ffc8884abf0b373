// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

namespace
{

// A DRAM region: all four kinds of operations work there.
struct World {
    Server server;
    Conn conn;
    Region words;

    World(const Kind &kind, const rpm_conn_opts &conn_opts, uint32_t inflight_max = 0)
        : server(1u << 20, 1u << 21), conn(server, kind.setup, &conn_opts)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
        opts.bytes = 1u << 20;
        opts.inflight_max = inflight_max;
        REQUIRE(words.open(conn, "w", &opts) == 0);
    }
};

} // namespace

TEST_CASE("async: reads have their bytes when they complete, in the order of submission", "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts);
    Freeze freeze;
    uint64_t found[3] = { 99, 99, 99 };
    char data[2][8] = {};

    REQUIRE(rpm_region_faa_async(world.words, 8, 5, &found[0], number(1)) == 0);
    REQUIRE(rpm_region_cas_async(world.words, 8, 5, 7, &found[1], number(2)) == 0);
    REQUIRE(rpm_region_cas_async(world.words, 8, 5, 9, &found[2], number(3)) == 0);
    REQUIRE(rpm_region_write_async(world.words, 64, "abcdefgh", 8, number(4)) == 0);
    REQUIRE(world.words.reap(4).size() == 4);
    REQUIRE(rpm_region_read_async(world.words, 8, data[0], 8, number(5)) == 0);
    REQUIRE(rpm_region_read_async(world.words, 64, data[1], 8, number(6)) == 0);
    auto done = world.words.reap(2);
    REQUIRE(done.size() == 2);
    CHECK(done[0].context == number(5));
    CHECK(done[0].lsn == 8);
    CHECK(done[1].context == number(6));
    CHECK(done[1].lsn == 64);
    CHECK(done[1].status == 0);
    CHECK(found[0] == 0);
    CHECK(found[1] == 5);
    CHECK(found[2] == 7);
    CHECK(rpmi_load64(data[0]) == 7);
    CHECK(std::string(data[1], 8) == "abcdefgh");
    CHECK(world.words.reap(1, 10).empty());
}

// Submits, waits and polls in random order; each read fetches the bytes of the moment of its turn.
TEST_CASE("async: reads, writes and atomics mixed, with synchronous ones between them", "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts, 20);
    const uint64_t total = 600;
    std::vector<std::string> wanted(total);
    std::vector<std::vector<char>> got(total);
    std::vector<uint64_t> found(total, 99);
    std::vector<uint64_t> before(total, 99);
    std::string model(20000, '\0');
    uint64_t word = 0;
    uint64_t sent = 0;
    uint64_t came = 0;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 5);
    for (auto &one : got)
        one.resize(9000);
    auto freeze = std::make_unique<Freeze>();
    for (uint32_t turn = 0; turn < 60000 && came < total; turn++) {
        uint64_t offset = rpmi_rng_below(&rng, 10000);
        uint64_t len = 1 + rpmi_rng_below(&rng, 9000);
        uint64_t what = rpmi_rng_below(&rng, 8);
        int err = RPM_E_BUSY;

        if (sent == total) {
            what = 0;
        } else if (what == 1) {
            std::string data = payload(turn, len);
            // A message's bytes may be copied behind a later READ: let that one wait for it.
            REQUIRE(world.words.write(offset, data) == 0);
            model.replace(offset, data.size(), data);
        } else if (what <= 4) {
            err = rpm_region_read_async(world.words, offset, got[sent].data(), len, number(sent));
            if (err == 0)
                wanted[sent] = model.substr(offset, len);
        } else if (what == 5) {
            err = rpm_region_faa_async(world.words, 1 << 16, turn, &found[sent], number(sent));
            before[sent] = word;
            word += err == 0 ? turn : 0;
        } else if (what == 6) {
            err =
                rpm_region_cas_async(world.words, 1 << 16, word, turn, &found[sent], number(sent));
            before[sent] = word;
            word = err == 0 ? turn : word;
        }
        REQUIRE((err == 0 || err == RPM_E_BUSY));
        sent += err == 0;
        if (what != 0)
            continue;
        rpm_completion done[4];
        int n = rpm_region_poll(world.words, done, 4);
        for (int i = 0; i < n; i++, came++) {
            REQUIRE(done[i].context == number(came));
            REQUIRE(done[i].status == 0);
            if (!wanted[came].empty())
                REQUIRE(memcmp(got[came].data(), wanted[came].data(), wanted[came].size()) == 0);
            else
                REQUIRE(found[came] == before[came]);
        }
    }
    freeze.reset();
    CHECK(came == total);
}

TEST_CASE("async: buffers are not touched, nor staging reused, before the link has the op",
          "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts);
    std::string data(4000, 'z');
    char into[4][1000];
    uint64_t found = 99;

    if (kind.setup.synchronous)
        return;
    memset(into, '.', sizeof(into));
    REQUIRE(world.words.write(0, data) == 0);
    world.conn.link->manual = true;
    for (uint64_t i = 0; i < 4; i++)
        REQUIRE(rpm_region_read_async(world.words, i * 1000, into[i], 1000, number(i)) == 0);
    REQUIRE(rpm_region_faa_async(world.words, 8192, 3, &found, number(4)) == 0);
    CHECK(world.words.reap(1, 10).empty());
    CHECK(into[0][0] == '.');
    for (uint64_t i = 0; i < 4; i++) {
        world.conn.link->step();
        world.conn.link->hold = 1;
        auto done = world.words.reap(1, 1);
        REQUIRE(done.size() == 1);
        CHECK(done[0].context == number(i));
        CHECK(std::string(into[i], 1000) == data.substr(i * 1000, 1000));
        if (i < 3)
            CHECK(into[i + 1][0] == '.');
    }
    CHECK(found == 99);
    world.conn.link->manual = false;
    CHECK(world.words.reap(1).size() == 1);
    CHECK(found == 0);
}

TEST_CASE("async: a refused operation fails at once, and no completion follows", "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts);
    Region persistent(world.conn, "p", 1000);
    char byte = 7;
    uint64_t found = 99;
    uint64_t ops = world.conn.link->ops;
    struct {
        uint64_t offset;
        uint64_t len;
        int err;
    } rows[] = {
        { 0, 0, RPM_E_INVAL },
        { 1 << 20, 1, RPM_E_RANGE },
        { (1 << 20) - 1, 2, RPM_E_RANGE },
        { UINT64_MAX, 2, RPM_E_RANGE },
        { 8, UINT64_MAX - 7, RPM_E_RANGE },
    };

    for (const auto &row : rows) {
        CAPTURE(row.offset, row.len);
        CHECK(rpm_region_read_async(world.words, row.offset, &byte, row.len, nullptr) == row.err);
    }
    CHECK(rpm_region_cas_async(persistent, 0, 0, 1, &found, nullptr) == RPM_E_NOCAP);
    CHECK(rpm_region_faa_async(persistent, 0, 1, &found, nullptr) == RPM_E_NOCAP);
    CHECK(rpm_region_cas_async(world.words, 1 << 20, 0, 1, &found, nullptr) == RPM_E_RANGE);
    CHECK(rpm_region_faa_async(world.words, UINT64_MAX - 7, 1, &found, nullptr) == RPM_E_RANGE);
    CHECK(rpm_region_cas_async(world.words, 4, 0, 1, &found, nullptr) == RPM_E_INVAL);
    CHECK(rpm_region_faa_async(world.words, 4, 1, &found, nullptr) == RPM_E_INVAL);
    CHECK(world.words.reap(1, 10).empty());
    CHECK(persistent.reap(1, 10).empty());
    CHECK(world.conn.link->ops == ops);
    CHECK(byte == 7);
    CHECK(found == 99);
}

TEST_CASE("async: the queue is full until it is polled, the staging memory until it is free",
          "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts, 3);
    std::vector<char> big(600000);
    uint64_t found[3] = {};

    REQUIRE(rpm_region_read_async(world.words, 0, big.data(), 1, nullptr) == 0);
    REQUIRE(rpm_region_faa_async(world.words, 0, 1, &found[0], nullptr) == 0);
    REQUIRE(rpm_region_cas_async(world.words, 0, 1, 2, &found[1], nullptr) == 0);
    CHECK(rpm_region_read_async(world.words, 0, big.data(), 1, nullptr) == RPM_E_BUSY);
    CHECK(rpm_region_faa_async(world.words, 0, 1, &found[2], nullptr) == RPM_E_BUSY);
    CHECK(rpm_region_cas_async(world.words, 0, 1, 2, &found[2], nullptr) == RPM_E_BUSY);
    CHECK(world.words.reap(3).size() == 3);
    CHECK(found[1] == 1);
    CHECK(rpm_region_read_async(world.words, 0, big.data(), big.size(), nullptr) ==
          (kind.setup.synchronous ? 0 : RPM_E_TOOBIG));
    if (kind.setup.synchronous)
        return;
    world.conn.link->manual = true;
    REQUIRE(rpm_region_read_async(world.words, 0, big.data(), 400000, nullptr) == 0);
    REQUIRE(rpm_region_read_async(world.words, 0, big.data(), 400000, nullptr) == 0);
    CHECK(rpm_region_read_async(world.words, 0, big.data(), 400000, nullptr) == RPM_E_BUSY);
    world.conn.link->manual = false;
    CHECK(world.words.reap(2).size() == 2);
    for (int i = 0; i < 20; i++) { // and a refused operation keeps no staging memory
        REQUIRE(rpm_region_read_async(world.words, 0, big.data(), 500000, nullptr) == 0);
        CHECK(world.words.reap(1).size() == 1);
    }
}

TEST_CASE("async: an operation that found the link full leaves no trace", "[unit]")
{
    EACH_KIND(kind);
    if (kind.setup.synchronous)
        return;
    conn_opts.depth = RPMI_BATCH_OPS_MAX;
    World world(kind, conn_opts, 1000);
    std::vector<char> data(500000);
    uint64_t found = 99;
    uint64_t sent = 0;
    uint64_t full = 0;

    world.conn.link->manual = true;
    for (int i = 0; i < 50000; i++) {
        int err = i % 3 == 0 ? rpm_region_faa_async(world.words, 0, 1, &found, nullptr)
                  : i % 3 == 1
                      ? rpm_region_read_async(world.words, 0, data.data(), 100, nullptr)
                      : rpm_region_write_async(world.words, 4096, data.data(), 100, nullptr);

        REQUIRE((err == 0 || err == RPM_E_BUSY));
        (err == 0 ? sent : full)++;
    }
    CHECK(sent > 10);
    CHECK(full > 40000);
    world.conn.link->manual = false;
    CHECK(world.words.reap(sent).size() == sent);
    CHECK(rpm_region_read_async(world.words, 0, data.data(), data.size(), nullptr) == 0);
    CHECK(world.words.reap(1).size() == 1);
}

TEST_CASE(
    "async: after a loss at any op all completions come, and completed reads have their bytes",
    "[unit]")
{
    EACH_KIND(kind);
    bool late = GENERATE(false, true);

    for (uint64_t at = 1; at < 16; at++) {
        World world(kind, conn_opts);
        uint64_t found[12];
        uint64_t sent = 0;
        bool wrong = false;
        int err = 0;

        CAPTURE(at, late);
        std::fill_n(found, 12, 99);
        REQUIRE(world.words.write(64, std::string(8, '\0')) == 0);
        world.conn.link->faults.lose_op = at;
        world.conn.link->faults.lose_late = late;
        for (uint64_t i = 0; i < 12 && err == 0; i++) {
            void *to = number(i);

            err = i % 3 == 0   ? rpm_region_read_async(world.words, 64, &found[i], 8, to)
                  : i % 3 == 1 ? rpm_region_faa_async(world.words, 0, 1, &found[i], to)
                               : rpm_region_cas_async(world.words, 8, 0, 0, &found[i], to);
            sent += err == 0;
        }
        auto done = world.words.reap(sent, 200);
        REQUIRE(done.size() == sent);
        for (uint64_t i = 0; i < sent; i++) {
            CHECK(done[i].context == number(i));
            CHECK((done[i].status == 0 || done[i].status == RPM_E_LOST));
            wrong = wrong || (done[i].status == 0 && found[i] == 99);
            if (!kind.setup.synchronous)
                wrong = wrong || (done[i].status != 0 && found[i] != 99);
        }
        CHECK_FALSE(wrong);
        CHECK(sent + (err != 0) >= std::min<uint64_t>(at, 12));
        if (at <= 12)
            CHECK(rpm_region_read_async(world.words, 0, &found[0], 8, nullptr) == RPM_E_LOST);
        CHECK(world.words.reap(1, 10).empty());
        if (at % 2 == 0)
            world.words.close();
    }
}

TEST_CASE("async: closing waits for outstanding operations", "[unit]")
{
    EACH_KIND(kind);
    World world(kind, conn_opts);
    uint64_t found = 99;

    REQUIRE(rpm_region_faa_async(world.words, 0, 1, &found, nullptr) == 0);
    world.words.close();
    CHECK(found == 0);
}

TEST_CASE("async: reads of a fenced region continue, and do not complete as fenced", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other(server, kind.setup, &conn_opts);
    Log log(conn, "log", WRITER, 8192);
    rpm_region_opts opts = rpm_region_opts_init();
    Region words;
    uint64_t found[4] = { 99, 99, 99, 99 };

    opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
    opts.bytes = 64;
    opts.claim = log;
    REQUIRE(words.open(conn, "w", &opts) == 0);
    Log next(other, "log", WRITER | RPM_LOG_TAKEOVER, 8192);
    conn.link->manual = true; // all of them are under way before one is refused
    REQUIRE(rpm_region_read_async(words, 0, &found[0], 8, nullptr) == 0);
    REQUIRE(rpm_region_faa_async(words, 0, 1, &found[1], nullptr) == 0);
    int cas = rpm_region_cas_async(words, 0, 0, 2, &found[2], nullptr);
    int read = rpm_region_read_async(words, 0, &found[3], 8, nullptr);
    conn.link->manual = false;
    size_t under_way = 2 + (cas == 0 ? 1 : 0) + (read == 0 ? 1 : 0);
    auto done = words.reap(under_way);
    REQUIRE(done.size() == under_way);
    CHECK(done[0].status == 0);
    CHECK(found[0] == 0);
    CHECK(done[1].status == RPM_E_FENCED);
    if (cas == 0)
        CHECK(done[2].status == RPM_E_FENCED);
    else
        CHECK(cas == RPM_E_FENCED);
    CHECK((read == 0 ? done.back().status : read) == RPM_E_LOST);
    CHECK(found[1] == 99);
    CHECK(found[2] == 99);
    CHECK(rpm_region_faa_async(words, 0, 1, &found[1], nullptr) == RPM_E_FENCED);
}

namespace
{

bool places_bytes(const rpmi_op &op)
{
    return op.kind == RPMI_OP_WRITE || op.kind == RPMI_OP_COPY || op.kind == RPMI_OP_WRITE_IMM;
}

} // namespace

TEST_CASE("async: many pieces have one completion and share seals", "[unit]")
{
    EACH_KIND(kind);
    const size_t n = GENERATE(1, 2, 16, 17, 32);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 60000);
    std::vector<rpm_patch> patches;
    std::vector<std::string> data;
    uint32_t writes = 0;
    uint32_t seals = 0;

    CAPTURE(n);
    for (uint64_t i = 0; i < n; i++)
        data.push_back(payload(i, 1 + i * 37));
    for (uint64_t i = 0; i < n; i++)
        patches.push_back({ 7 + i * 1500, data[i].data(), data[i].size(), 0 });
    conn.link->on_op = [&](const rpmi_op &op) { (places_bytes(op) ? writes : seals)++; };
    {
        Freeze freeze;
        REQUIRE(rpm_region_writev_async(region, patches.data(), static_cast<uint32_t>(n),
                                        number(5)) == 0);
        data.assign(n, ""); // borrowed until return only
    }
    auto done = region.reap(1);
    REQUIRE(done.size() == 1);
    CHECK(done[0].context == number(5));
    CHECK(done[0].lsn == 7);
    CHECK(done[0].status == 0);
    CHECK(region.reap(1, 10).empty());
    for (uint64_t i = 0; i < n; i++) {
        std::string wanted = payload(i, 1 + i * 37);

        REQUIRE(memcmp(&server.pool.kept[POOL_DATA + 7 + i * 1500], wanted.data(), wanted.size()) ==
                0);
    }
    CHECK(writes == n);
    if (kind.method == RPM_METHOD_MESSAGE)
        CHECK(seals == n); // one for each range
    else if (kind.method == RPM_METHOD_COPY || kind.method == RPM_METHOD_IMMEDIATE)
        CHECK(seals == 0);
    else if (!kind.setup
                  .synchronous) // where the client CPU flushes, there is no operation on the link
        CHECK(seals == (n + 15) / 16);
}

TEST_CASE("async: nothing marked AFTER is placed before all earlier pieces are durable", "[unit]")
{
    EACH_KIND(kind);
    const char *hints = GENERATE("all", "-H9");
    Server server;
    conn_opts.hints = hints;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 60000);
    rpm_patch patches[4] = { { 0, "first", 5, RPM_PATCH_AFTER },
                             { 128, "second", 6, 0 },
                             { 256, "flag", 4, RPM_PATCH_AFTER },
                             { 384, "last", 4, RPM_PATCH_AFTER } };
    uint32_t after = 0;

    CAPTURE(hints);
    conn.link->on_op = [&](const rpmi_op &op) {
        if (!places_bytes(op))
            return;
        for (int i = 2; i < 4; i++) {
            if (op.offset != patches[i].offset)
                continue;
            after++;
            for (int k = 0; k < i; k++)
                CHECK(memcmp(&server.pool.kept[POOL_DATA + patches[k].offset], patches[k].data,
                             patches[k].len) == 0);
            if (!kind.setup.synchronous)
                CHECK((op.flags & RPMI_OP_FENCED) != 0);
        }
    };
    REQUIRE(rpm_region_writev_async(region, patches, 4, nullptr) == 0);
    CHECK(region.reap(1).size() == 1);
    CHECK(after == 2);
    CHECK(memcmp(&server.pool.kept[POOL_DATA + 384], "last", 4) == 0);
}

TEST_CASE("async: invalid, too many or too long pieces are refused before anything is sent",
          "[unit]")
{
    EACH_KIND(kind);
    Server server(4u << 20);
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 2u << 20);
    std::vector<char> big(600000);
    std::vector<rpm_patch> many(65, rpm_patch{ 0, "x", 1, RPM_PATCH_AFTER });
    uint64_t ops = conn.link->ops;
    struct {
        rpm_patch second;
        int err;
    } rows[] = {
        { { 2u << 20, "x", 1, 0 }, RPM_E_RANGE }, { { UINT64_MAX, "x", 2, 0 }, RPM_E_RANGE },
        { { 0, "x", SIZE_MAX, 0 }, RPM_E_RANGE }, { { 0, "x", 0, 0 }, RPM_E_INVAL },
        { { 0, "x", 1, 2 }, RPM_E_INVAL },
    };

    for (const auto &row : rows) {
        rpm_patch patches[2] = { { 0, "x", 1, 0 }, row.second };

        CHECK(rpm_region_writev_async(region, patches, 2, nullptr) == row.err);
    }
    CHECK(rpm_region_writev_async(region, many.data(), 0, nullptr) == RPM_E_INVAL);
    CHECK(rpm_region_writev_async(region, many.data(), 257, nullptr) == RPM_E_INVAL);
    CHECK(rpm_region_writev_async(region, many.data(), 65, nullptr) == RPM_E_TOOBIG);
    rpm_patch long_ones[2] = { { 0, big.data(), 300000, 0 }, { 0, big.data(), 300000, 0 } };
    CHECK(conn.link->ops == ops);
    CHECK(rpm_region_writev_async(region, long_ones, 2, nullptr) ==
          (kind.setup.synchronous ? 0 : RPM_E_TOOBIG));
    if (!kind.setup.synchronous)
        CHECK(conn.link->ops == ops);
    CHECK(region.reap(1, 10).size() == (kind.setup.synchronous ? 1 : 0));
    REQUIRE(rpm_region_writev_async(region, many.data(), 32, nullptr) == 0);
    CHECK(region.reap(1).size() == 1);
}

TEST_CASE("async: after a loss at any op, all pieces complete once", "[unit]")
{
    EACH_KIND(kind);

    for (uint64_t at = 1; at < 12; at++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Region region(conn, "r", 4096);
        rpm_patch patches[3] = { { 0, "a", 1, 0 }, { 64, "b", 1, 0 }, { 128, "c", 1, 0 } };
        uint64_t sent = 0;
        int err = 0;

        CAPTURE(at);
        conn.link->faults.lose_op = at;
        for (; sent < 4 && err == 0; sent += err == 0)
            err = rpm_region_writev_async(region, patches, 3, number(sent));
        auto done = region.reap(sent, 200);
        REQUIRE(done.size() == sent);
        for (uint64_t i = 0; i < sent; i++) {
            CHECK(done[i].context == number(i));
            CHECK((done[i].status == 0 || done[i].status == RPM_E_LOST));
        }
        CHECK(done[0].status == (at <= 3 ? RPM_E_LOST : done[0].status));
        CHECK(region.reap(1, 10).empty());
    }
}
