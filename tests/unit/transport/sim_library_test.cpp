// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "transport/sim/sim.h"
#include "transport/sim_library.h"
}
#include "support/catch.h"

TEST_CASE("sim library: the table of the model that the program is linked with is complete",
          "[unit]")
{
    const rpmi_transport_ops *ops = nullptr;
    rpmi_transport_ops completed = rpmi_sim_transport;

    REQUIRE(rpmi_sim_library(&ops) == 0);
    CHECK(ops == &rpmi_sim_transport);
    rpmi_transport_complete(&completed);
    CHECK(memcmp(&completed, ops, sizeof(completed)) == 0);
}
