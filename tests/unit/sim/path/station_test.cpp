// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <memory>

TEST_CASE("station: one part at a time, in the order of arrival", "[unit]")
{
    rpmi_line_of_work work = { 0 };

    CHECK(rpmi_station_pass(&work, 100, 10) == 110);
    CHECK(rpmi_station_pass(&work, 105, 10) == 120);
    CHECK(rpmi_station_pass(&work, 500, 0) == 500);
}

TEST_CASE("station: of several the one that is free first", "[unit]")
{
    rpmi_line_of_work work[3] = {};

    CHECK(rpmi_station_any(work, 3, 0, 10) == 10);
    CHECK(rpmi_station_any(work, 3, 0, 20) == 20);
    CHECK(rpmi_station_any(work, 3, 0, 30) == 30);
    CHECK(rpmi_station_any(work, 3, 0, 10) == 20);
}

TEST_CASE("station: a path keeps its units busy, and leaves the other's alone", "[unit]")
{
    rpmi_params params = params_of("bf2,nic_units=4 units");
    auto paths = std::make_unique<rpmi_paths>();

    *paths = {};
    paths->params = &params;
    for (int i = 0; i < 3; i++)
        CHECK(rpmi_station_unit(paths.get(), false, 10) == 10);
    CHECK(rpmi_station_unit(paths.get(), false, 10) == 20);
    CHECK(rpmi_station_unit(paths.get(), true, 10) == 10);
    CHECK(rpmi_station_unit(paths.get(), true, 10) == 20);
}

TEST_CASE("station: a wire carries headers, and a message's time by its chunks", "[unit]")
{
    rpmi_params params = params_of("bf2");
    rpmi_hop hop = {};

    hop.rate = 1000; /* a byte takes 1 ns */
    hop.payload = 128;
    CHECK(rpmi_station_busy_ps(&params, &hop, 512, 512) == 1000 * (512 + 4 * params.pcie_header));
    hop.payload = 512;
    CHECK(rpmi_station_busy_ps(&params, &hop, 512, 512) == 1000 * (512 + params.pcie_header));
    hop.payload = 0;
    hop.ps = 800;
    CHECK(rpmi_station_busy_ps(&params, &hop, 512, 1024) == 512000 + 400);
}

TEST_CASE("station: accesses to one bank of SoC memory are apart, to several side by side",
          "[unit]")
{
    rpmi_params params = params_of("bf2");
    auto paths = std::make_unique<rpmi_paths>();

    *paths = {};
    paths->params = &params;
    uint64_t first = rpmi_station_memory(paths.get(), 0, 64);
    CHECK(rpmi_station_memory(paths.get(), 0, 64) == first + params.soc_bank_busy);
    CHECK(rpmi_station_memory(paths.get(), params.soc_bank_bytes, 64) <
          first + params.soc_bank_busy + 2 * 64000000 / params.soc_dram_rate);
}
