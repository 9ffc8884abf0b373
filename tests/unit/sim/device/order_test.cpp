// SPDX-License-Identifier: BSD-3-Clause
// order_test.cpp: what is ordered and what is not, from the client's first op to the media.
#include "bench.h"

namespace
{

const uint64_t DATA = 4096;
const uint64_t FLAG = 8192;

// WRITE data, READ, WRITE flag; a cut after event @cut_at. False when the world ended before.
// @broken is set when the flag survived and the data did not.
bool dependent_write(uint64_t seed, uint32_t flag_flags, uint64_t cut_at, bool &broken)
{
    Bench bench("adr-noddio", seed);
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(600, 1);
    std::vector<unsigned char> flag(8, 0xff);
    std::vector<unsigned char> into(1);

    rpmi_world_cut_at(bench.world, 0, cut_at, seed % 2 == 0 ? RPMI_CUT_REORDER : RPMI_CUT_TEAR);
    bench.write(client, DATA, data, 0);
    bench.read(client, 0, into, 0);
    bench.write(client, FLAG, flag, RPMI_SIM_SIGNALED | flag_flags);
    while (bench.machine()->powered)
        if (!rpmi_world_step(bench.world))
            return false;
    broken = broken || (bench.pool(FLAG, 8) == flag && bench.pool(DATA, 600) != data);
    return true;
}

} // namespace

TEST_CASE("order: WRITE, READ, WRITE without a fence can show the flag without the data", "[unit]")
{
    bool broken = false;

    for (uint64_t seed = 1; seed < 100 && !broken; seed++)
        for (uint64_t cut_at = 1; dependent_write(seed, 0, cut_at, broken); cut_at++)
            ;
    REQUIRE(broken);
}

TEST_CASE("order: with a fence the flag never comes without the data", "[unit]")
{
    bool broken = false;
    uint64_t cuts = 0;

    for (uint64_t seed = 1; seed < 60; seed++)
        for (uint64_t cut_at = 1; dependent_write(seed, RPMI_SIM_FENCED, cut_at, broken); cut_at++)
            cuts++;
    REQUIRE(cuts > 1000);
    REQUIRE_FALSE(broken);
}

TEST_CASE("order: a READ returns every WRITE before it, and sometimes one after it", "[unit]")
{
    bool later_seen = false;

    for (uint64_t seed = 1; seed < 200; seed++) {
        Bench bench(seed % 2 == 0 ? "adr" : "adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();
        std::vector<unsigned char> one(8, 1), two(8, 2), into(8);

        bench.write(client, DATA, one, 0);
        uint64_t number = bench.read(client, DATA, into);
        bench.write(client, DATA, two, 0);
        REQUIRE(bench.status_of(client, number) == 0);
        REQUIRE((into == one || into == two));
        later_seen = later_seen || into == two;
        bench.run_dry();
    }
    REQUIRE(later_seen);
}

TEST_CASE("order: a fenced WRITE is never seen by the READ before it", "[unit]")
{
    for (uint64_t seed = 1; seed < 200; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        std::vector<unsigned char> one(8, 1), two(8, 2), into(8);

        bench.write(client, DATA, one, 0);
        bench.read(client, DATA, into, 0);
        uint64_t last = bench.write(client, DATA, two, RPMI_SIM_SIGNALED | RPMI_SIM_FENCED);
        REQUIRE(bench.status_of(client, last) == 0);
        REQUIRE(into == one);
        bench.run_dry();
    }
}

TEST_CASE("order: a fence also waits for a message's answer", "[unit]")
{
    for (uint64_t seed = 1; seed < 100; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);
        std::vector<unsigned char> flag(8, 0xff);

        bench.write(client, DATA, data, 0);
        uint64_t seal = bench.post(client, Bench::request(client, RPMI_SIM_PERSIST, DATA, 64, 0));
        bench.write(client, FLAG, flag, RPMI_SIM_SIGNALED | RPMI_SIM_FENCED);
        while (bench.pool(FLAG, 8) != flag)
            REQUIRE(rpmi_world_step(bench.world));
        REQUIRE((client->head > seal || client->slot[seal % client->room].done));
        bench.run_dry();
    }
}

