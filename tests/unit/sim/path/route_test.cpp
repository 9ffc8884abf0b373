// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

static uint64_t crossings(rpm_path path, rpm_path_op op, bool pcie1)
{
    rpm_path_flow flow = flow_of(path, op, 4096);
    rpm_path_cost cost = run("bf2", flow);
    uint64_t bytes = pcie1 ? cost.pcie1_bytes : cost.pcie0_bytes;

    return (bytes + cost.bytes / 2) / cost.bytes;
}

TEST_CASE("route: how often a byte crosses the links, by path", "[unit]")
{
    for (rpm_path_op op : { RPM_PATH_READ, RPM_PATH_WRITE }) {
        CAPTURE(op);
        CHECK(crossings(RPM_PATH_HOST, op, true) == 1);
        CHECK(crossings(RPM_PATH_HOST, op, false) == 1);
        CHECK(crossings(RPM_PATH_SOC, op, true) == 1);
        CHECK(crossings(RPM_PATH_SOC, op, false) == 0);
        CHECK(crossings(RPM_PATH_COPY_NIC, op, true) == 2);
        CHECK(crossings(RPM_PATH_COPY_NIC, op, false) == 1);
        CHECK(crossings(RPM_PATH_COPY_ENGINE, op, true) == 0);
        CHECK(crossings(RPM_PATH_COPY_ENGINE, op, false) == 1);
        CHECK(crossings(RPM_PATH_SOC_ONLY, op, true) == 0);
        CHECK(crossings(RPM_PATH_SOC_ONLY, op, false) == 0);
    }
}

TEST_CASE("route: opposite directions of a link do not share its rate", "[unit]")
{
    rpm_path_flow read = busy(flow_of(RPM_PATH_HOST, RPM_PATH_READ, 65536), 8, 4);
    rpm_path_flow write = busy(flow_of(RPM_PATH_HOST, RPM_PATH_WRITE, 65536), 8, 4);
    std::vector<rpm_path_cost> same = run("bf2", { read, read });
    std::vector<rpm_path_cost> both = run("bf2", { read, write });

    CHECK(gbs(same[0]) + gbs(same[1]) == Approx(24).epsilon(0.02));
    CHECK(gbs(both[0]) + gbs(both[1]) == Approx(48).epsilon(0.02));
}

TEST_CASE("route: a platform without a DPU has path 1 alone", "[unit]")
{
    for (rpm_path path :
         { RPM_PATH_SOC, RPM_PATH_COPY_NIC, RPM_PATH_COPY_ENGINE, RPM_PATH_SOC_ONLY })
        CHECK_THROWS_WITH(run("cx6", flow_of(path, RPM_PATH_READ)),
                          Catch::Contains("only path 1 exists"));
    CHECK(run("cx6", flow_of(RPM_PATH_HOST, RPM_PATH_READ)).pcie1_bytes == 0);
}

TEST_CASE("route: the copy engine's time for a small copy, and its rate", "[unit]")
{
    rpmi_params p = params_of("bf2");
    double task = 1e6 / static_cast<double>(p.dma_write_task);

    CHECK(mops(run("bf2", busy(flow_of(RPM_PATH_COPY_ENGINE, RPM_PATH_WRITE)))) ==
          Approx(task).epsilon(0.01));
    /* Faster memory than the engine, so that the engine decides. */
    CHECK(gbs(run("bf2,soc_dram_rate=80 GB/s",
                  busy(flow_of(RPM_PATH_COPY_ENGINE, RPM_PATH_WRITE, 1 << 20), 4, 4))) ==
          Approx(15.1).epsilon(0.01));
    CHECK(run("bf2", flow_of(RPM_PATH_COPY_ENGINE, RPM_PATH_READ)).p50_ps > p.dma_latency);
}
