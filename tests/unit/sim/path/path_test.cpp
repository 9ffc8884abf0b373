// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <cstring>

static uint64_t rate_ps(uint64_t bytes, uint64_t rate)
{
    return bytes * 1000000 / rate;
}

TEST_CASE("path: an idle READ takes the sum of the parts that it passes", "[unit]")
{
    rpmi_params p = params_of("cx6");
    uint64_t nic = p.nic_post + 4 * p.nic_latency + 2 * p.network_latency + p.completion;
    uint64_t wires = rate_ps(64 + p.pcie_header, p.pcie_rate) + rate_ps(64, p.network_rate);
    uint64_t rnic = nic + wires + p.pcie_read + p.dram_latency;

    CHECK(run("cx6", flow_of(RPM_PATH_HOST, RPM_PATH_READ)).p50_ps == rnic);

    rpmi_params d = params_of("bf2");
    uint64_t pcie = rate_ps(64 + d.pcie_header, d.pcie_rate);

    CHECK(run("bf2", flow_of(RPM_PATH_HOST, RPM_PATH_READ)).p50_ps ==
          rnic + 2 * d.switch_latency + pcie);
    CHECK(run("bf2", flow_of(RPM_PATH_SOC, RPM_PATH_READ)).p50_ps ==
          rnic - d.pcie_read - d.dram_latency + 2 * d.switch_latency + pcie + d.soc_dram_latency +
              rate_ps(64, d.soc_dram_rate));
}

TEST_CASE("path: a WRITE is acknowledged before it is placed, a message answered after", "[unit]")
{
    rpmi_params p = params_of("bf2");

    CHECK(run("bf2", flow_of(RPM_PATH_HOST, RPM_PATH_WRITE)).p50_ps ==
          run("cx6", flow_of(RPM_PATH_HOST, RPM_PATH_WRITE)).p50_ps);
    CHECK(run("bf2", flow_of(RPM_PATH_HOST, RPM_PATH_SEND)).p50_ps ==
          run("cx6", flow_of(RPM_PATH_HOST, RPM_PATH_SEND)).p50_ps + 2 * p.switch_latency +
              rate_ps(64 + p.pcie_header, p.pcie_rate));
}

TEST_CASE("path: units, cores and the port limit the rate", "[unit]")
{
    rpmi_params p = params_of("bf2");
    double units = 1e6 / static_cast<double>(p.nic_message);
    double calls = 1e6 / static_cast<double>(p.soc_call) * static_cast<double>(p.soc_cores);

    CHECK(mops(run("cx6", busy(flow_of(RPM_PATH_HOST, RPM_PATH_WRITE)))) ==
          Approx(units).epsilon(0.01));
    CHECK(mops(run("bf2", busy(flow_of(RPM_PATH_HOST, RPM_PATH_WRITE)))) ==
          Approx(units * 0.9).epsilon(0.01));
    CHECK(mops(run("bf2", busy(flow_of(RPM_PATH_SOC, RPM_PATH_SEND)))) ==
          Approx(calls).epsilon(0.02));
    CHECK(gbs(run("cx6", busy(flow_of(RPM_PATH_HOST, RPM_PATH_READ, 65536), 8, 4))) ==
          Approx(24).epsilon(0.01));
}

TEST_CASE("path: outstanding PCIe reads limit small READs", "[unit]")
{
    rpmi_params p = params_of("cx6");
    double wait_us = static_cast<double>(p.pcie_read + p.dram_latency) * 1e-6;

    CHECK(mops(run("cx6,nic_tags=8 requests", busy(flow_of(RPM_PATH_HOST, RPM_PATH_READ)))) ==
          Approx(8 / wait_us).epsilon(0.02));
}

TEST_CASE("path: a READ of many transactions delays the READs behind it, its pieces less", "[unit]")
{
    rpm_path_flow small = flow_of(RPM_PATH_SOC, RPM_PATH_READ);
    rpm_path_flow large = flow_of(RPM_PATH_SOC, RPM_PATH_READ, 4 << 20);
    uint64_t alone = run("bf2", small).p50_ps;

    large.ops = 4;
    uint64_t whole = run("bf2", { small, large })[0].p99_ps;
    large.piece_bytes = 64 << 10;
    large.pieces = 1;
    uint64_t pieces = run("bf2", { small, large })[0].p99_ps;
    CHECK(whole > 10 * alone);
    CHECK(pieces * 10 < whole);
}

