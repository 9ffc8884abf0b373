// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

extern "C" {
#include "sim/path/maker.h"
}

#include <memory>

namespace
{

// The wires that a part passes, in order.
std::vector<uint32_t> wires_of(const rpmi_route &route)
{
    std::vector<uint32_t> wires;

    for (uint32_t i = 0; i < route.hops; i++)
        if (route.hop[i].kind == RPMI_HOP_WIRE)
            wires.push_back(route.hop[i].station);
    return wires;
}

} // namespace

TEST_CASE("maker: the NIC reaches the host's memory by PCIe0, the SoC's by the SoC's port",
          "[unit]")
{
    rpmi_params params = params_of("bf2");
    auto route = std::make_unique<rpmi_route>();
    rpmi_maker maker = {};

    maker.params = &params;
    maker.route = route.get();
    maker.dpu = true;
    rpmi_make_host_read(&maker);
    rpmi_make_host_write(&maker);
    CHECK(wires_of(*route) == std::vector<uint32_t>{ RPMI_PCIE0_FROM_HOST, RPMI_PCIE1_TO_NIC,
                                                     RPMI_PCIE1_FROM_NIC, RPMI_PCIE0_TO_HOST });
    route->hops = 0;
    rpmi_make_soc_read(&maker);
    rpmi_make_soc_write(&maker);
    CHECK(wires_of(*route) == std::vector<uint32_t>{ RPMI_SOC_OUT, RPMI_PCIE1_TO_NIC,
                                                     RPMI_PCIE1_FROM_NIC, RPMI_SOC_IN });
}

TEST_CASE("maker: a payload that does not go out with its doorbell is fetched first", "[unit]")
{
    rpmi_params params = params_of("bf2");
    auto route = std::make_unique<rpmi_route>();
    rpmi_maker maker = {};
    uint64_t delay_ps[2];

    maker.params = &params;
    maker.route = route.get();
    for (int i = 0; i < 2; i++) {
        route->hops = 0;
        maker.bytes = params.nic_inline + static_cast<uint64_t>(i);
        rpmi_make_from_client(&maker, true);
        delay_ps[i] = route->hop[1].ps;
    }
    CHECK(delay_ps[1] - delay_ps[0] == params.pcie_read + params.llc_latency);
}
