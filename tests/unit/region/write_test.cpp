// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

TEST_CASE("write: bytes are written at their offset, durable, and no others change", "[unit]")
{
    EACH_KIND(kind);
    const char *hints = GENERATE("all", "-H6", "-H9");
    Server server;

    conn_opts.hints = hints;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 2000);
    std::string model(2000, '\0');
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 1);
    std::fill_n(server.pool.bytes.begin() + POOL_DATA + 2000, 96, 0xee); // behind the region
    {
        Freeze freeze;
        for (uint64_t i = 0; i < 300; i++) {
            uint64_t offset = rpmi_rng_below(&rng, 2000);
            uint64_t len = 1 + rpmi_rng_below(&rng, 2000 - offset);
            std::string data = payload(i, len);

            REQUIRE(region.write(offset, data) == 0);
            model.replace(offset, len, data);
            REQUIRE(memcmp(&server.pool.bytes[POOL_DATA], model.data(), 2000) == 0);
            REQUIRE(memcmp(&server.pool.kept[POOL_DATA], model.data(), 2000) == 0);
        }
    }
    CHECK(region.read(0, 2000) == model);
    CHECK(server.pool.bytes[POOL_DATA + 2000] == 0xee);
}

TEST_CASE("write: bounds are checked before anything is sent", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 1000);
    char byte = 0;
    uint64_t ops = conn.link->ops;
    std::vector<unsigned char> before = server.pool.bytes;

    struct {
        uint64_t offset;
        size_t len;
        int err;
    } bad[] = { { 1000, 1, RPM_E_RANGE },         { 0, 1001, RPM_E_RANGE },
                { 999, 2, RPM_E_RANGE },          { UINT64_MAX, 1, RPM_E_RANGE },
                { UINT64_MAX, 2, RPM_E_RANGE },   { 1, SIZE_MAX, RPM_E_RANGE },
                { 8, SIZE_MAX - 7, RPM_E_RANGE }, { 0, 0, RPM_E_INVAL },
                { 1000, 0, RPM_E_INVAL },         { UINT64_MAX, 0, RPM_E_INVAL } };
    for (const auto &row : bad) {
        rpm_patch patches[2] = { { 0, "x", 1, 0 }, { row.offset, "x", row.len, 0 } };

        CAPTURE(row.offset, row.len);
        CHECK(rpm_region_write(region, row.offset, "x", row.len) == row.err);
        CHECK(rpm_region_read(region, row.offset, &byte, row.len) == row.err);
        CHECK(rpm_region_persist(region, row.offset, row.len) == row.err);
        CHECK(rpm_region_write_async(region, row.offset, "x", row.len, nullptr) == row.err);
        CHECK(rpm_region_writev(region, patches, 2) == row.err);
    }
    rpm_patch odd = { 0, "x", 1, 2 };
    CHECK(rpm_region_writev(region, &odd, 1) == RPM_E_INVAL);
    CHECK(rpm_region_writev(region, &odd, 0) == RPM_E_INVAL);
    CHECK(rpm_region_writev(region, &odd, 257) == RPM_E_INVAL);
    CHECK(conn.link->ops == ops);
    CHECK(server.pool.bytes == before);
    CHECK(region.reap(1, 10).empty());
    CHECK(region.write(999, "x") == 0);
}

TEST_CASE("write: many pieces, one flush for each sixteen", "[unit]")
{
    EACH_KIND(kind);
    Server server(8u << 20);
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 5u << 20);
    std::vector<std::string> data;
    std::vector<rpm_patch> patches;

    for (uint64_t i = 0; i < 200; i++)
        data.push_back(payload(i, i == 50 ? 2000000 : 1 + i * 13));
    uint64_t at = 0;
    for (const std::string &one : data) {
        patches.push_back({ at, one.data(), one.size(), 0 });
        at += one.size() + 7;
    }
    Freeze freeze;
    REQUIRE(rpm_region_writev(region, patches.data(), 200) == 0);
    bool same = true;
    for (const rpm_patch &patch : patches)
        same =
            same && memcmp(&server.pool.kept[POOL_DATA + patch.offset], patch.data, patch.len) == 0;
    CHECK(same);
}

