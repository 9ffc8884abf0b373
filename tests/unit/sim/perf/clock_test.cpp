// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"
#include "support/death.h"

TEST_CASE("clock: an event comes when it is due, and none is due in the past", "[unit]")
{
    Bench bench;
    rpmi_event what = {};

    rpmi_server_at(bench.server, 3000, RPMI_PERF_EV_LINE_READ, 0, RPMI_OWNER_NONE, 2);
    rpmi_server_at(bench.server, 2000, RPMI_PERF_EV_LINE_READ, 0, RPMI_OWNER_NONE, 1);
    REQUIRE(bench.step(&what));
    CHECK(what.arg == 1);
    CHECK(bench.server->now_ps == 2000);
    CHECK(death_of([&] {
              rpmi_server_at(bench.server, 1999, RPMI_PERF_EV_LINE_READ, 0, RPMI_OWNER_NONE, 3);
          }).find("at_ps >= server->now_ps") != std::string::npos);
    REQUIRE(bench.step(&what));
    CHECK(what.arg == 2);
    CHECK_FALSE(bench.step());
}

TEST_CASE("clock: a notice of a part is handled at once, without an event", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);

    load.copy = RPM_COPY_STREAM;
    load.bytes = 256;
    Bench bench(load);
    rpmi_server_start(bench.server);
    while (bench.server->core[0].under_way < 2)
        REQUIRE(bench.step());
    uint64_t events = bench.server->events;
    uint32_t queued = bench.server->queue.count;
    uint32_t under_way = bench.server->core[0].under_way;

    rpmi_server_dispatch(bench.server, RPMI_PERF_EV_LINE_ACCEPTED, RPMI_OWNER_NONE,
                         0); // for no part
    CHECK(bench.server->core[0].under_way == under_way);
    bench.server->core[0].idle = true; // so that it issues no other line
    rpmi_server_dispatch(bench.server, RPMI_PERF_EV_LINE_ACCEPTED, RPMI_OWNER(RPMI_OWNER_CORE, 0),
                         0);
    CHECK(bench.server->core[0].under_way == under_way - 1);
    CHECK(bench.server->events == events);
    CHECK(bench.server->queue.count == queued);
}
