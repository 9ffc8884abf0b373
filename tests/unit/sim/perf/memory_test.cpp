// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("memory: chunks are interleaved over the modules", "[unit]")
{
    Bench bench;
    uint64_t chunk = bench.params.interleave / RPMI_LINE_BYTES;

    for (uint64_t line = 0; line < 20 * chunk; line += chunk / 2) {
        CHECK(rpmi_server_memory_module(bench.server, false, line)->number ==
              line / chunk % bench.params.dimms);
        CHECK(rpmi_server_memory_module(bench.server, true, line)->number ==
              RPMI_SERVER_MODULES + line / chunk % bench.params.dimms);
    }
}

TEST_CASE("memory: from the other socket a line crosses the link, at its rate", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_READ);
    rpmi_event what;

    for (uint32_t remote : { 0u, 1u }) {
        load.remote_socket = remote;
        Bench bench(load, "hints,upi_latency=50 ns,upi_rate=6.4 GB/s");
        uint64_t line_ps = remote != 0 ? 10000 : 0;
        uint64_t half_ps = remote != 0 ? 25000 : 0;

        for (uint64_t i = 0; i < 3; i++)
            rpmi_server_memory_write(bench.server, false, i, RPMI_OWNER_NONE, 7000);
        for (uint64_t i = 1; i <= 3; i++) {
            do {
                REQUIRE(bench.step(&what));
            } while (what.kind != RPMI_PERF_EV_WRITE);
            CHECK(what.at == 7000 + half_ps + i * line_ps);
            CHECK((what.arg & RPMI_LINE_REMOTE) == (remote != 0 ? RPMI_LINE_REMOTE : 0));
        }
        bench.settle();
        uint64_t now_ps = bench.server->now_ps;
        rpmi_server_memory_read(bench.server, false, 999, RPMI_OWNER_NONE, 0);
        REQUIRE(bench.step(&what));
        CHECK(what.kind == RPMI_PERF_EV_READ);
        CHECK(what.at == now_ps + line_ps + 2 * half_ps); // there and back
    }
}

TEST_CASE("memory: a load from the other socket takes a hop longer", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_READ);
    rpmi_params params = params_of("hints");

    load.region_bytes = 64ull << 30;
    uint64_t near_ps = cost_of(load).p50_ps;
    load.remote_socket = 1;
    CHECK(cost_of(load).p50_ps ==
          near_ps + params.upi_latency / 2 * 2 + rpmi_rate_ps(64, params.upi_rate));
}

TEST_CASE("memory: a NIC's writes to the other socket are pipelined", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.bytes = 4096;
    load.threads = 64;
    load.ops = 1000;
    load.remote_socket = 1;
    rpm_cost remote = cost_of(load, "dram"); // no directory, fast media: the port is the bottleneck
    load.remote_socket = 0;
    rpm_cost local = cost_of(load, "dram");
    CHECK(remote.duration_ps < local.duration_ps * 101 / 100);
}

TEST_CASE("memory: writes to the other socket update a directory in the media, local ones and DRAM "
          "do not",
          "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);

    load.bytes = 256;
    rpm_cost local = cost_of(load);
    load.remote_socket = 1;
    rpm_cost remote = cost_of(load);
    rpm_cost none = cost_of(load, "hints,directory=0 writes");
    load.memory = RPM_LOAD_DRAM;
    rpm_cost dram = cost_of(load);

    // A few media lines are written in parts: one that was not full yet was chosen to make room.
    CHECK(local.media_write_bytes <= 2100 * 256);
    CHECK(local.media_read_bytes <= 100 * 256);
    CHECK(remote.media_write_bytes >= 2 * 1990 * 256);
    CHECK(remote.media_read_bytes >= 1990 * 256);
    CHECK(none.media_write_bytes <= 2100 * 256);
    CHECK(dram.media_write_bytes <= 2005 * 256);
}
