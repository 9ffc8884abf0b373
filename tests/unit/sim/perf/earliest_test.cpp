// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
#include "sim/perf/earliest.h"
}
#include "support/catch.h"

#include <algorithm>
#include <vector>

TEST_CASE("earliest: the server whose event is due first, of equals the one with the lower number",
          "[unit]")
{
    for (uint32_t servers : { 1u, 2u, 3u, 64u, 65u, 1000u }) {
        rpmi_earliest earliest = {};
        std::vector<uint64_t> due(servers, UINT64_MAX);
        rpmi_rng rng;

        REQUIRE(rpmi_earliest_open(&earliest, servers) == 0);
        CHECK(rpmi_earliest_server(&earliest) == 0);
        rpmi_rng_seed(&rng, servers);
        for (int i = 0; i < 5000; i++) {
            uint32_t server = static_cast<uint32_t>(rpmi_rng_below(&rng, servers));

            due[server] = rpmi_rng_below(&rng, 20) == 0 ? UINT64_MAX : rpmi_rng_below(&rng, 50);
            rpmi_earliest_set(&earliest, server, due[server]);
            REQUIRE(rpmi_earliest_server(&earliest) ==
                    std::min_element(due.begin(), due.end()) - due.begin());
        }
        rpmi_earliest_close(&earliest);
    }
}
