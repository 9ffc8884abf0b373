// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/packed.h"

#if RPMI_WITH_LZ4
// A block by hand: one byte, then it again @again times by a match @offset bytes back, and the five
// bytes that end a block.
static std::vector<char> block(size_t again, char offset)
{
    std::vector<char> bytes = { '\x1f', 'a', offset, 0 };
    size_t more = again - 19; // what the token and the least match leave

    for (; more >= 255; more -= 255)
        bytes.push_back('\xff');
    bytes.push_back(static_cast<char>(more));
    bytes.insert(bytes.end(), { '\x50', 'b', 'c', 'd', 'e', 'f' });
    return bytes;
}

TEST_CASE("lz4: a block by hand is read, and not beyond what the header says", "[unit]")
{
    rpmi_segment segment = segment_of(RPMI_SEGMENT_LZ4, 10006, 0);

    CHECK(unpacked(segment, block(10000, 1)) == std::string(10001, 'a') + "bcdef");
    CHECK(unpacked(segment, block(10001, 1)).empty());
    CHECK(unpacked(segment, block(9999, 1)).empty());
    CHECK(unpacked(segment, block(64u << 20, 1)).empty()); // from 256 KiB
}

TEST_CASE("lz4: a match with bytes before the block is refused", "[unit]")
{
    CHECK(unpacked(segment_of(RPMI_SEGMENT_LZ4, 10006, 0), block(10000, 2)).empty());
}
#endif
