// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

extern "C" {
#include "base/mem.h"
}

namespace
{

// All kinds of operations over a lossy network; returns the final state.
uint64_t busy_world(uint64_t seed, uint64_t *contents)
{
    Bench bench("adr", seed, [](rpmi_world_opts &opts) {
        opts.loss_ppm = 20000;
        opts.duplicate_ppm = 20000;
        opts.delay_ns = 1000;
        opts.servers = 2;
    });
    std::vector<unsigned char> into(256);
    auto data = pattern(700, 1);

    for (uint32_t i = 0; i < 4; i++)
        bench.dial(i % 2);
    rpmi_world_cut_at(bench.world, 1, 400, RPMI_CUT_TEAR);
    for (unsigned n = 0; n < 10; n++)
        for (rpmi_sim_client *client : bench.clients) {
            if (client->lost != 0)
                continue;
            bench.write(client, 4096 + client->index * 1024u, data);
            bench.read(client, 4096, into);
            bench.post(client, Bench::request(client, RPMI_SIM_PERSIST, 4096, 2000));
            rpmi_world_run_until(bench.world, bench.world->now_ns + 900);
        }
    bench.run_dry();
    *contents = 0;
    for (uint32_t server = 0; server < 2; server++)
        for (unsigned char byte : bench.pool(0, POOL_BYTES, server))
            *contents = *contents * 31 + byte;
    return bench.world->history.print;
}

} // namespace

TEST_CASE("world: the same seed gives the same history, another seed another", "[unit]")
{
    std::vector<uint64_t> prints;
    uint64_t one, two;

    for (uint64_t seed = 1; seed < 20; seed++) {
        uint64_t print = busy_world(seed, &one);

        REQUIRE(busy_world(seed, &two) == print);
        REQUIRE(one == two);
        REQUIRE(std::find(prints.begin(), prints.end(), print) == prints.end());
        prints.push_back(print);
    }
}

TEST_CASE("world: impossible options are refused and leave nothing behind", "[unit]")
{
    rpmi_world *world = nullptr;
    rpmi_world_opts good = {};

    good.preset = "adr";
    good.servers = 1;
    good.pool_bytes = 65536;
    for (int field = 0; field < 7; field++) {
        rpmi_world_opts opts = good;

        if (field == 0)
            opts.preset = "adrx";
        if (field == 1)
            opts.servers = RPMI_SIM_SERVERS_MAX + 1;
        if (field == 2)
            opts.pool_bytes = 65536 + 64;
        if (field == 3)
            opts.pool_bytes = 4096;
        if (field == 4)
            opts.dram_bytes = 63;
        if (field == 5)
            opts.servers = 0;
        if (field == 6)
            opts.preset = "dram"; // nothing to lose by a power cut, as everything is lost
        CAPTURE(field);
        REQUIRE(rpmi_world_open(&opts, &world) == RPM_E_INVAL);
        REQUIRE(world == nullptr);
    }
    for (uint64_t nth = 1;; nth++) {
        rpmi_mem_fail_at(nth);
        int err = rpmi_world_open(&good, &world);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        REQUIRE(err == RPM_E_NOMEM);
        REQUIRE(world == nullptr);
    }
    rpmi_world_close(&world);
    REQUIRE(world == nullptr);
    rpmi_world_close(&world);
}
