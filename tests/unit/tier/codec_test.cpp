// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "tier/codec.h"
}

#include <string>
#include <vector>

static rpmi_segment segment_of(uint32_t codec, size_t raw, size_t stored)
{
    rpmi_segment segment = {};

    segment.codec = codec;
    segment.raw_bytes = raw;
    segment.stored_bytes = stored;
    return segment;
}

TEST_CASE("codec: what was compressed comes back; damaged bytes do not", "[unit]")
{
    std::string raw(100000, 'x');
    std::vector<char> stored(raw.size());
    std::vector<char> back(raw.size());
    size_t packed = rpmi_codec_pack(raw.data(), raw.size(), stored.data(), stored.size());

    for (size_t i = 0; i < raw.size(); i += 7)
        raw[i] = static_cast<char>(i);
    packed = rpmi_codec_pack(raw.data(), raw.size(), stored.data(), stored.size());
#if RPMI_WITH_LZ4
    REQUIRE(packed > 0);
    REQUIRE(packed < raw.size());
    rpmi_segment segment = segment_of(RPMI_SEGMENT_LZ4, raw.size(), packed);
    REQUIRE(rpmi_codec_unpack(&segment, stored.data(), back.data()) == 0);
    CHECK(std::string(back.begin(), back.end()) == raw);
    segment.stored_bytes = packed - 1;
    CHECK(rpmi_codec_unpack(&segment, stored.data(), back.data()) == RPM_E_CORRUPT);
    segment.stored_bytes = packed;
    segment.raw_bytes = raw.size() - 1; // would be longer
    CHECK(rpmi_codec_unpack(&segment, stored.data(), back.data()) == RPM_E_CORRUPT);
#else
    CHECK(packed == 0);
    rpmi_segment segment = segment_of(RPMI_SEGMENT_LZ4, raw.size(), 10);
    CHECK(rpmi_codec_unpack(&segment, stored.data(), back.data()) == RPM_E_NOCAP);
#endif
}

TEST_CASE("codec: what does not get shorter is stored as it is", "[unit]")
{
    std::vector<unsigned char> raw(5000);
    std::vector<unsigned char> stored(raw.size());
    uint32_t state = 1;

    for (unsigned char &byte : raw) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<unsigned char>(state >> 24);
    }
    CHECK(rpmi_codec_pack(raw.data(), raw.size(), stored.data(), stored.size()) == 0);
    CHECK(rpmi_codec_pack(raw.data(), 1, stored.data(), stored.size()) == 0);
}
