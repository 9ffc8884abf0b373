// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
}
#include "support/catch.h"

TEST_CASE("bytes: values are stored lowest byte first, at any address", "[unit]")
{
    unsigned char room[16] = {};

    rpmi_store64(room + 1, 0x0807060504030201ull);
    for (unsigned i = 0; i < 8; i++)
        REQUIRE(room[1 + i] == i + 1);
    REQUIRE(rpmi_load64(room + 1) == 0x0807060504030201ull);
    rpmi_store32(room + 3, 0xddccbbaau);
    REQUIRE(room[3] == 0xaa);
    REQUIRE(room[6] == 0xdd);
    REQUIRE(rpmi_load32(room + 3) == 0xddccbbaau);
    rpmi_store16(room + 5, 0x2211);
    REQUIRE(room[5] == 0x11);
    REQUIRE(room[6] == 0x22);
    REQUIRE(rpmi_load16(room + 5) == 0x2211);
    REQUIRE(room[7] == 7);
    REQUIRE(room[0] == 0);
    REQUIRE(room[9] == 0);
}

TEST_CASE("bytes: alignment goes up, down and is recognised", "[unit]")
{
    REQUIRE(rpmi_align_up(0, 64) == 0);
    REQUIRE(rpmi_align_up(1, 64) == 64);
    REQUIRE(rpmi_align_up(64, 64) == 64);
    REQUIRE(rpmi_align_down(127, 64) == 64);
    REQUIRE(rpmi_is_aligned(128, 64));
    REQUIRE_FALSE(rpmi_is_aligned(129, 64));
}

TEST_CASE("bytes: bounds hold at the edges and never overflow", "[unit]")
{
    REQUIRE(rpmi_in_bounds(0, 100, 100));
    REQUIRE(rpmi_in_bounds(100, 0, 100));
    REQUIRE_FALSE(rpmi_in_bounds(101, 0, 100));
    REQUIRE_FALSE(rpmi_in_bounds(1, 100, 100));
    REQUIRE_FALSE(rpmi_in_bounds(1, UINT64_MAX, 100));
    REQUIRE_FALSE(rpmi_in_bounds(UINT64_MAX, 1, 100));
    REQUIRE_FALSE(rpmi_in_bounds(UINT64_MAX, UINT64_MAX, UINT64_MAX));
}
