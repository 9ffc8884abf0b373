// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("load: what is left at zero has a default", "[unit]")
{
    rpm_load load = rpm_load_init();
    rpmi_params params = params_of("hints");

    REQUIRE(rpmi_load_check(&params, &load) == 0);
    CHECK(load.copy == RPM_COPY_STREAM);
    CHECK(load.bytes == 64);
    CHECK(load.fence_bytes == 1);
    CHECK(load.align_bytes == 64);
    CHECK(load.region_bytes == 1ull << 30);
    CHECK(load.threads == 1);
    CHECK(load.depth == 1);
    CHECK(load.cores == 10);
    CHECK(load.ops == 20000);
}
