// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("core: one random load takes the latency of the media", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_READ);

    load.region_bytes = 64ull << 30;
    CHECK(cost_of(load).p50_ps == params_of("hints").media_latency);
}
