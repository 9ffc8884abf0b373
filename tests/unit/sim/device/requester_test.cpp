// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

// 40 WRITEs and READs over a bad network; everything arrives exactly as over a good one.
void hard_way(uint64_t seed, uint32_t loss_ppm, uint32_t duplicate_ppm, uint32_t delay_ns)
{
    Bench bench("adr-noddio", seed, [&](rpmi_world_opts &opts) {
        opts.loss_ppm = loss_ppm;
        opts.duplicate_ppm = duplicate_ppm;
        opts.delay_ns = delay_ns;
    });
    rpmi_sim_client *client = bench.dial();
    std::vector<std::vector<unsigned char>> data;
    std::vector<unsigned char> into(700);

    CAPTURE(seed, loss_ppm, duplicate_ppm, delay_ns);
    for (unsigned i = 0; i < 40; i++) {
        data.push_back(pattern(8 + seed * 37 % 1200, i + 1));
        bench.write(client, 4096 + i % 10 * 2048, data.back(), 0);
    }
    uint64_t number = bench.read(client, 4096, into);
    REQUIRE(bench.status_of(client, number) == 0);
    for (unsigned i = 30; i < 40; i++)
        REQUIRE(bench.pool(4096 + i % 10 * 2048, data[i].size()) == data[i]);
    bench.run_dry();
    for (unsigned i = 30; i < 40; i++)
        REQUIRE(bench.pool(4096 + i % 10 * 2048, data[i].size()) == data[i]);
    REQUIRE(client->packets == 0);
    REQUIRE(client->acks == 0);
}

} // namespace

TEST_CASE("requester: lost packets are sent again until they arrive", "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++)
        hard_way(seed, 100000, 0, 0);
}

TEST_CASE("requester: duplicates and delay change nothing", "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        hard_way(seed, 0, 300000, 0);
        hard_way(seed, 0, 0, 20000);
        hard_way(seed, 50000, 100000, 5000);
    }
}

TEST_CASE("requester: a network that loses everything ends in a lost link", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(64, 1);

    bench.world->opts.loss_ppm = 1000000;
    uint64_t before = bench.world->now_ns;
    REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == RPM_E_LOST);
    REQUIRE(client->lost == RPM_E_LOST);
    REQUIRE(bench.world->now_ns - before < 20 * bench.world->preset.ns.retry);
    bench.run_dry();
    REQUIRE(bench.pool(4096, 64) == std::vector<unsigned char>(64));
}

TEST_CASE("requester: an answer that takes long is waited for while the server lives", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    rpmi_sim_request call = Bench::request(client, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);

    bench.on_call = [&](uint32_t, const unsigned char *, unsigned char *reply) {
        for (int i = 0; i < 20000; i++) // 20000 x 62 ns: far longer than all retries together
            rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL, 4096 + i % 64 * 64, "12345678", 8);
        reply[0] = 42;
    };
    call.body = client->call;
    call.body_bytes = RPMI_CALL_BYTES;
    call.into = client->reply;
    bench.world->opts.loss_ppm = 20000;
    REQUIRE(bench.status_of(client, bench.post(client, call)) == 0);
    REQUIRE(client->reply[0] == 42);
}

TEST_CASE("requester: a world without traffic runs out of events", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(64, 1);

    bench.write(client, 4096, data, 0);
    bench.run_dry(200);
    REQUIRE_FALSE(rpmi_world_step(bench.world));
    REQUIRE(Bench::reap(client).empty());
    REQUIRE(client->head == client->tail);
}