namespace
{

// Writes of pieces with barriers; the set of durable pieces must respect the barriers at any time.
struct Barriers {
    std::vector<std::string> data;
    std::vector<rpm_patch> patches;

    Barriers(uint64_t seed, size_t n)
    {
        rpmi_rng rng;
        uint64_t at = 0;

        rpmi_rng_seed(&rng, seed);
        for (size_t i = 0; i < n; i++)
            data.push_back(payload(seed * 1000 + i, 8 + rpmi_rng_below(&rng, 300)));
        for (const std::string &one : data) {
            uint32_t flags = rpmi_rng_below(&rng, 3) == 0 ? RPM_PATCH_AFTER : 0;

            patches.push_back({ at, one.data(), one.size(), flags });
            at += (one.size() + 64) & ~63ull;
        }
    }
};

} // namespace

TEST_CASE("write: nothing marked AFTER is placed before all earlier pieces are durable", "[unit]")
{
    EACH_KIND(kind);
    const char *hints = GENERATE("all", "-H9");

    for (uint64_t seed = 1; seed < 12; seed++) {
        Barriers barriers(seed, seed % 2 == 0 ? 7 : 60);
        Server server;
        conn_opts.hints = hints;
        Conn conn(server, kind.setup, &conn_opts);
        Region region(conn, "r", 60000);
        bool sound = true;

        CAPTURE(seed, hints);
        conn.link->on_op = [&](const rpmi_op &op) {
            if (op.kind != RPMI_OP_WRITE && op.kind != RPMI_OP_COPY && op.kind != RPMI_OP_WRITE_IMM)
                return;
            for (size_t i = 0; i < barriers.patches.size(); i++) {
                const rpm_patch &patch = barriers.patches[i];

                if (patch.offset != op.offset || (patch.flags & RPM_PATCH_AFTER) == 0)
                    continue;
                for (size_t k = 0; k < i; k++) {
                    const rpm_patch &earlier = barriers.patches[k];

                    sound = sound && memcmp(&server.pool.kept[POOL_DATA + earlier.offset],
                                            earlier.data, earlier.len) == 0;
                }
                // On a real link either a fence or a wait orders it.
                bool waited = conn.link->flight.empty() || i == 0 || kind.setup.synchronous;
                sound = sound && ((op.flags & RPMI_OP_FENCED) != 0 || waited || i == 0 ||
                                  kind.setup.synchronous);
            }
        };
        REQUIRE(rpm_region_writev(region, barriers.patches.data(),
                                  static_cast<uint32_t>(barriers.patches.size())) == 0);
        CHECK(sound);
        for (const rpm_patch &patch : barriers.patches)
            REQUIRE(memcmp(&server.pool.kept[POOL_DATA + patch.offset], patch.data, patch.len) ==
                    0);
    }
}

TEST_CASE("write: asynchronous ones complete once each, in order, with their offsets", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region;
    rpm_region_opts opts = rpm_region_opts_init();
    uint64_t sent = 0;
    uint64_t came = 0;
    std::string model(50000, '\0');
    rpmi_rng rng;
    std::vector<uint64_t> offsets;

    rpmi_rng_seed(&rng, 4);
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 50000;
    opts.inflight_max = 20;
    REQUIRE(region.open(conn, "r", &opts) == 0);
    auto freeze = std::make_unique<Freeze>();
    for (uint32_t turn = 0; turn < 30000 && came < 500; turn++) {
        uint64_t offset = rpmi_rng_below(&rng, 40000);
        std::string data = payload(turn, 1 + rpmi_rng_below(&rng, 9000));

        if (sent < 500 && rpmi_rng_below(&rng, 2) == 0) {
            int err = rpm_region_write_async(region, offset, data.data(), data.size(),
                                             reinterpret_cast<void *>(sent));
            REQUIRE((err == 0 || err == RPM_E_BUSY));
            if (err == 0) {
                model.replace(offset, data.size(), data);
                offsets.push_back(offset);
                sent++;
            }
        } else if (sent % 50 == 49 && rpmi_rng_below(&rng, 8) == 0) {
            REQUIRE(region.write(offset, data) == 0); // a waiting one in between
            model.replace(offset, data.size(), data);
        } else {
            rpm_completion done[4];
            int n = rpm_region_poll(region, done, 4);
            for (int i = 0; i < n; i++) {
                REQUIRE(done[i].context == reinterpret_cast<void *>(came));
                REQUIRE(done[i].lsn == offsets[came]);
                REQUIRE(done[i].status == 0);
                came++;
            }
        }
    }
    freeze.reset();
    CHECK(came == 500);
    CHECK(memcmp(&server.pool.kept[POOL_DATA], model.data(), model.size()) == 0);
    rpm_completion one;
    CHECK(rpm_region_poll(region, &one, 0x80000000u) == RPM_E_INVAL);
    CHECK(rpm_region_poll(region, nullptr, 0) == 0);
}

