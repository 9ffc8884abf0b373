// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("packet: a client that has used all packets continues when one is returned", "[unit]")
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        Bench bench("adr", seed, [](rpmi_world_opts &opts) {
            opts.delay_ns = 50000;
            opts.loss_ppm = 20000;
            opts.duplicate_ppm = 20000;
        });
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(RPMI_SIM_PACKETS * 3 / 2 * RPMI_SIM_MTU_BYTES, 1);
        uint32_t most = 0;

        uint64_t number = bench.write(client, 4096, data);
        while (!client->slot[number % client->room].done) {
            REQUIRE(rpmi_world_step(bench.world));
            most = most < client->packets ? client->packets : most;
        }
        REQUIRE(client->slot[number % client->room].status == 0);
        REQUIRE(most == RPMI_SIM_PACKETS);
        bench.run_dry();
        REQUIRE(client->packets == 0);
        REQUIRE(bench.pool(4096, data.size()) == data);
    }
}

TEST_CASE("packet: returning a packet wakes a client that waits to send", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    std::vector<rpmi_packet *> taken;
    auto data = pattern(64, 1);

    bench.run_dry();
    while (rpmi_packet *packet = rpmi_packet_take(client))
        taken.push_back(packet);
    REQUIRE(taken.size() == RPMI_SIM_PACKETS);
    uint64_t number = bench.write(client, 4096, data);
    bench.run_dry();
    REQUIRE_FALSE(client->slot[number % client->room].done);
    taken[0]->refs++; // two parts hold the packet: only the second one returns it
    rpmi_packet_drop(taken[0]);
    REQUIRE(bench.world->queue.count == 0);
    rpmi_packet_drop(taken[0]);
    REQUIRE(bench.status_of(client, number) == 0);
    for (size_t i = 1; i < taken.size(); i++)
        rpmi_packet_drop(taken[i]);
    bench.run_dry();
    REQUIRE(client->packets == 0);
}
