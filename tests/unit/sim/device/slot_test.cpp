// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("slot: unsignaled ops are reported only when they fail", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(64, 1);

    bench.write(client, 4096, data, 0);
    bench.write(client, 4096, data, RPMI_SIM_SIGNALED);
    bench.write(client, 4096, data, 0);
    bench.run_dry();
    auto all = Bench::reap(client);
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].id == 1);
    REQUIRE(client->head == client->tail);

    bench.write(client, 4096, data, 0);
    rpmi_power_cut(bench.machine(), RPMI_CUT_NONE);
    bench.run_dry();
    all = Bench::reap(client);
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].status == RPM_E_LOST);
}

TEST_CASE("slot: ops are reported in the order of posting, over both queue pairs", "[unit]")
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        Bench bench("adr", seed, [](rpmi_world_opts &opts) { opts.loss_ppm = 50000; });
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(3000, 1);

        REQUIRE_FALSE(rpmi_client_ready(client));
        for (uint32_t i = 0; i < 8; i++)
            bench.write(client, 4096, data,
                        RPMI_SIM_SIGNALED | (i % 2 != 0 ? RPMI_SIM_OTHER_QP : 0));
        bench.run_dry();
        REQUIRE(rpmi_client_ready(client));
        auto all = Bench::reap(client);
        REQUIRE(all.size() == 8);
        for (uint64_t i = 0; i < all.size(); i++)
            REQUIRE(all[i].id == i);
        rpmi_client_lose(client, RPM_E_LOST);
        REQUIRE(rpmi_client_ready(client)); // none will come any more
    }
}
