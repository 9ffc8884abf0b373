// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

static std::string refusal(const rpm_path_flow &flow, const char *preset = "bf2")
{
    rpmi_params params = params_of(preset);
    rpm_path_flow ours;

    REQUIRE(rpmi_flow_check(&params, 3, &flow, &ours) == RPM_E_INVAL);
    return rpm_last_error();
}

TEST_CASE("flow: zeros are defaults", "[unit]")
{
    rpmi_params params = params_of("bf2");
    rpm_path_flow flow = {};
    rpm_path_flow ours;

    flow.path = RPM_PATH_HOST;
    REQUIRE(rpmi_flow_check(&params, 0, &flow, &ours) == 0);
    CHECK(ours.bytes == 64);
    CHECK(ours.threads == 1);
    CHECK(ours.depth == 1);
    CHECK(ours.pieces == 1);
    CHECK(ours.ops == 20000);
    CHECK(ours.range_bytes == 1u << 30);
    CHECK(rpmi_flow_message_max(&ours) == 64);
    flow.bytes = 16 << 20;
    flow.piece_bytes = 1 << 20;
    REQUIRE(rpmi_flow_check(&params, 0, &flow, &ours) == 0);
    CHECK(ours.pieces == 4);
    CHECK(ours.ops == 16);
    CHECK(rpmi_flow_message_max(&ours) == 1 << 20);
}

TEST_CASE("flow: a field out of its range is refused with the flow, the value and the range",
          "[unit]")
{
    rpm_path_flow good = flow_of(RPM_PATH_HOST, RPM_PATH_READ);
    rpm_path_flow flow = good;

    flow.path = 0;
    CHECK(refusal(flow) == "flow 3: path is 0, it must be 1 to 5");
    flow = good;
    flow.op = 3;
    CHECK(refusal(flow) == "flow 3: op is 3, it must be 0 to 2");
    flow = good;
    flow.bytes = (16 << 20) + 1;
    CHECK(refusal(flow) == "flow 3: bytes is 16777217, it must be 1 to 16777216");
    flow = good;
    flow.range_bytes = 63;
    CHECK(refusal(flow) == "flow 3: range_bytes is 63, it must be 64 to 68719476736");
    flow = good;
    flow.piece_bytes = 511;
    CHECK(refusal(flow) == "flow 3: piece_bytes is 511, it must be 512 to 16777216");
    flow = flow_of(RPM_PATH_COPY_NIC, RPM_PATH_SEND);
    CHECK(refusal(flow) == "flow 3: a message on path 3; cores answer messages on paths 1 and 2");
    CHECK(refusal(good, "bf2,nic_host_units=9 units").find("must be less than nic_units, 10") !=
          std::string::npos);
}

TEST_CASE("flow: the cost is of the measured operations", "[unit]")
{
    rpmi_flow flow = {};
    rpm_path_cost cost;

    flow.is = flow_of(RPM_PATH_HOST, RPM_PATH_READ);
    flow.is.ops = 4;
    flow.is.threads = 1;
    flow.is.pieces = 1;
    REQUIRE(rpmi_flow_open(&flow) == 0);
    for (uint64_t i = 0; i < 4; i++)
        flow.latency_ps[i] = 40 - 10 * i;
    flow.measured = 6; /* two more ended while another flow was not done */
    rpmi_flow_cost(&flow, 1000, &cost);
    CHECK(cost.ops == 6);
    CHECK(cost.bytes == 6 * 64);
    CHECK(cost.duration_ps == 1000);
    CHECK(cost.p50_ps == 20);
    CHECK(cost.p99_ps == 40);
    CHECK(cost.mean_ps == 25);
    rpmi_flow_close(&flow);
}
