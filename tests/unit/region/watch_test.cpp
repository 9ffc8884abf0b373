// SPDX-License-Identifier: BSD-3-Clause
// Lists that begin with a WATCH, at a server that holds them and at one that cannot. The clock is
// virtual: time passes in pauses, of the client or of the server.
#include "unit/region/region.h"

extern "C" {
#include "wire/steps.h"
}

using namespace loop;

namespace
{

struct Holder {
    const char *name;
    Setup setup;
};

Setup held()
{
    Setup setup = queued();

    setup.watch = true;
    return setup;
}

std::vector<Holder> holders()
{
    return { { "held", held() }, { "polled", queued() }, { "direct", synchronous() } };
}

#define EACH_HOLDER(holder)                                                                        \
    Holder holder = GENERATE(from_range(holders()));                                               \
    CAPTURE(holder.name)

struct WatchWorld {
    Server server;
    Conn conn;
    Conn other;
    Region words;
    Region theirs;

    explicit WatchWorld(const Setup &setup, const rpm_conn_opts *opts = nullptr)
        : conn(server, setup, opts), other(server, setup),
          words(conn, "words", 4096, 0, RPM_REGION_DRAM),
          theirs(other, "words", 4096, 0, RPM_REGION_DRAM)
    {
    }
    rpm_step watch(uint64_t expect, uint64_t wait_us = 1000, uint64_t *into = nullptr)
    {
        rpm_step step = {};

        step.kind = RPM_STEP_WATCH;
        step.region = words;
        step.offset = 64;
        step.expect = expect;
        step.operand = wait_us;
        step.into = into;
        return step;
    }
    rpm_step faa()
    {
        rpm_step step = {};

        step.kind = RPM_STEP_FAA;
        step.region = words;
        step.offset = 8;
        step.operand = 1;
        return step;
    }
    // After so many pauses another client changes the word.
    void change_after(int pauses, uint64_t value)
    {
        conn.link->on_pause = [this, pauses, value]() mutable {
            if (pauses-- == 0)
                REQUIRE(rpm_region_write(theirs, 64, &value, sizeof(value)) == 0);
        };
    }
    uint64_t counted()
    {
        uint64_t word = 0;

        REQUIRE(rpm_region_read(words, 8, &word, sizeof(word)) == 0);
        return word;
    }
};

} // namespace

TEST_CASE("watch: a word that differs already is returned at once", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    uint64_t found = 99;
    rpm_step steps[2] = { world.watch(5, 1000000, &found), world.faa() };
    uint64_t before = world.server.now_ns;
    uint32_t done = 99;

    REQUIRE(rpm_steps_run(world.words, steps, 2, &done) == 0);
    CHECK(done == 2);
    CHECK(found == 0);
    CHECK(world.server.now_ns - before < 100000);
    CHECK(world.counted() == 1);
}

TEST_CASE("watch: the steps behind it are carried out when the word has changed", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    uint64_t found = 99;
    rpm_step steps[2] = { world.watch(0, 1000000, &found), world.faa() };
    uint64_t before = world.server.now_ns;
    uint32_t done = 99;

    world.change_after(3, 7);
    REQUIRE(rpm_steps_run(world.words, steps, 2, &done) == 0);
    CHECK(done == 2);
    CHECK(found == 7);
    CHECK(world.server.now_ns - before < 200000);
    CHECK(world.counted() == 1);
    // Alone it is a list too.
    world.change_after(3, 8);
    steps[0].expect = 7;
    REQUIRE(rpm_steps_run(world.words, steps, 1, &done) == 0);
    CHECK(done == 1);
    CHECK(found == 8);
}