TEST_CASE("write: the queue is full until it is polled", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region;
    rpm_region_opts opts = rpm_region_opts_init();
    std::string big(600000, 'x');

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 700000;
    opts.inflight_max = 2;
    REQUIRE(region.open(conn, "r", &opts) == 0);
    REQUIRE(rpm_region_write_async(region, 0, "a", 1, nullptr) == 0);
    REQUIRE(rpm_region_write_async(region, 1, "b", 1, nullptr) == 0);
    CHECK(rpm_region_write_async(region, 2, "c", 1, nullptr) == RPM_E_BUSY);
    CHECK(region.reap(2).size() == 2);
    CHECK(region.reap(1, 20).empty());
    REQUIRE(rpm_region_write_async(region, 2, "c", 1, nullptr) == 0);
    CHECK(region.reap(1).size() == 1);
    CHECK(rpm_region_write_async(region, 0, big.data(), big.size(), nullptr) ==
          (kind.setup.synchronous ? 0 : RPM_E_TOOBIG));
    CHECK(region.write(0, big) == 0); // a waiting one may be larger than the staging memory
}

TEST_CASE("write: lost at any op, every completion still comes, and closing is safe", "[unit]")
{
    EACH_KIND(kind);
    uint64_t lost = 0;

    for (uint64_t at = 1; at < 60; at++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Region region(conn, "r", 10000);
        rpm_patch patches[3] = { { 0, "data", 4, 0 },
                                 { 100, "more", 4, 0 },
                                 { 200, "flag", 4, RPM_PATCH_AFTER } };
        uint64_t sent = 0;
        int err = 0;

        CAPTURE(at);
        conn.link->faults.lose_op = at;
        for (uint64_t i = 0; i < 8 && err == 0; i++) {
            err = rpm_region_write_async(region, i * 100, "async", 5, nullptr);
            sent += err == 0;
        }
        if (err == 0)
            err = region.write(5000, "waits");
        if (err == 0)
            err = rpm_region_writev(region, patches, 3);
        if (err == 0)
            err = rpm_region_persist(region, 0, 10000);
        auto done = region.reap(sent, 100);
        CHECK(done.size() == sent);
        if (err == 0) {
            conn.link->faults = Faults();
            CHECK(region.read(200, 4) == "flag");
            continue;
        }
        lost++;
        CHECK(err == RPM_E_LOST);
        CHECK(region.write(0, "x") == RPM_E_LOST);
        if (at % 2 == 0)
            region.close();
        conn.link->faults = Faults();
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        Region again;
        REQUIRE(again.open(conn, "r", nullptr) == 0);
        CHECK(again.write(0, "again") == 0);
    }
    CHECK(lost > 10);
}

TEST_CASE("write: without an answer of the server the deadline ends the write", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    Region region(conn, "r", 1000);
    char byte;

    conn.link->faults.stall_op = 1;
    CHECK(region.write(0, "x") == RPM_E_TIMEDOUT);
    CHECK(rpm_region_read(region, 0, &byte, 1) == RPM_E_TIMEDOUT);
    CHECK(rpm_region_persist(region, 0, 1) == RPM_E_TIMEDOUT);
}

TEST_CASE("write: persist makes another client's writes durable", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 1000);

    std::fill_n(server.pool.bytes.begin() + POOL_DATA + 100, 50, 0x11);
    REQUIRE(rpm_region_persist(region, 100, 50) == 0);
    CHECK(server.pool.kept[POOL_DATA + 100] == 0x11);
    CHECK(server.pool.kept[POOL_DATA + 149] == 0x11);
}

