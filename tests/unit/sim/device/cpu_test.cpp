// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

struct Core {
    explicit Core(Bench &bench) : machine(bench.machine())
    {
        rpmi_sim_cpu_enter(machine);
    }

    ~Core()
    {
        rpmi_sim_cpu_leave(machine);
    }

    rpmi_machine *machine;
};

} // namespace

TEST_CASE("cpu: each store, write-back and fence is an event and takes time", "[unit]")
{
    Bench bench("adr");
    Core core(bench);
    auto data = pattern(200, 1);
    uint64_t events = bench.world->events;
    uint64_t now = bench.world->now_ns;

    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 4096, data.data(), 200);
    REQUIRE(bench.world->events == events + 4);
    REQUIRE(rpmi_sim_cpu_persist(core.machine, RPMI_PLACE_POOL, 4096, 200) == 0);
    REQUIRE(bench.world->events == events + 4 + 4 + 4 + 1); // issue, arrival, fence
    REQUIRE(bench.world->now_ns >= now + 4 * 62);
    REQUIRE(core.machine->media.cache.dirty_count == 0);
}

TEST_CASE("cpu: loads see stores at once", "[unit]")
{
    Bench bench("adr");
    Core core(bench);
    unsigned char got[8];

    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 4092, "abcdefgh", 8);
    rpmi_sim_cpu_load(core.machine, RPMI_PLACE_POOL, 4092, got, 8);
    REQUIRE(memcmp(got, "abcdefgh", 8) == 0);
    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_DRAM, 8, "12345678", 8);
    rpmi_sim_cpu_load(core.machine, RPMI_PLACE_DRAM, 8, got, 8);
    REQUIRE(memcmp(got, "12345678", 8) == 0);
}

TEST_CASE("cpu: compare-and-swap stores only if the word has the expected value", "[unit]")
{
    Bench bench("adr");
    Core core(bench);

    REQUIRE(rpmi_sim_cpu_cas(core.machine, RPMI_PLACE_POOL, 4096, 0, 7) == 0);
    REQUIRE(rpmi_sim_cpu_cas(core.machine, RPMI_PLACE_POOL, 4096, 0, 8) == 7);
    REQUIRE(bench.pool(4096, 1)[0] == 7);
}

TEST_CASE("cpu: a cut between two stores leaves the first, and the rest has no effect", "[unit]")
{
    for (uint64_t cut_at = 1; cut_at <= 13; cut_at++) {
        Bench bench("adr", cut_at);
        Core core(bench);
        std::vector<unsigned char> one(256, 1);

        rpmi_world_cut_at(bench.world, 0, cut_at, RPMI_CUT_NONE);
        rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 4096, one.data(), 256);
        int err = rpmi_sim_cpu_persist(core.machine, RPMI_PLACE_POOL, 4096, 256);
        REQUIRE(err == (cut_at <= 13 ? RPM_E_IO : 0));
        auto now = bench.pool(4096, 256);
        for (uint64_t line = 0; line < 4; line++)
            REQUIRE(now[line * 64] == (line < cut_at ? 1 : 0));
        rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 8192, one.data(), 256);
        REQUIRE(rpmi_sim_cpu_cas(core.machine, RPMI_PLACE_POOL, 8192, 0, 7) == 0);
        REQUIRE(bench.pool(8192, 1)[0] == 0);
    }
}

TEST_CASE("cpu: persist makes durable the bytes at the time of its call", "[unit]")
{
    // DROP after persist keeps the persisted generation even if a newer one came meanwhile.
    for (uint64_t seed = 1; seed < 100; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        std::vector<unsigned char> one(512, 1), two(512, 2);

        {
            Core core(bench);
            rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 4096, one.data(), 512);
            bench.write(client, 4096, two, 0);
            rpmi_world_run_until(bench.world, bench.world->now_ns + 1200 + seed * 20);
            uint64_t newer = 0;
            for (size_t at = 0; at < 512; at += 64)
                newer += bench.pool(4096 + at, 1)[0] == 2;
            REQUIRE(rpmi_sim_cpu_persist(core.machine, RPMI_PLACE_POOL, 4096, 512) == 0);
            rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
            auto now = bench.pool(4096, 512);
            uint64_t kept = 0;
            for (size_t at = 0; at < 512; at += 64) {
                REQUIRE(now[at] != 0);
                kept += now[at] == 2;
            }
            REQUIRE(kept >= newer);
        }
    }
}

TEST_CASE("cpu: non-temporal stores are durable after the fence, not before", "[unit]")
{
    bool lost = false;
    bool early = false;
    bool overtaken = false;

    for (uint64_t seed = 1; seed < 100; seed++)
        for (bool fence : { false, true }) {
            Bench bench(seed % 2 == 0 ? "adr" : "eadr", seed);
            Core core(bench);
            auto data = pattern(64 * 20, 1);

            rpmi_sim_cpu_stream(core.machine, 4096, data.data(), data.size());
            if (fence)
                REQUIRE(rpmi_sim_cpu_fence(core.machine));
            rpmi_power_cut(bench.machine(), fence ? RPMI_CUT_DROP : CUTS[seed % 4]);
            auto now = bench.pool(4096, data.size());
            if (fence)
                REQUIRE(now == data);
            lost = lost || now != data;
            early = early || (!fence && now[0] != 0);
            overtaken = overtaken || (!fence && seed % 4 == 1 && now[0] == 0 && now[64 * 7] != 0);
        }
    REQUIRE(lost);
    REQUIRE(early);
    REQUIRE(overtaken);
}

TEST_CASE("cpu: msync writes whole pages back, sector by sector", "[unit]")
{
    Bench bench("msync");
    Core core(bench);
    unsigned char byte = 1;

    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 4096, &byte, 1);
    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 8191, &byte, 1);
    rpmi_sim_cpu_store(core.machine, RPMI_PLACE_POOL, 8192, &byte, 1);
    uint64_t events = bench.world->events;
    REQUIRE(rpmi_sim_cpu_persist(core.machine, RPMI_PLACE_POOL, 5000, 8) == 0);
    REQUIRE(bench.world->events == events + 3); // two sectors, one flush
    REQUIRE(core.machine->media.cache.dirty_count == 1);
}

TEST_CASE("cpu: a core sees what it streamed, and a later store to a line is the later one",
          "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        Bench bench("adr", seed);
        rpmi_machine *machine = bench.machine();
        auto first = pattern(64, 1);
        auto second = pattern(64, 2);
        unsigned char seen[64];

        rpmi_sim_cpu_enter(machine);
        for (uint64_t i = 0; i < 6; i++)
            rpmi_sim_cpu_stream(machine, 4096 + 64 * i, first.data(), 64);
        for (uint64_t i = 0; i < 3; i++)
            rpmi_sim_cpu_stream(machine, 4096 + 64 * i, second.data(), 64);
        rpmi_sim_cpu_store(machine, RPMI_PLACE_POOL, 4096 + 64 * 3, second.data(), 64);
        REQUIRE(machine->cpu.streams == 5);
        rpmi_sim_cpu_load(machine, RPMI_PLACE_POOL, 4096 + 70, seen, 8);
        REQUIRE(memcmp(seen, &second[6], 8) == 0);
        REQUIRE(machine->cpu.streams == 4);
        REQUIRE(rpmi_sim_cpu_fence(machine));
        rpmi_sim_cpu_leave(machine);
        for (uint64_t i = 0; i < 6; i++)
            REQUIRE(bench.pool(4096 + 64 * i, 64) == (i < 4 ? second : first));
    }
}
