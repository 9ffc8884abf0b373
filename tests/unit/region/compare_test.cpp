// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of ranges, at a server that carries them out, at one that is too old for it, and over
// a link that completes on post. The server and the client return the same.
#include "unit/region/region.h"

using namespace loop;

namespace
{

struct Comparer {
    const char *name;
    Setup setup;
};

Setup without_compare(Setup setup)
{
    setup.compare = false;
    return setup;
}

std::vector<Comparer> comparers()
{
    return { { "compared", queued() },
             { "direct", synchronous() },
             { "read", without_compare(queued()) },
             { "read at once", without_compare(synchronous()) } };
}

#define EACH_COMPARER(comparer)                                                                    \
    Comparer comparer = GENERATE(from_range(comparers()));                                         \
    CAPTURE(comparer.name)

const uint64_t COMPARED_BYTES = 600000;

// Two regions with the same bytes.
struct CompareWorld {
    Server server{ 4u << 20 };
    Conn conn;
    Region rows;
    Region copy;
    Region words;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(COMPARED_BYTES);

    explicit CompareWorld(const Setup &setup)
        : conn(server, setup), rows(conn, "rows", COMPARED_BYTES, 0),
          copy(conn, "copy", COMPARED_BYTES, 0), words(conn, "words", 4096, 0, RPM_REGION_DRAM)
    {
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
        for (size_t at = 0; at < bytes.size(); at += 60000) {
            REQUIRE(rpm_region_write(rows, at, &bytes[at], 60000) == 0);
            REQUIRE(rpm_region_write(copy, at, &bytes[at], 60000) == 0);
        }
    }
    rpm_step compare(uint64_t offset, uint64_t other_offset, uint64_t len, uint64_t *into)
    {
        rpm_step step = {};

        step.kind = RPM_STEP_COMPARE;
        step.region = rows;
        step.offset = offset;
        step.other = copy;
        step.other_offset = other_offset;
        step.len = len;
        step.into = into;
        return step;
    }
    void spoil(uint64_t at)
    {
        unsigned char byte = static_cast<unsigned char>(bytes[at] ^ 0x10);

        REQUIRE(rpm_region_write(copy, at, &byte, 1) == 0);
    }
};

} // namespace

TEST_CASE("compare: equal ranges, and the first of several differences", "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    struct {
        uint64_t offset;
        uint64_t len;
        uint64_t same;
    } rows[] = {
        { 0, 400001, 400001 }, { 0, 400002, 400001 },      { 0, RPM_COMPARE_BYTES_MAX, 400001 },
        { 400001, 1, 0 },      { 400002, 97, 97 },         { 400002, 99, 98 },
        { 400000, 2, 1 },      { 131072, 300000, 268929 },
    };

    world.spoil(400001);
    world.spoil(400100);
    for (const auto &row : rows) {
        uint64_t same = 7;
        uint32_t done = 99;
        rpm_step step = world.compare(row.offset, row.offset, row.len, &same);

        CAPTURE(row.offset, row.len);
        REQUIRE(rpm_steps_run(world.rows, &step, 1, &done) == 0);
        CHECK(done == 1);
        CHECK(same == row.same);
    }
}

TEST_CASE("compare: ranges of one region, which may overlap", "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    std::vector<unsigned char> zeros(1000, 0);
    uint64_t same = 7;
    uint32_t done = 99;
    rpm_step step = world.compare(5000, 5003, 997, &same);

    step.other = world.rows;
    REQUIRE(rpm_region_write(world.rows, 5000, zeros.data(), zeros.size()) == 0);
    REQUIRE(rpm_steps_run(world.rows, &step, 1, &done) == 0);
    CHECK(same == 997);
    step.len = 1005;
    REQUIRE(rpm_steps_run(world.rows, &step, 1, &done) == 0);
    CHECK(same == 997);
}

TEST_CASE("compare: the steps around a COMPARE keep their order and their results", "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t sum = 0;
    uint32_t done = 99;
    const unsigned char fresh[300] = { 1 };
    rpm_step write = {};
    rpm_step summed = {};

    write.kind = RPM_STEP_WRITE;
    write.region = world.rows;
    write.offset = 1000;
    write.data = fresh;
    write.len = sizeof(fresh);
    summed.kind = RPM_STEP_SUM;
    summed.region = world.copy;
    summed.len = 100;
    summed.into = &sum;
    rpm_step steps[] = { world.compare(900, 900, 500, &before), summed, write,
                         world.compare(900, 900, 500, &after) };
    REQUIRE(rpm_steps_run(world.rows, steps, 4, &done) == 0);
    CHECK(done == 4);
    CHECK(before == 500);
    CHECK(after == (world.bytes[1000] == 1 ? 101 : 100));
    CHECK(sum != 0);
}

