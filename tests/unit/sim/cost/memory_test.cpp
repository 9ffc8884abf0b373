// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("memory: chunks of the interleaving take turns over the modules", "[unit]")
{
    Bench bench;
    uint64_t chunk = bench.params.interleave / RPMI_LINE_BYTES;

    for (uint64_t line = 0; line < 20 * chunk; line += chunk / 2) {
        CHECK(rpmi_rig_memory_module(bench.rig, false, line)->number ==
              line / chunk % bench.params.dimms);
        CHECK(rpmi_rig_memory_module(bench.rig, true, line)->number ==
              RPMI_RIG_MODULES + line / chunk % bench.params.dimms);
    }
}