TEST_CASE("path: what a payload that waits for PCIe keeps in the NIC's buffer is bounded", "[unit]")
{
    std::string slow = "cx6,pcie_rate=1 GB/s,nic_buffer=64 KiB";
    rpm_path_cost cost = run(slow, busy(flow_of(RPM_PATH_HOST, RPM_PATH_WRITE, 4096), 8, 4));

    CHECK(gbs(cost) == Approx(512.0 / 536.0).epsilon(0.02));
}

TEST_CASE("path: pieces of unequal length are all transferred", "[unit]")
{
    rpm_path_flow flow = flow_of(RPM_PATH_HOST, RPM_PATH_WRITE, 1100);

    flow.piece_bytes = 600;
    flow.pieces = 1;
    /* A link so slow that a piece is placed when the next one is under way. */
    rpm_path_cost cost = run("bf2,pcie_rate=0.1 GB/s", flow);
    CHECK(cost.bytes == cost.ops * 1100);
    CHECK(static_cast<double>(cost.pcie1_bytes) ==
          Approx(static_cast<double>(cost.bytes)).epsilon(0.1));
}

TEST_CASE("path: an interval limits the rate of a thread", "[unit]")
{
    rpm_path_flow flow = busy(flow_of(RPM_PATH_COPY_NIC, RPM_PATH_WRITE, 4096), 1, 8);

    flow.interval_ps = 1000000;
    CHECK(mops(run("bf2", flow)) == Approx(1.0).epsilon(0.01));
}

TEST_CASE("path: the same load costs the same, and a change of the seed is seen", "[unit]")
{
    rpmi_params params = params_of("bf2");
    rpm_path_flow flow = busy(flow_of(RPM_PATH_SOC, RPM_PATH_WRITE));
    rpm_path_load load = rpm_path_load_init();
    rpm_path_cost cost[3];

    flow.range_bytes = 1024;
    load.flows = &flow;
    load.count = 1;
    for (uint64_t i = 0; i < 3; i++) {
        load.seed = i == 2 ? 2 : 1;
        REQUIRE(rpmi_paths_run(&params, &load, &cost[i]) == 0);
    }
    CHECK(memcmp(&cost[0], &cost[1], sizeof(cost[0])) == 0);
    CHECK(memcmp(&cost[0], &cost[2], sizeof(cost[0])) != 0);
}

TEST_CASE("path: too much outstanding, or no flow, is refused", "[unit]")
{
    rpm_path_flow large = busy(flow_of(RPM_PATH_HOST, RPM_PATH_READ, 16 << 20), 64, 64);

    CHECK_THROWS_WITH(run("bf2", large), Catch::Contains("reduce bytes, threads or depth"));
    CHECK_THROWS_WITH(run("bf2", std::vector<rpm_path_flow>{}), Catch::Contains("1 to 8"));
}

TEST_CASE("path: without memory nothing is left behind", "[unit]")
{
    for (uint64_t nth = 1; nth <= 11; nth++) {
        rpmi_mem_fail_at(nth);
        CHECK_THROWS(run("bf2", flow_of(RPM_PATH_HOST, RPM_PATH_READ)));
        rpmi_mem_fail_at(0);
    }
}

TEST_CASE("path: a hot line of SoC memory is one bank, one of host memory is in the cache",
          "[unit]")
{
    rpmi_params params = params_of("bf2");

    CHECK(mops(run("bf2", busy(flow_of(RPM_PATH_SOC, RPM_PATH_WRITE)))) > 100);

    rpm_path_flow hot = busy(flow_of(RPM_PATH_SOC, RPM_PATH_WRITE));
    hot.range_bytes = 64;
    CHECK(mops(run("bf2", hot)) ==
          Approx(1e6 / static_cast<double>(params.soc_bank_busy)).epsilon(0.03));
    hot.path = RPM_PATH_HOST;
    CHECK(mops(run("bf2", hot)) > 100);
}