TEST_CASE("watch: when its time is over, the list ends with the word as it is", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    uint64_t found = 99;
    rpm_step steps[2] = { world.watch(0, 5000, &found), world.faa() };
    uint64_t before = world.server.now_ns;
    uint32_t done = 99;

    REQUIRE(rpm_steps_run(world.words, steps, 2, &done) == 0);
    CHECK(done == 0);
    CHECK(found == 0);
    CHECK(world.server.now_ns - before >= 5000000);
    CHECK(world.server.now_ns - before < 7000000);
    CHECK(world.counted() == 0);
}

TEST_CASE("watch: it waits for half of the connection's timeout at most", "[unit]")
{
    EACH_HOLDER(holder);
    rpm_conn_opts opts = rpm_conn_opts_init();
    opts.timeout_us = 20000;
    WatchWorld world(holder.setup, &opts);
    rpm_step step = world.watch(0, 1000000);
    uint64_t before = world.server.now_ns;
    uint32_t done = 99;

    REQUIRE(rpm_steps_run(world.words, &step, 1, &done) == 0);
    CHECK(done == 0);
    CHECK(world.server.now_ns - before >= 10000000);
    CHECK(world.server.now_ns - before < 12000000);
}

TEST_CASE("watch: a server that holds it gets one message, and none while nothing changes",
          "[unit]")
{
    WatchWorld world(held());
    rpm_step step = world.watch(0, 1000000);
    uint64_t ops = world.conn.link->ops;
    uint32_t done = 99;

    REQUIRE(rpm_steps_run(world.words, &step, 1, &done) == 0);
    CHECK(done == 0);
    CHECK(world.conn.link->ops == ops + 1);
}

TEST_CASE("watch: only a list that the server holds can be submitted without waiting", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    uint64_t found = 99;
    rpm_step steps[2] = { world.watch(0, 1000000, &found), world.faa() };

    world.change_after(3, 7);
    if (!holder.setup.watch) {
        CHECK(rpm_steps_async(world.words, steps, 2, nullptr) == RPM_E_NOCAP);
        return;
    }
    REQUIRE(rpm_steps_async(world.words, steps, 2, number(5)) == 0);
    auto one = world.words.reap(1);
    REQUIRE(one.size() == 1);
    CHECK(one[0].lsn == 2);
    CHECK(one[0].context == number(5));
    CHECK(found == 7);
}

TEST_CASE("watch: an invalid WATCH is refused at once, and nothing is sent", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    uint64_t ops = world.conn.link->ops;
    uint32_t done = 99;
    rpm_step second[2] = { world.faa(), world.watch(1) };
    struct {
        uint64_t offset;
        uint64_t wait_us;
        uint32_t flags;
        int err;
    } rows[] = {
        { 4, 1, 0, RPM_E_INVAL },
        { 4096, 1, 0, RPM_E_RANGE },
        { UINT64_MAX - 7, 1, 0, RPM_E_RANGE },
        { 64, 0, 0, RPM_E_INVAL },
        { 64, 1000001, 0, RPM_E_INVAL },
        { 64, 1, RPM_STEP_MUST, RPM_E_INVAL },
    };

    for (const auto &row : rows) {
        rpm_step step = world.watch(1, row.wait_us);

        CAPTURE(&row - rows);
        step.offset = row.offset;
        step.flags = row.flags;
        CHECK(rpm_steps_run(world.words, &step, 1, &done) == row.err);
        CHECK(rpm_steps_async(world.words, &step, 1, nullptr) == row.err);
    }
    CHECK(rpm_steps_run(world.words, second, 2, &done) == RPM_E_INVAL);
    CHECK(done == 99);
    CHECK(world.conn.link->ops == ops);
}

TEST_CASE("watch: the error of a step behind it is that of the list", "[unit]")
{
    EACH_HOLDER(holder);
    WatchWorld world(holder.setup);
    rpm_step steps[2] = { world.watch(0), world.faa() };
    uint32_t done = 99;

    steps[1].offset = 4096;
    CHECK(rpm_steps_run(world.words, steps, 2, &done) == RPM_E_RANGE);
    CHECK(done == 99);
}
