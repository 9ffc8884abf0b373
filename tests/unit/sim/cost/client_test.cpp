// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("client: a write is over after one way there and one back", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
    rpmi_params params = params_of("hints");
    uint64_t there_ps = params.nic_post + params.nic_latency + params.network_latency +
                        rpmi_rate_ps(64, params.network_rate) + params.nic_message +
                        params.nic_latency;
    uint64_t back_ps = params.network_latency + params.nic_latency + params.completion;
    rpm_cost cost = cost_of(load);

    CHECK(cost.p50_ps == there_ps + back_ps);
    CHECK(cost.max_ps == cost.p50_ps);
}
