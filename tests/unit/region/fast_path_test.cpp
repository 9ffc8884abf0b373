// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

extern "C" {
#include "base/rng.h"
#include "region/region.h"
}

using namespace loop;

namespace
{

constexpr uint64_t BYTES = 64 << 10;

// One of two equal simulated worlds, with a guarded region and lock words; both must end alike.
struct FastPathWorld {
    Server server;
    Conn conn;
    Log log;
    Region rows;
    Region words;

    FastPathWorld(bool fast, uint32_t line_bytes, uint32_t slot_bytes)
        : conn(server, with_fast_path(fast, line_bytes)), log(conn, "l", WRITER, 64 << 10),
          words(conn, "w", 4096, 0, RPM_REGION_DRAM)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = BYTES;
        opts.slot_bytes = slot_bytes;
        opts.claim = log;
        REQUIRE(rows.open(conn, "r", &opts) == 0);
    }
};

// The result of one step of a random walk: its status and the bytes that it read.
struct Outcome {
    int err = 0;
    std::string bytes;
    uint64_t found = 0;
    bool operator==(const Outcome &other) const
    {
        return err == other.err && bytes == other.bytes && found == other.found;
    }
};

struct Step {
    uint64_t kind;
    uint64_t offset;
    std::vector<std::string> data;
    uint64_t expect;
};

Step random_step(rpmi_rng *rng, uint32_t slot_bytes)
{
    // Sometimes beyond the end.
    Step step{ rpmi_rng_below(rng, 4), rpmi_rng_below(rng, BYTES + 256), {}, 0 };

    if (slot_bytes != 0 && rpmi_rng_chance(rng, 700000))
        step.offset -= step.offset % slot_bytes;
    if (step.kind == 2)
        step.offset = step.offset % 4104 & ~7ull;
    step.expect = rpmi_rng_below(rng, 3);
    step.data.resize(1 + rpmi_rng_below(rng, 4));
    for (std::string &each : step.data)
        each = std::string(1 + rpmi_rng_below(rng, 300), static_cast<char>(rpmi_rng_next(rng)));
    return step;
}

int write_all(FastPathWorld &world, const Step &step, uint32_t flags)
{
    std::vector<rpm_patch> patches;
    uint64_t at = step.offset;

    for (const std::string &each : step.data) {
        patches.push_back({ at, each.data(), each.size(), patches.empty() ? 0 : flags });
        at += 512;
    }
    return rpm_region_writev(world.rows, patches.data(), static_cast<uint32_t>(patches.size()));
}

Outcome take(FastPathWorld &world, const Step &step)
{
    Outcome outcome;

    switch (step.kind) {
    case 0:
        outcome.bytes.resize(step.data[0].size());
        outcome.err =
            rpm_region_read(world.rows, step.offset, &outcome.bytes[0], outcome.bytes.size());
        break;
    case 1:
        outcome.err = write_all(world, step, 0);
        break;
    case 2:
        outcome.err =
            rpm_region_cas(world.words, step.offset, step.expect, step.expect + 1, &outcome.found);
        break;
    default:
        outcome.err = write_all(world, step, RPM_PATCH_AFTER);
        break;
    }
    return outcome;
}

struct rpm_conn_stats stats_of(rpm_conn *conn)
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    return stats;
}

} // namespace

TEST_CASE("region fast path: it reads, swaps and leaves the bytes as the general path does",
          "[unit]")
{
    uint32_t line_bytes = GENERATE(64u, 256u);
    uint32_t slot_bytes = GENERATE(0u, 64u, 256u);
    FastPathWorld fast(true, line_bytes, slot_bytes);
    FastPathWorld plain(false, line_bytes, slot_bytes);
    rpmi_rng rng;
    uint64_t refused = 0;

    rpmi_rng_seed(&rng, line_bytes + slot_bytes);
    for (int i = 0; i < 1000; i++) {
        Step step = random_step(&rng, slot_bytes);
        Outcome outcome = take(fast, step);

        CAPTURE(line_bytes, slot_bytes, i, step.kind, step.offset);
        REQUIRE(outcome == take(plain, step));
        refused += outcome.err != 0 ? 1 : 0;
        REQUIRE((fast.server.pool.bytes == plain.server.pool.bytes));
        REQUIRE((fast.server.pool.kept == plain.server.pool.kept));
        REQUIRE((fast.server.dram.bytes == plain.server.dram.bytes));
    }
    CHECK(refused > 0);
    CHECK(fast.conn.link->fast_calls > 500);
    CHECK(plain.conn.link->fast_calls == 0);

    struct rpm_conn_stats ours = stats_of(fast.conn);
    struct rpm_conn_stats theirs = stats_of(plain.conn);

    CHECK(ours.reads == theirs.reads);
    CHECK(ours.read_bytes == theirs.read_bytes);
    CHECK(ours.writes == theirs.writes);
    CHECK(ours.write_bytes == theirs.write_bytes);
    CHECK(ours.atomics == theirs.atomics);
    CHECK(ours.flushes == theirs.flushes);
    CHECK(ours.payload_bytes == theirs.payload_bytes);
}

TEST_CASE("region fast path: a fenced client gets RPM_E_FENCED and stores nothing", "[unit]")
{
    FastPathWorld world(true, 64, 0);
    Conn other(world.server, with_fast_path(true, 64));

    REQUIRE(world.rows.write(0, "mine") == 0);
    Log newer(other, "l", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    std::vector<unsigned char> before = world.server.pool.bytes;

    CHECK(world.rows.write(0, "late") == RPM_E_FENCED);
    CHECK((world.server.pool.bytes == before));
    char row[4];
    CHECK(rpm_region_read(world.rows, 0, row, 4) == RPM_E_LOST); // that ended the connection
}

TEST_CASE("region fast path: a loss in it loses the connection", "[unit]")
{
    FastPathWorld world(true, 64, 0);
    std::string data(8, 'x');
    uint64_t found;

    world.conn.link->faults.lose_op = 1;
    SECTION("reading")
    {
        CHECK(rpm_region_read(world.rows, 0, &data[0], data.size()) == RPM_E_LOST);
    }
    SECTION("swapping")
    {
        CHECK(rpm_region_cas(world.words, 0, 0, 1, &found) == RPM_E_LOST);
    }
    SECTION("writing")
    {
        CHECK(world.rows.write(0, data) == RPM_E_LOST);
    }
    CHECK(rpm_region_read(world.rows, 0, &data[0], data.size()) == RPM_E_LOST);
    CHECK(rpm_region_cas(world.words, 0, 0, 1, &found) == RPM_E_LOST);
}

TEST_CASE("region fast path: a prefetch may name any range", "[unit]")
{
    FastPathWorld world(GENERATE(true, false), 64, 0);

    for (uint64_t offset : { uint64_t(0), uint64_t(1), BYTES - 1, BYTES, UINT64_MAX })
        for (size_t len : { size_t(0), size_t(1), size_t(64), size_t(BYTES), SIZE_MAX })
            rpm_region_prefetch(world.rows, offset, len);
    CHECK(world.rows.write(0, "mine") == 0);
    world.conn.link->drop();
    rpm_region_prefetch(world.rows, 0, 64);
    rpm_region_prefetch(world.words, 0, 8);
}
