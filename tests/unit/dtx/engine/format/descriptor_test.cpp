// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/descriptor.h"

#include "support/catch.h"

#include <cstring>

TEST_CASE("dtx: each flipped bit of a descriptor is found, up to its checksum", "[unit]")
{
    unsigned char bytes[sizeof(dtx::Descriptor)];
    dtx::Descriptor descriptor{};

    descriptor.schema_version = 7;
    descriptor.shards = 3;
    CHECK_FALSE(dtx::is_whole(descriptor));
    dtx::seal(descriptor);
    CHECK(dtx::is_whole(descriptor));
    CHECK(std::memcmp(&descriptor, "DXSHARD1", 8) == 0);
    CHECK(descriptor.format == dtx::kFormatVersion);
    std::memcpy(bytes, &descriptor, sizeof(bytes));
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        std::memcpy(&descriptor, bytes, sizeof(bytes));
        CHECK_FALSE(dtx::is_whole(descriptor));
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
}
