// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("buffer: what is taken is found until it is given back", "[unit]")
{
    std::vector<rpmi_buffer> room(1);
    rpmi_buffer *buffer = room.data();

    rpmi_buffer_open(buffer, 3);
    for (uint32_t line : { 7u, 8u, 9u })
        rpmi_buffer_take(buffer, line)->held = 1;
    REQUIRE(buffer->spares == 0);
    REQUIRE(rpmi_buffer_find(buffer, 8)->line == 8);
    rpmi_buffer_give(buffer, rpmi_buffer_find(buffer, 8));
    CHECK(rpmi_buffer_find(buffer, 8) == nullptr);
    CHECK(rpmi_buffer_find(buffer, 7)->line == 7);
    CHECK(rpmi_buffer_find(buffer, 9)->line == 9);
    CHECK(buffer->spares == 1);
}
