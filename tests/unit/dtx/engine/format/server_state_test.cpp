// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/server_state.h"

#include "support/catch.h"

#include <utility>

using dtx::View;

TEST_CASE("dtx: of two whole state records the newer one counts", "[unit]")
{
    View accepted{ 2 };
    View proposed{ 3 };

    proposed.kill(1);
    dtx::StateRecord records[2] = { dtx::record_of({ 4, 2, accepted, {} }),
                                    dtx::record_of({ 5, 3, accepted, proposed }) };

    CHECK(state_in(records) == records[1].state);
    std::swap(records[0], records[1]);
    CHECK(state_in(records) == records[0].state);
    records[0].state.proposed.revive(1); // torn
    CHECK(state_in(records) == records[1].state);
    records[1].checksum++;
    CHECK(!state_in(records));
}

TEST_CASE("dtx: two writes of a server's state in turn begin with different copies", "[unit]")
{
    CHECK(dtx::state_offset(4, 0) == 3584);
    CHECK(dtx::state_offset(4, 1) == 3840);
    CHECK(dtx::state_offset(5, 0) == 3840);
    CHECK(dtx::state_offset(5, 1) == 3584);
}
