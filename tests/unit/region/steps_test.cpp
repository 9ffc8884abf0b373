// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

extern "C" {
#include "wire/steps.h"
}

using namespace loop;

namespace
{

rpm_step make(uint32_t kind, rpm_region *region, uint64_t offset, uint64_t len = 8)
{
    rpm_step step = {};

    step.kind = kind;
    step.region = region;
    step.offset = offset;
    step.len = len;
    step.data = kind == RPM_STEP_WRITE ? "some bytes, more than any step writes" : nullptr;
    return step;
}

struct StepsWorld {
    Server server;
    Conn conn;
    Region rows;
    Region words;

    explicit StepsWorld(const Kind &kind, const rpm_conn_opts &conn_opts, uint32_t inflight_max = 0)
        : conn(server, kind.setup, &conn_opts)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 8192;
        opts.inflight_max = inflight_max;
        REQUIRE(rows.open(conn, "rows", &opts) == 0);
        opts.flags |= RPM_REGION_DRAM;
        REQUIRE(words.open(conn, "words", &opts) == 0);
    }
};

} // namespace

TEST_CASE("steps: results arrive at their buffers, without allocation", "[unit]")
{
    EACH_KIND(kind);
    StepsWorld world(kind, conn_opts);
    uint64_t found[3] = { 99, 99, 99 };
    char data[2][12] = {};
    uint32_t done = 99;
    rpm_step steps[6] = {
        make(RPM_STEP_WRITE, world.rows, 3, 10), make(RPM_STEP_READ, world.rows, 0, 12),
        make(RPM_STEP_FAA, world.words, 8),      make(RPM_STEP_CAS, world.words, 8),
        make(RPM_STEP_READ, world.rows, 4, 3),   make(RPM_STEP_READ, world.words, 8, 8),
    };

    steps[1].into = data[0];
    steps[2].into = &found[0];
    steps[2].operand = 6;
    steps[3].into = &found[1];
    steps[3].expect = 6;
    steps[3].operand = 8;
    steps[4].into = data[1];
    steps[5].into = &found[2];
    {
        Freeze freeze;
        REQUIRE(rpm_steps_async(world.rows, steps, 6, number(4)) == 0);
        auto one = world.rows.reap(1);
        REQUIRE(one.size() == 1);
        CHECK(one[0].context == number(4));
        CHECK(one[0].lsn == 6);
        CHECK(one[0].status == 0);
    }
    CHECK(std::string(data[0], 12) == std::string("\0\0\0some byte", 12));
    CHECK(std::string(data[1], 3) == "ome");
    CHECK(found[0] == 0);
    CHECK(found[1] == 6);
    CHECK(found[2] == 8);
    CHECK(memcmp(&world.server.pool.kept[POOL_DATA + 3], "some bytes", 10) == 0);
    CHECK(world.rows.reap(1, 10).empty());
    REQUIRE(rpm_steps_run(world.words, steps, 6, &done) == 0);
    CHECK(done == 6);
    CHECK(found[0] == 8);
    CHECK(found[2] == 14);
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    REQUIRE(rpm_conn_stats(world.conn, &stats) == 0);
    CHECK(stats.steps == 2);
}

TEST_CASE("steps: a list that ends early says where, and runs no later step", "[unit]")
{
    EACH_KIND(kind);
    StepsWorld world(kind, conn_opts);
    uint64_t found[3] = { 99, 99, 99 };
    uint32_t done = 99;
    rpm_step steps[3] = { make(RPM_STEP_FAA, world.words, 0), make(RPM_STEP_READ, world.words, 0),
                          make(RPM_STEP_FAA, world.words, 0) };

    for (int i = 0; i < 3; i++) {
        steps[i].into = &found[i];
        steps[i].operand = 1;
    }
    steps[1].flags = RPM_STEP_MUST;
    steps[1].expect = 5;
    REQUIRE(rpm_steps_run(world.rows, steps, 3, &done) == 0);
    CHECK(done == 1);
    CHECK(found[0] == 0);
    CHECK(found[1] == 1);
    CHECK(found[2] == 99);
    REQUIRE(rpm_steps_async(world.rows, steps, 3, nullptr) == 0);
    auto one = world.rows.reap(1);
    REQUIRE(one.size() == 1);
    CHECK(one[0].lsn == 1);
    CHECK(one[0].status == 0);
    CHECK(found[1] == 2);
    CHECK(found[2] == 99);
}

