// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("llc: with one victim the oldest line of a full set goes", "[unit]")
{
    rpmi_llc llc = {};
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 1);
    REQUIRE(rpmi_llc_open(&llc, 4, 3, 1) == 0);
    for (uint64_t line : { 1, 5, 9 })
        REQUIRE(rpmi_llc_fill(&llc, line, &rng) == UINT64_MAX);
    CHECK(rpmi_llc_fill(&llc, 13, &rng) == 1);
    CHECK_FALSE(rpmi_llc_has(&llc, 1));
    CHECK(rpmi_llc_has(&llc, 5));
    CHECK(rpmi_llc_has(&llc, 13));
    rpmi_llc_close(&llc);
}
