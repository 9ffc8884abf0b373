// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/object.h>

#include "support/catch.h"
#include <dtx/address.h>

#include <cstring>

TEST_CASE("dtx: an address keeps its parts and orders by them", "[unit]")
{
    dtx::Address address = dtx::Address::of(3, 200, 0x123456789abc);

    CHECK(address.shard() == 3);
    CHECK(address.table() == 200);
    CHECK(address.slot() == 0x123456789abc);
    CHECK(dtx::Address::of(1, 255, 7) < dtx::Address::of(2, 0, 0));
    CHECK(dtx::Address::of(2, 3, 7) < dtx::Address::of(2, 4, 0));
}

TEST_CASE("dtx: an object of zeros is whole and was never written", "[unit]")
{
    alignas(8) unsigned char image[64] = {};

    CHECK(dtx::is_whole(image, sizeof(image)));
    for (unsigned bit = 0; bit < 8 * sizeof(image); bit++) {
        image[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CHECK_FALSE(dtx::is_whole(image, sizeof(image)));
        image[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
}

TEST_CASE("dtx: a checksum detects any changed bit of an object", "[unit]")
{
    alignas(8) unsigned char image[128];

    std::memset(image, 0x5a, sizeof(image));
    dtx::header_of(image).version = 7;
    dtx::seal(image, sizeof(image));
    REQUIRE(dtx::is_whole(image, sizeof(image)));
    for (unsigned bit = 0; bit < 8 * sizeof(image); bit++) {
        image[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CHECK_FALSE(dtx::is_whole(image, sizeof(image)));
        image[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    dtx::header_of(image).version = 0;
    dtx::seal(image, sizeof(image));
    CHECK_FALSE(dtx::is_whole(image, sizeof(image)));
}

TEST_CASE("dtx: half of an old and half of a new version are torn", "[unit]")
{
    alignas(8) unsigned char old[256];
    alignas(8) unsigned char fresh[256];

    std::memset(old, 1, sizeof(old));
    std::memset(fresh, 2, sizeof(fresh));
    dtx::seal(old, sizeof(old));
    dtx::seal(fresh, sizeof(fresh));
    for (size_t words = 1; words < sizeof(old) / 8; words++) {
        alignas(8) unsigned char torn[256];

        std::memcpy(torn, fresh, sizeof(torn));
        std::memcpy(torn, old, 8 * words);
        CHECK_FALSE(dtx::is_whole(torn, sizeof(torn)));
    }
}
