// SPDX-License-Identifier: BSD-3-Clause
// Checksums of ranges, at a server that computes them, at one that is too old for it, and over a
// link that completes on post. The server and the client compute the same value as libxxhash.
#include "unit/region/region.h"

extern "C" {
#include "base/sum.h"
#include "wire/steps.h"
}

using namespace loop;

namespace
{

struct Summer {
    const char *name;
    Setup setup;
};

Setup without_sum(Setup setup)
{
    setup.sum = false;
    return setup;
}

std::vector<Summer> summers()
{
    return { { "computed", queued() },
             { "direct", synchronous() },
             { "read", without_sum(queued()) },
             { "read at once", without_sum(synchronous()) } };
}

#define EACH_SUMMER(summer)                                                                        \
    Summer summer = GENERATE(from_range(summers()));                                               \
    CAPTURE(summer.name)

const uint64_t REGION_BYTES = 600000; // a few times what a connection reads at once

struct SumWorld {
    Server server{ 2u << 20 };
    Conn conn;
    Region rows;
    Region words;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(REGION_BYTES);

    explicit SumWorld(const Setup &setup)
        : conn(server, setup), rows(conn, "rows", REGION_BYTES, 0),
          words(conn, "words", 4096, 0, RPM_REGION_DRAM)
    {
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
        for (size_t at = 0; at < bytes.size(); at += 60000)
            REQUIRE(rpm_region_write(rows, at, &bytes[at], 60000) == 0);
    }
    rpm_step sum(uint64_t offset, uint64_t len, uint64_t seed, uint64_t *into)
    {
        rpm_step step = {};

        step.kind = RPM_STEP_SUM;
        step.region = rows;
        step.offset = offset;
        step.len = len;
        step.operand = seed;
        step.into = into;
        return step;
    }
    rpm_step cas(uint64_t expect, uint64_t operand, uint64_t *into)
    {
        rpm_step step = {};

        step.kind = RPM_STEP_CAS;
        step.flags = RPM_STEP_MUST;
        step.region = words;
        step.expect = expect;
        step.operand = operand;
        step.into = into;
        return step;
    }
    uint64_t expected(uint64_t offset, uint64_t len, uint64_t seed) const
    {
        return XXH3_64bits_withSeed(&bytes[offset], len, seed);
    }
};

} // namespace

TEST_CASE("sums: a SUM is the seeded checksum of the range, computed by the server or the client",
          "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    struct {
        uint64_t offset;
        uint64_t len;
        uint64_t seed;
    } rows[] = {
        { 0, REGION_BYTES, 0 },
        { 0, REGION_BYTES, 3 },
        { 1, REGION_BYTES - 1, 1ull << 63 },
        { 17, 1, 9 },
        { REGION_BYTES - 1, 1, 0 },
        { 100, 240, 5 },
        { 100, 241, 5 },
        { 0, RPMI_BOUNCE_BYTES, 1 },
        { 5, RPMI_BOUNCE_BYTES + 1, 1 },
        { 7, 2 * RPMI_BOUNCE_BYTES, 1 },
    };

    for (const auto &row : rows) {
        uint64_t sum = 0;
        uint32_t done = 99;
        rpm_step step = world.sum(row.offset, row.len, row.seed, &sum);

        CAPTURE(row.offset, row.len, row.seed);
        REQUIRE(rpm_steps_run(world.rows, &step, 1, &done) == 0);
        CHECK(done == 1);
        CHECK(sum == world.expected(row.offset, row.len, row.seed));
    }
}

TEST_CASE("sums: the steps around a SUM keep their order and their results", "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t found = 99;
    uint64_t last = 99;
    uint32_t done = 99;
    unsigned char fresh[300];
    rpm_step write = {};

    memset(fresh, 0xab, sizeof(fresh));
    write.kind = RPM_STEP_WRITE;
    write.region = world.rows;
    write.offset = 1000;
    write.data = fresh;
    write.len = sizeof(fresh);
    rpm_step steps[] = { world.sum(900, 500, 1, &before), world.cas(0, 4, &found), write,
                         world.sum(900, 500, 1, &after), world.cas(4, 5, &last) };
    uint64_t old = world.expected(900, 500, 1);
    memcpy(&world.bytes[1000], fresh, sizeof(fresh));
    REQUIRE(rpm_steps_run(world.rows, steps, 5, &done) == 0);
    CHECK(done == 5);
    CHECK(before == old);
    CHECK(after == world.expected(900, 500, 1));
    CHECK(after != before);
    CHECK(found == 0);
    CHECK(last == 4);
}

TEST_CASE("sums: a list that ended before a SUM does not compute it", "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t sums[2] = { 77, 77 };
    uint64_t found = 99;
    uint32_t done = 99;
    rpm_step steps[] = { world.sum(0, 100, 0, &sums[0]), world.cas(1, 4, &found),
                         world.sum(0, 100, 0, &sums[1]) };

    REQUIRE(rpm_steps_run(world.rows, steps, 3, &done) == 0);
    CHECK(done == 1);
    CHECK(found == 0);
    CHECK(sums[0] == world.expected(0, 100, 0));
    CHECK(sums[1] == 77);
}