TEST_CASE("order: the other queue pair is not ordered with the first", "[unit]")
{
    bool overtaken = false;

    for (uint64_t seed = 1; seed < 200; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();
        std::vector<unsigned char> one(8, 1), into(8);

        bench.write(client, DATA, one, 0);
        uint64_t number = bench.read(client, DATA, into, RPMI_SIM_SIGNALED | RPMI_SIM_OTHER_QP);
        REQUIRE(bench.status_of(client, number) == 0);
        overtaken = overtaken || into != one;
        bench.run_dry();
    }
    REQUIRE(overtaken);
}

TEST_CASE("order: a READ of no bytes does not order earlier WRITEs", "[unit]")
{
    bool lost = false;

    for (uint64_t seed = 1; seed < 200 && !lost; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(256, 1);
        std::vector<unsigned char> none;

        bench.write(client, DATA, data, 0);
        REQUIRE(bench.status_of(client, bench.read(client, DATA, none)) == 0);
        rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
        lost = bench.pool(DATA, 256) != data;
    }
    REQUIRE(lost);
}

TEST_CASE("order: completions are reported in the order of posting, over both queue pairs",
          "[unit]")
{
    for (uint64_t seed = 1; seed < 50; seed++) {
        Bench bench("adr", seed, [](rpmi_world_opts &opts) {
            opts.delay_ns = 3000;
            opts.loss_ppm = 30000;
        });
        rpmi_sim_client *client = bench.dial();
        std::vector<unsigned char> into(64);
        auto data = pattern(100, 1);
        std::vector<Done> all;

        for (unsigned i = 0; i < 30; i++) {
            uint32_t flags = RPMI_SIM_SIGNALED | (i % 3 == 0 ? uint32_t(RPMI_SIM_OTHER_QP) : 0u);

            if (i % 2 == 0)
                bench.write(client, DATA + i * 128, data, flags);
            else
                bench.read(client, DATA, into, flags);
        }
        while (rpmi_world_step(bench.world))
            for (const Done &one : Bench::reap(client))
                all.push_back(one);
        REQUIRE(all.size() == 30);
        for (size_t i = 0; i < all.size(); i++) {
            REQUIRE(all[i].id == i);
            REQUIRE(all[i].status == 0);
        }
    }
}

TEST_CASE("order: after the answer to a revocation no WRITE of the old key is placed", "[unit]")
{
    uint64_t landed = 0, refused = 0;

    for (uint64_t seed = 1; seed < 300; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *old_writer = bench.dial();
        rpmi_sim_client *claimer = bench.dial();
        auto data = pattern(1000, 1);
        rpmi_sim_request write = Bench::request(old_writer, RPMI_SIM_WRITE, DATA, data.size());
        rpmi_sim_request call = Bench::request(claimer, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);

        bench.on_call = [&](uint32_t, const unsigned char *, unsigned char *) {
            bench.revoked = true;
        };
        write.key = KEY_LEASE;
        write.body = data.data();
        write.body_bytes = data.size();
        call.body = claimer->call;
        call.body_bytes = RPMI_CALL_BYTES;
        call.into = claimer->reply;
        rpmi_world_run_until(bench.world, bench.world->now_ns + seed % 30 * 60);
        if (seed % 2 == 0)
            bench.post(old_writer, write);
        uint64_t number = bench.post(claimer, call);
        rpmi_world_run_until(bench.world, bench.world->now_ns + seed % 17 * 50);
        if (seed % 2 == 1)
            bench.post(old_writer, write);
        REQUIRE(bench.status_of(claimer, number) == 0);
        auto then = bench.pool(DATA, data.size());
        bench.run_dry();
        REQUIRE(bench.pool(DATA, data.size()) == then);
        landed += then == data;
        refused += then != data;
    }
    REQUIRE(landed > 0);
    REQUIRE(refused > 0);
}

TEST_CASE("order: a long READ may return bytes that were never visible together", "[unit]")
{
    bool later_without_earlier = false;

    for (uint64_t seed = 1; seed < 400 && !later_without_earlier; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *reader = bench.dial();
        rpmi_sim_client *writer = bench.dial();
        std::vector<unsigned char> one(8, 1), into(16384);

        bench.read(reader, DATA, into, 0);
        rpmi_world_run_until(bench.world, bench.world->now_ns + 200 + seed % 20 * 20);
        bench.write(writer, DATA, one, 0);
        bench.write(writer, DATA + into.size() - 8, one, 0);
        bench.run_dry();
        later_without_earlier = into[0] == 0 && into.back() == 1;
    }
    REQUIRE(later_without_earlier);
}
