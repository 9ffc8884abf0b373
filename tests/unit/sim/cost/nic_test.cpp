// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("nic: atomics never have more units than there are", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_CAS);

    load.threads = 40;
    Bench bench(load);
    rpmi_rig_start(bench.rig);
    for (int i = 0; i < 20000; i++) {
        REQUIRE(bench.step());
        REQUIRE(bench.rig->fetches <= bench.params.nic_atomics);
    }
    CHECK(bench.rig->fetches == bench.params.nic_atomics);
}