TEST_CASE("sums: a SUM waits behind a WATCH", "[unit]")
{
    EACH_SUMMER(summer);
    bool watch = GENERATE(false, true);
    CAPTURE(watch);
    summer.setup.watch = watch && !summer.setup.synchronous;
    SumWorld world(summer.setup);
    uint64_t sum = 77;
    uint32_t done = 99;
    rpm_step steps[2] = { {}, world.sum(3, 5000, 2, &sum) };

    steps[0].kind = RPM_STEP_WATCH;
    steps[0].region = world.words;
    steps[0].operand = 1000;
    REQUIRE(rpm_steps_run(world.rows, steps, 2, &done) == 0);
    CHECK(done == 0);
    CHECK(sum == 77);
    steps[0].expect = 1;
    REQUIRE(rpm_steps_run(world.rows, steps, 2, &done) == 0);
    CHECK(done == 2);
    CHECK(sum == world.expected(3, 5000, 2));
}

TEST_CASE("sums: a client gets the words from a server that computes, else it reads the range",
          "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t sums[3];
    uint32_t done = 99;
    std::vector<uint64_t> lens;
    rpm_step steps[] = { world.sum(0, 100, 0, &sums[0]), world.sum(100, 300000, 0, &sums[1]),
                         world.sum(1, 100, 0, nullptr) };

    world.conn.link->on_op = [&](const rpmi_op &op) { lens.push_back(op.len); };
    REQUIRE(rpm_steps_run(world.rows, steps, 3, &done) == 0);
    CHECK(done == 3);
    CHECK(sums[0] == world.expected(0, 100, 0));
    CHECK(sums[1] == world.expected(100, 300000, 0));
    if (summer.setup.sum)
        CHECK(lens == std::vector<uint64_t>{ 8 + 3 * 8 });
    else if (!summer.setup.synchronous)
        CHECK(lens ==
              std::vector<uint64_t>{ 100, RPMI_BOUNCE_BYTES, 300000 - RPMI_BOUNCE_BYTES, 100 });
}

TEST_CASE("sums: only a SUM that the server computes can be submitted without waiting", "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t sum = 77;
    rpm_step step = world.sum(3, 5000, 2, &sum);

    if (!summer.setup.sum) {
        CHECK(rpm_steps_async(world.rows, &step, 1, nullptr) == RPM_E_NOCAP);
        return;
    }
    REQUIRE(rpm_steps_async(world.rows, &step, 1, number(5)) == 0);
    auto one = world.rows.reap(1);
    REQUIRE(one.size() == 1);
    CHECK(one[0].status == 0);
    CHECK(one[0].lsn == 1);
    CHECK(sum == world.expected(3, 5000, 2));
}

TEST_CASE("sums: an invalid SUM is refused at once, and nothing is sent", "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t ops = world.conn.link->ops;
    uint64_t sum = 77;
    uint32_t done = 99;
    struct {
        uint64_t offset;
        uint64_t len;
        uint32_t flags;
        int err;
    } rows[] = {
        { 0, 0, 0, RPM_E_INVAL },
        { REGION_BYTES, 1, 0, RPM_E_RANGE },
        { 1, REGION_BYTES, 0, RPM_E_RANGE },
        { 0, UINT64_MAX, 0, RPM_E_RANGE },
        { 0, 8, RPM_STEP_MUST, RPM_E_INVAL },
    };

    for (const auto &row : rows) {
        rpm_step step = world.sum(row.offset, row.len, 0, &sum);

        CAPTURE(&row - rows);
        step.flags = row.flags;
        CHECK(rpm_steps_run(world.rows, &step, 1, &done) == row.err);
        CHECK(rpm_steps_async(world.rows, &step, 1, nullptr) == row.err);
    }
    rpm_step most[2] = { world.sum(0, REGION_BYTES, 0, &sum),
                         world.sum(0, RPM_SUM_BYTES_MAX - REGION_BYTES + 1, 0, &sum) };
    CHECK(rpm_steps_run(world.rows, most, 2, &done) == RPM_E_TOOBIG);
    CHECK(rpm_steps_async(world.rows, most, 2, nullptr) == RPM_E_TOOBIG);
    CHECK(world.conn.link->ops == ops);
    CHECK(done == 99);
    CHECK(sum == 77);
    most[1].len--;
    CHECK(rpm_steps_run(world.rows, most, 2, &done) == 0);
    CHECK(sum == world.expected(0, RPM_SUM_BYTES_MAX - REGION_BYTES, 0));
}

TEST_CASE("sums: after the link is lost it is an error, without a checksum", "[unit]")
{
    EACH_SUMMER(summer);
    SumWorld world(summer.setup);
    uint64_t sum = 77;
    uint32_t done = 99;
    rpm_step step = world.sum(0, REGION_BYTES, 0, &sum);

    world.conn.link->faults.lose_op = summer.setup.sum ? 1 : 2;
    CHECK(rpm_steps_run(world.rows, &step, 1, &done) == RPM_E_LOST);
    CHECK(done == 99);
    CHECK(sum == 77);
}
