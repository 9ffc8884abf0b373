// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <algorithm>

TEST_CASE("totals: percentiles are by nearest rank", "[unit]")
{
    for (uint64_t ops : { 1, 2, 3, 10, 99, 1000, 1001, 2500 }) {
        rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_MIX);

        load.threads = 30;
        load.depth = 8;
        load.bytes = 16;
        load.write_percent = 30;
        load.persist = RPM_PERSIST_WAIT; // no two latencies alike
        load.ops = ops;
        rpm_cost cost = cost_of(load);
        Bench bench(load);
        rpmi_server_start(bench.server);
        while (bench.server->finished < bench.server->warm_up + ops)
            REQUIRE(bench.step());
        auto rank = [&](uint64_t per_mille) {
            uint64_t least = UINT64_MAX;

            for (uint64_t i = 0; i < ops; i++) {
                uint64_t value = bench.server->latency_ps[i];
                uint64_t reached = 0;

                for (uint64_t j = 0; j < ops; j++)
                    reached += bench.server->latency_ps[j] <= value;
                if (reached * 1000 >= ops * per_mille)
                    least = std::min(least, value);
            }
            return least;
        };
        uint64_t sum_ps = 0;
        for (uint64_t i = 0; i < ops; i++)
            sum_ps += bench.server->latency_ps[i];

        CAPTURE(ops);
        CHECK(cost.p50_ps == rank(500));
        CHECK(cost.p90_ps == rank(900));
        CHECK(cost.p99_ps == rank(990));
        CHECK(cost.p999_ps == rank(999));
        CHECK(cost.max_ps == rank(1000));
        CHECK(cost.mean_ps == sum_ps / ops);
        CHECK((ops == 1 || cost.p50_ps < cost.max_ps));
    }
}

TEST_CASE("totals: the warm-up is excluded from all totals but events", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.bytes = 16;
    for (uint64_t ops : { 100, 20000 }) {
        load.ops = ops;
        Bench bench(load);
        rpm_cost cost = bench.run();

        // a NIC's buffer, four times, is more than a quarter of either
        CHECK(bench.server->warm_up == 4 * 262016 / 64);
        CHECK(bench.server->finished == ops + bench.server->warm_up);
        CHECK(cost.partial_words == ops);
        CHECK(cost.module_write_bytes == ops * 64);
        CHECK(cost.media_write_bytes <= (ops + 1) * 256);
        CHECK(cost.bytes == ops * 16);
        CHECK(cost.duration_ps == ops * cost.p50_ps);
        CHECK(cost.events > (ops + bench.server->warm_up) * 7);
    }
}