TEST_CASE("compare: a client gets a word from a server that compares, else it reads both ranges",
          "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    const uint64_t piece = RPMI_BOUNCE_BYTES / 2;
    uint64_t same = 7;
    uint32_t done = 99;
    std::vector<uint64_t> lens;
    rpm_step step = world.compare(0, 0, 400000, &same);

    world.spoil(200000); // in the second piece
    world.conn.link->on_op = [&](const rpmi_op &op) { lens.push_back(op.len); };
    REQUIRE(rpm_steps_run(world.rows, &step, 1, &done) == 0);
    CHECK(same == 200000);
    if (comparer.setup.compare)
        CHECK(lens == std::vector<uint64_t>{ 8 + 8 });
    else if (!comparer.setup.synchronous)
        CHECK(lens == std::vector<uint64_t>{ piece, piece, piece, piece });
}

TEST_CASE("compare: it can be submitted without waiting only if the server carries it out",
          "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    uint64_t same = 7;
    rpm_step step = world.compare(3, 3, 5000, &same);

    if (!comparer.setup.compare) {
        CHECK(rpm_steps_async(world.rows, &step, 1, nullptr) == RPM_E_NOCAP);
        return;
    }
    REQUIRE(rpm_steps_async(world.rows, &step, 1, number(5)) == 0);
    auto one = world.rows.reap(1);
    REQUIRE(one.size() == 1);
    CHECK(one[0].status == 0);
    CHECK(one[0].lsn == 1);
    CHECK(same == 5000);
}

TEST_CASE("compare: an invalid COMPARE is refused at once, and nothing is sent", "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    Conn another(world.server, comparer.setup);
    Region foreign(another, "copy", COMPARED_BYTES, 0);
    uint64_t ops = world.conn.link->ops;
    uint64_t same = 7;
    uint32_t done = 99;
    struct {
        uint64_t offset;
        uint64_t other_offset;
        uint64_t len;
        uint32_t flags;
        int err;
    } rows[] = {
        { 0, 0, 0, 0, RPM_E_INVAL },
        { COMPARED_BYTES, 0, 1, 0, RPM_E_RANGE },
        { 0, COMPARED_BYTES, 1, 0, RPM_E_RANGE },
        { 0, UINT64_MAX, 2, 0, RPM_E_RANGE },
        { 0, 100000, 500001, 0, RPM_E_RANGE },
        { 0, 0, UINT64_MAX, 0, RPM_E_RANGE },
        { 0, 0, 8, RPM_STEP_MUST, RPM_E_INVAL },
        { 0, 0, RPM_COMPARE_BYTES_MAX + 1, 0, RPM_E_TOOBIG },
    };

    for (const auto &row : rows) {
        rpm_step step = world.compare(row.offset, row.other_offset, row.len, &same);

        CAPTURE(&row - rows);
        step.flags = row.flags;
        CHECK(rpm_steps_run(world.rows, &step, 1, &done) == row.err);
        CHECK(rpm_steps_async(world.rows, &step, 1, nullptr) == row.err);
    }
    rpm_step step = world.compare(0, 0, 8, &same);
    step.other = foreign;
    CHECK(rpm_steps_run(world.rows, &step, 1, &done) == RPM_E_INVAL);
    CHECK(world.conn.link->ops == ops);
    CHECK(done == 99);
    CHECK(same == 7);
}

TEST_CASE("compare: after the link is lost it is an error, without a result", "[unit]")
{
    EACH_COMPARER(comparer);
    CompareWorld world(comparer.setup);
    uint64_t same = 7;
    uint32_t done = 99;
    rpm_step step = world.compare(0, 0, 400000, &same);

    world.conn.link->faults.lose_op = comparer.setup.compare ? 1 : 3;
    CHECK(rpm_steps_run(world.rows, &step, 1, &done) == RPM_E_LOST);
    CHECK(done == 99);
    CHECK(same == 7);
}
