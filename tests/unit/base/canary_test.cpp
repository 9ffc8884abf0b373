// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/canary.h"
}
#include "support/catch.h"

TEST_CASE("canary: no rule is removed by default, and only the chosen one otherwise", "[unit]")
{
    REQUIRE(rpmi_canary_now == RPMI_CANARY_NONE);
    REQUIRE_FALSE(RPMI_CANARY(NO_FLUSH));
    rpmi_canary_now = RPMI_CANARY_NO_SUM;
    REQUIRE(RPMI_CANARY(NO_SUM));
    REQUIRE_FALSE(RPMI_CANARY(NO_EPOCH));
    rpmi_canary_now = RPMI_CANARY_NONE;
    REQUIRE_FALSE(RPMI_CANARY(NO_SUM));
}