TEST_CASE("steps: an invalid list is refused at once, and nothing is sent", "[unit]")
{
    EACH_KIND(kind);
    StepsWorld world(kind, conn_opts);
    Conn other(world.server, kind.setup, &conn_opts);
    Region theirs(other, "theirs", 100);
    uint64_t ops = world.conn.link->ops;
    uint32_t done = 99;
    struct {
        rpm_step step;
        int err;
    } rows[] = {
        { make(0, world.rows, 0), RPM_E_INVAL },
        { make(5, world.rows, 0), RPM_E_INVAL },
        { make(RPM_STEP_READ, theirs, 0), RPM_E_INVAL },
        { make(RPM_STEP_READ, world.rows, 0, 0), RPM_E_INVAL },
        { make(RPM_STEP_WRITE, world.rows, 0, 0), RPM_E_INVAL },
        { make(RPM_STEP_READ, world.rows, 8192, 1), RPM_E_RANGE },
        { make(RPM_STEP_WRITE, world.rows, 8190, 3), RPM_E_RANGE },
        { make(RPM_STEP_READ, world.rows, 8, UINT64_MAX - 7), RPM_E_RANGE },
        { make(RPM_STEP_READ, world.rows, 0, 8192), RPM_E_TOOBIG },
        { make(RPM_STEP_CAS, world.rows, 0), RPM_E_NOCAP },
        { make(RPM_STEP_FAA, world.words, 4), RPM_E_INVAL },
        { make(RPM_STEP_FAA, world.words, 8192), RPM_E_RANGE },
    };

    for (const auto &row : rows) {
        rpm_step steps[2] = { make(RPM_STEP_WRITE, world.rows, 0), row.step };

        CAPTURE(&row - rows);
        CHECK(rpm_steps_async(world.rows, steps, 2, nullptr) == row.err);
        CHECK(rpm_steps_run(world.rows, steps, 2, &done) == row.err);
    }
    for (rpm_step step : { make(RPM_STEP_WRITE, world.rows, 0), make(RPM_STEP_FAA, world.words, 0),
                           make(RPM_STEP_READ, world.rows, 0, 4) }) {
        step.flags = RPM_STEP_MUST;
        CHECK(rpm_steps_run(world.rows, &step, 1, &done) == RPM_E_INVAL);
        step.flags = 2;
        CHECK(rpm_steps_run(world.rows, &step, 1, &done) == RPM_E_INVAL);
    }
    std::vector<rpm_step> many(65, make(RPM_STEP_FAA, world.words, 0));
    CHECK(rpm_steps_run(world.rows, many.data(), 0, &done) == RPM_E_INVAL);
    CHECK(rpm_steps_run(world.rows, many.data(), 65, &done) == RPM_E_TOOBIG);
    std::vector<rpm_step> wide(3, make(RPM_STEP_READ, world.rows, 0, 1400));
    CHECK(rpm_steps_run(world.rows, wide.data(), 3, &done) == RPM_E_TOOBIG);
    CHECK(done == 99);
    CHECK(world.conn.link->ops == ops);
    CHECK(world.rows.reap(1, 10).empty());
    REQUIRE(rpm_steps_run(world.rows, many.data(), 64, &done) == 0);
}

TEST_CASE("steps: a link without steps refuses them, with the reason", "[unit]")
{
    Setup setup = GENERATE(synchronous(), queued());
    Server server;
    setup.steps = false;
    Conn conn(server, setup);
    Region words(conn, "w", 64, 0, RPM_REGION_DRAM);
    rpm_step step = make(RPM_STEP_FAA, words, 0);
    uint32_t done;

    CHECK(rpm_steps_run(words, &step, 1, &done) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("steps") != std::string::npos);
    CHECK(rpm_steps_async(words, &step, 1, nullptr) == RPM_E_NOCAP);
    CHECK(conn.link->link.lost == 0);
}

TEST_CASE("steps: an impossible answer is refused", "[unit]")
{
    struct {
        uint32_t done;
        uint32_t zero;
    } rows[] = { { 3, 0 }, { UINT32_MAX, 0 }, { 1, 0 }, { 2, 1 } };

    for (const auto &row : rows) {
        Kind kind = { "copy", queued(), RPM_METHOD_COPY };
        StepsWorld world(kind, with_method(RPM_METHOD_COPY));
        uint64_t found[2] = { 99, 99 };
        rpm_step steps[2] = { make(RPM_STEP_FAA, world.words, 0),
                              make(RPM_STEP_FAA, world.words, 0) };
        unsigned char *answer = nullptr;

        CAPTURE(row.done, row.zero);
        steps[0].into = &found[0];
        steps[1].into = &found[1];
        world.conn.link->on_op = [&](const rpmi_op &op) {
            answer = static_cast<unsigned char *>(op.into);
        };
        world.conn.link->manual = true;
        REQUIRE(rpm_steps_async(world.rows, steps, 2, nullptr) == 0);
        REQUIRE(world.conn.link->step());
        REQUIRE(answer != nullptr);
        memcpy(answer, &row.done, 4);
        memcpy(answer + 4, &row.zero, 4);
        world.conn.link->hold = 1;
        auto one = world.rows.reap(1);
        REQUIRE(one.size() == 1);
        CHECK(one[0].status == RPM_E_PROTO);
        CHECK(found[0] == 99);
        CHECK(found[1] == 99);
    }
}

