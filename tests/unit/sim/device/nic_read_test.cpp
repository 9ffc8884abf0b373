// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("nic_read: a READ of any length returns what is visible", "[unit]")
{
    for (const char *preset : { "adr", "msync" })
        for (size_t len : { 1u, 63u, 64u, 500u, 9000u }) {
            Bench bench(preset, len);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(len, 1);
            std::vector<unsigned char> into(len);

            bench.write(client, 4099, data, 0);
            REQUIRE(bench.status_of(client, bench.read(client, 4099, into)) == 0);
            REQUIRE(into == data);
        }
}

TEST_CASE("nic_read: atomics change the word, return the old one, and are not durable", "[unit]")
{
    Bench bench("adr-noddio");
    rpmi_sim_client *client = bench.dial();
    uint64_t found = 99;
    rpmi_sim_request cas = Bench::request(client, RPMI_SIM_CAS, 4096, 8);

    cas.into = &found;
    cas.operand = 5;
    REQUIRE(bench.status_of(client, bench.post(client, cas)) == 0);
    REQUIRE(found == 0);
    cas.expect = 4;
    cas.operand = 6;
    REQUIRE(bench.status_of(client, bench.post(client, cas)) == 0);
    REQUIRE(found == 5);
    REQUIRE(bench.pool(4096, 1)[0] == 5);

    rpmi_sim_request faa = Bench::request(client, RPMI_SIM_FAA, 4096, 8);
    faa.into = &found;
    faa.operand = UINT64_MAX;
    REQUIRE(bench.status_of(client, bench.post(client, faa)) == 0);
    REQUIRE(found == 5);
    REQUIRE(bench.pool(4096, 1)[0] == 4);
    REQUIRE(bench.machine()->media.cache.dirty_count == 1);
}

TEST_CASE("nic_read: an atomic that is not 8 aligned bytes is refused", "[unit]")
{
    for (uint64_t offset : { 4096u, 4100u }) {
        Bench bench("adr");
        rpmi_sim_client *client = bench.dial();
        uint64_t found;
        rpmi_sim_request faa =
            Bench::request(client, RPMI_SIM_FAA, offset, offset == 4096 ? 16 : 8);

        faa.into = &found;
        REQUIRE(bench.status_of(client, bench.post(client, faa)) == RPM_E_INVAL);
    }
}

TEST_CASE("nic_read: atomics of many clients add up", "[unit]")
{
    Bench bench("adr", 3, [](rpmi_world_opts &opts) {
        opts.loss_ppm = 50000;
        opts.duplicate_ppm = 50000;
        opts.delay_ns = 2000;
    });
    uint64_t found[4][20];

    for (int i = 0; i < 4; i++)
        bench.dial();
    for (int n = 0; n < 20; n++)
        for (int i = 0; i < 4; i++) {
            rpmi_sim_request faa = Bench::request(bench.clients[i], RPMI_SIM_FAA, 64, 8, 0);

            faa.key = KEY_DRAM;
            faa.operand = 1;
            faa.into = &found[i][n];
            bench.post(bench.clients[i], faa);
        }
    bench.run_dry();
    std::vector<bool> seen(80);
    uint64_t base = 0xdbdbdbdbdbdbdbdbull; // what DRAM holds when the power comes on
    for (auto &row : found)
        for (uint64_t value : row) {
            REQUIRE(value - base < 80);
            REQUIRE_FALSE(seen[value - base]);
            seen[value - base] = true;
        }
}

TEST_CASE("nic_read: FLUSH makes its own range durable and no other", "[unit]")
{
    bool other_lost = false;

    for (uint64_t seed = 1; seed < 60; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(256, 1);

        bench.write(client, 4096, data, 0);
        bench.write(client, 8192, data, 0);
        uint64_t number = bench.post(client, Bench::request(client, RPMI_SIM_FLUSH, 4096, 256));
        REQUIRE(bench.status_of(client, number) == 0);
        rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
        REQUIRE(bench.pool(4096, 256) == data);
        other_lost = other_lost || bench.pool(8192, 256) != data;
    }
    REQUIRE(other_lost);
}

TEST_CASE("nic_read: more READs than the responder has room for are all answered, in order",
          "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    std::vector<unsigned char> into(64);

    for (uint32_t i = 0; i < 3 * RPMI_SIM_READS; i++)
        bench.read(client, 4096, into);
    std::vector<Done> all;
    while (rpmi_world_step(bench.world))
        for (const Done &one : Bench::reap(client))
            all.push_back(one);
    REQUIRE(all.size() == 3 * RPMI_SIM_READS);
    for (size_t i = 0; i < all.size(); i++)
        REQUIRE((all[i].id == i && all[i].status == 0));
}
