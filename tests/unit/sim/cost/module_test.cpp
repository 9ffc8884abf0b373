// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("module: four lines of one media line cost one write of the media", "[unit]")
{
    Bench bench;

    for (uint64_t line = 0; line < 4; line++)
        bench.write(line);
    bench.settle();
    CHECK(bench.module()->count.writes == 4);
    CHECK(bench.module()->count.media_writes == 1);
    CHECK(bench.module()->count.media_reads == 0);
    CHECK(bench.rig->now_ps == 4 * bench.params.channel_line + bench.params.media_write);
}