TEST_CASE("steps: lists wait for room like other operations", "[unit]")
{
    EACH_KIND(kind);
    StepsWorld world(kind, conn_opts, 3);
    rpm_step step = make(RPM_STEP_FAA, world.words, 0);

    for (int round = 0; round < 300; round++) {
        step.operand = 1;
        for (int i = 0; i < 3; i++)
            REQUIRE(rpm_steps_async(world.rows, &step, 1, nullptr) == 0);
        REQUIRE(rpm_steps_async(world.rows, &step, 1, nullptr) == RPM_E_BUSY);
        REQUIRE(world.rows.reap(3).size() == 3);
    }
    uint64_t total = 0;
    REQUIRE(rpm_region_read(world.words, 0, &total, 8) == 0);
    CHECK(total == 900);
}

TEST_CASE("steps: lost at any op, each list still ends once", "[unit]")
{
    EACH_KIND(kind);
    bool late = GENERATE(false, true);

    for (uint64_t at = 1; at < 6; at++) {
        StepsWorld world(kind, conn_opts);
        uint64_t found[5];
        rpm_step steps[5];
        uint64_t sent = 0;
        int err = 0;

        CAPTURE(at, late);
        world.conn.link->faults.lose_op = at;
        world.conn.link->faults.lose_late = late;
        for (uint64_t i = 0; i < 5 && err == 0; i++) {
            steps[i] = make(RPM_STEP_FAA, world.words, 0);
            steps[i].into = &found[i];
            found[i] = 99;
            steps[i].operand = 1;
            err = rpm_steps_async(world.rows, &steps[i], 1, number(i));
            sent += err == 0;
        }
        auto done = world.rows.reap(sent, 200);
        REQUIRE(done.size() == sent);
        for (uint64_t i = 0; i < sent; i++) {
            CHECK(done[i].context == number(i));
            CHECK(done[i].status == (i + 1 < at ? 0 : RPM_E_LOST));
            CHECK(found[i] == (i + 1 < at ? i : 99));
        }
        uint32_t carried;
        CHECK(rpm_steps_run(world.rows, steps, 1, &carried) == RPM_E_LOST);
        CHECK(rpm_steps_async(world.rows, steps, 1, nullptr) == RPM_E_LOST);
    }
}

TEST_CASE("steps: guarded regions want an anchor that the same log guards", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other(server, kind.setup, &conn_opts);
    Log log(conn, "log", WRITER, 8192);
    Log second(conn, "second", WRITER, 8192);
    rpm_region_opts opts = rpm_region_opts_init();
    Region free(conn, "free", 512);
    Region guarded;
    Region strange;
    uint32_t done = 99;

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 512;
    opts.claim = log;
    REQUIRE(guarded.open(conn, "guarded", &opts) == 0);
    opts.claim = second;
    REQUIRE(strange.open(conn, "strange", &opts) == 0);
    rpm_step steps[2] = { make(RPM_STEP_WRITE, guarded, 0), make(RPM_STEP_WRITE, free, 0) };
    char into[8];
    rpm_step reads = make(RPM_STEP_READ, guarded, 0);
    reads.into = into;
    CHECK(rpm_steps_run(guarded, steps, 2, &done) == 0);
    CHECK(rpm_steps_run(free, steps, 2, &done) == RPM_E_INVAL);
    CHECK(rpm_steps_run(strange, steps, 2, &done) == RPM_E_INVAL);
    CHECK(rpm_steps_run(free, &reads, 1, &done) == 0);

    Log taken(other, "log", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    server.pool.bytes[POOL_DATA] = 0;
    int err = rpm_steps_run(guarded, steps, 2, &done);
    CHECK(err == RPM_E_FENCED);
    CHECK(rpm_steps_run(guarded, steps, 2, &done) == RPM_E_FENCED);
    CHECK(rpm_region_write(guarded, 0, "x", 1) == RPM_E_FENCED);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST); // that ended the connection
    CHECK(rpm_steps_run(guarded, &reads, 1, &done) == RPM_E_LOST);
    strange.close();
    guarded.close();
}
