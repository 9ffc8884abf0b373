// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("inbound: part of a line is a partial word and a whole line is none", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.bytes = 16;
    CHECK(cost_of(load).partial_words > 0);
    load.bytes = 64;
    CHECK(cost_of(load).partial_words == 0);
}
