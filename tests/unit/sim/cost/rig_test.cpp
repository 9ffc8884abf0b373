// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("rig: the same seed gives the same result, another one another", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.threads = 20;
    rpm_cost first = cost_of(load);
    rpm_cost again = cost_of(load);
    load.seed = 2;
    rpm_cost other = cost_of(load);

    CHECK(memcmp(&first, &again, sizeof(first)) == 0);
    CHECK(memcmp(&first, &other, sizeof(first)) != 0);
}
