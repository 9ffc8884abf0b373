// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("machine: the server checks the target of each access, of attached clients only",
          "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    rpmi_sim_access wanted = { KEY_DRAM, 1, 64, 8 };
    rpmi_sim_address address = {};

    REQUIRE(rpmi_machine_access(client, &wanted, &address) == 0);
    REQUIRE(address.place == RPMI_PLACE_DRAM);
    REQUIRE(address.offset == 64);
    wanted.offset = DRAM_BYTES;
    REQUIRE(rpmi_machine_access(client, &wanted, &address) == RPM_E_RANGE);
    wanted.len = 0; // nothing to check
    REQUIRE(rpmi_machine_access(client, &wanted, &address) == 0);
    rpmi_power_kill(bench.machine());
    REQUIRE(rpmi_machine_access(client, &wanted, &address) == RPM_E_DENIED);
}

TEST_CASE("machine: dirty lines are evicted sooner or later, without a request", "[unit]")
{
    uint64_t kept = 0;

    for (uint64_t seed = 1; seed < 100; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(2048, 1);

        REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == 0);
        bench.run_dry();
        rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
        auto now = bench.pool(4096, 2048);
        for (size_t at = 0; at < now.size(); at += 64)
            kept += now[at] != 0;
    }
    REQUIRE(kept > 100);         // of 3168 lines some were evicted
    REQUIRE(kept < 99 * 32 / 2); // most did not
}