namespace
{

// The writer of a log, a region that its claim guards, and a client that takes the log over.
struct Guarded {
    Server server;
    Conn conn;
    Conn other;
    Log log;
    Log taker;
    Region region;

    explicit Guarded(const Kind &kind, const rpm_conn_opts &opts)
        : conn(server, kind.setup, &opts), other(server, kind.setup, &opts),
          log(conn, "log", WRITER, 8192)
    {
        rpm_region_opts region_opts = rpm_region_opts_init();

        region_opts.flags = RPM_REGION_CREATE;
        region_opts.bytes = 4096;
        region_opts.claim = log;
        REQUIRE(region.open(conn, "r", &region_opts) == 0);
        REQUIRE(region.write(0, "mine") == 0);
    }
    void take()
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = WRITER | RPM_LOG_TAKEOVER;
        REQUIRE(taker.open(other, "log", opts) == 0);
    }
    std::string bytes()
    {
        Region look;

        REQUIRE(look.open(other, "r", nullptr) == 0);
        return look.read(0, 4);
    }
};

} // namespace

TEST_CASE("write: a guarded handle writes nothing after another client claimed the log", "[unit]")
{
    EACH_KIND(kind);
    Guarded world(kind, conn_opts);
    rpm_patch patches[2] = { { 0, "too ", 4, 0 }, { 64, "late", 4, RPM_PATCH_AFTER } };

    CHECK(rpm_region_persist(world.region, 0, 4) == 0);
    world.take();
    CHECK(world.region.read(0, 4) == "mine");
    CHECK(rpm_region_writev(world.region, patches, 2) == RPM_E_FENCED);
    CHECK(world.region.write(0, "late") == RPM_E_FENCED);
    CHECK(rpm_region_persist(world.region, 0, 4) == RPM_E_FENCED);
    CHECK(world.bytes() == "mine");
    char row[4];
    CHECK(rpm_region_read(world.region, 0, row, 4) == RPM_E_LOST); // that ended the connection
}

TEST_CASE("write: a fenced asynchronous write completes as fenced", "[unit]")
{
    EACH_KIND(kind);
    Guarded world(kind, conn_opts);

    world.take();
    REQUIRE(rpm_region_write_async(world.region, 0, "late", 4, nullptr) == 0);
    auto done = world.region.reap(1);
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == RPM_E_FENCED);
    CHECK(rpm_region_write_async(world.region, 0, "late", 4, nullptr) == RPM_E_FENCED);
    CHECK(world.bytes() == "mine");
}

TEST_CASE("write: persist through a guarded handle checks the claim of the log", "[unit]")
{
    EACH_KIND(kind);
    Guarded world(kind, conn_opts);

    world.take();
    CHECK(rpm_region_persist(world.region, 0, 4) == RPM_E_FENCED);
    CHECK(world.region.write(0, "late") == RPM_E_FENCED);
    CHECK(world.region.read(0, 4) == "mine");
    CHECK(world.conn.link->link.lost == 0); // nothing was refused on the way
}

TEST_CASE("write: a fenced region is closed only when its reads have completed", "[unit]")
{
    Guarded world({ "read", queued(), RPM_METHOD_READ }, with_method(RPM_METHOD_READ));
    char data[4] = {};

    world.take();
    REQUIRE(rpm_region_persist(world.region, 0, 4) == RPM_E_FENCED);
    world.conn.link->manual = true; // the read stays outstanding until a caller waits
    REQUIRE(rpm_region_read_async(world.region, 0, data, 4, nullptr) == 0);
    REQUIRE(world.conn.link->flight.size() == 1);
    world.region.close();
    CHECK(world.conn.link->flight.empty());
    CHECK(std::string(data, 4) == "mine");
}

TEST_CASE("write: after its log was fenced, a region's writes are fenced too", "[unit]")
{
    EACH_KIND(kind);
    Guarded world(kind, conn_opts);

    world.take();
    CHECK(rpm_log_append(world.log, "late", 4, nullptr) == RPM_E_FENCED);
    CHECK(world.region.write(0, "late") == RPM_E_FENCED);
    CHECK(rpm_region_persist(world.region, 0, 4) == RPM_E_FENCED);
}
