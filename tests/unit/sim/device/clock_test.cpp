// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("clock: a cut fires after exactly the event it was armed for", "[unit]")
{
    for (uint64_t after = 1; after < 30; after++) {
        Bench bench("adr");
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(3000, 1);

        bench.write(client, 4096, data);
        uint64_t armed = bench.world->events;
        rpmi_world_cut_at(bench.world, 0, after, RPMI_CUT_DROP);
        while (bench.machine()->powered)
            REQUIRE(rpmi_world_step(bench.world));
        REQUIRE(bench.world->events == armed + after);
    }
}

TEST_CASE("clock: a cut can be disarmed, and hits only its machine", "[unit]")
{
    Bench bench("adr", 1, [](rpmi_world_opts &opts) { opts.servers = 2; });
    rpmi_sim_client *client = bench.dial(0);
    auto data = pattern(64, 1);

    rpmi_world_cut_at(bench.world, 0, 3, RPMI_CUT_DROP);
    rpmi_world_cut_at(bench.world, 1, 2, RPMI_CUT_DROP);
    rpmi_world_cut_at(bench.world, 0, 0, RPMI_CUT_DROP);
    REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == 0);
    REQUIRE(bench.machine(0)->powered);
    REQUIRE_FALSE(bench.machine(1)->powered);
}

TEST_CASE("clock: a client dies after exactly the event it was armed for", "[unit]")
{
    for (uint64_t after = 1; after < 30; after++) {
        Bench bench("adr");
        rpmi_sim_client *client = bench.dial();
        rpmi_sim_client *other = bench.dial();
        auto data = pattern(3000, 1);

        bench.write(client, 4096, data);
        uint64_t armed = bench.world->events;
        rpmi_world_kill_at(client, after);
        while (!client->dead)
            REQUIRE(rpmi_world_step(bench.world));
        REQUIRE(bench.world->events == armed + after); // the death itself is not counted
        REQUIRE(client->lost != 0);
        REQUIRE_FALSE(other->dead);
        REQUIRE(bench.machine()->powered);
    }
}

TEST_CASE("clock: running to a time reaches it without any event", "[unit]")
{
    Bench bench("adr");

    rpmi_world_run_until(bench.world, 5000000);
    REQUIRE(bench.world->now_ns == 5000000);
    REQUIRE_FALSE(rpmi_world_step(bench.world));
}

TEST_CASE("clock: no event happens after the time limit", "[unit]")
{
    for (uint64_t seed = 1; seed < 50; seed++) {
        Bench bench("adr", seed, [](rpmi_world_opts &opts) { opts.loss_ppm = 100000; });
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(2000, 1);

        for (int i = 0; i < 10; i++)
            bench.write(client, 4096, data, 0);
        for (uint64_t at = bench.world->now_ns; bench.world->queue.count > 0; at += 333) {
            rpmi_world_run_until(bench.world, at);
            REQUIRE(bench.world->now_ns == at);
        }
    }
}
