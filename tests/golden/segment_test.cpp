// SPDX-License-Identifier: BSD-3-Clause
// segment_test.cpp: the bytes behind the header of a segment, compressed or not.
extern "C" {
#include "base/sum.h"
#include "tier/codec.h"
}
#include "golden/golden.h"

// The payloads of the golden segment @name, by this codec. Empty: librpm is built without it.
static std::vector<std::string> payloads(const std::string &name, uint32_t codec)
{
    Bytes bytes = golden(name);
    std::vector<std::string> all;
    rpmi_segment segment;
    rpmi_segment_walk walk;
    rpmi_frame frame;
    const void *payload;
    int found;

    REQUIRE(rpmi_segment_get(bytes.data(), &segment) == 0);
    REQUIRE(segment.codec == codec);
    REQUIRE(bytes.size() == RPMI_SEGMENT_HEADER_BYTES + segment.stored_bytes);
    const unsigned char *stored = bytes.data() + RPMI_SEGMENT_HEADER_BYTES;
    REQUIRE(rpmi_sum(stored, segment.stored_bytes) == segment.stored_sum);
    Bytes raw(stored, stored + segment.stored_bytes);
    if (codec != RPMI_SEGMENT_PLAIN) {
        raw.resize(segment.raw_bytes);
        int err = rpmi_codec_unpack(&segment, stored, raw.data());
        if (err == RPM_E_NOCAP)
            return all;
        REQUIRE(err == 0);
    }
    rpmi_segment_walk_begin(&walk, &segment, raw.data());
    while ((found = rpmi_segment_walk_next(&walk, &frame, &payload)) == 1)
        all.emplace_back(static_cast<const char *>(payload), frame.len);
    REQUIRE(found == 0);
    return all;
}

TEST_CASE("golden: the records of a segment are read, by each codec", "[golden]")
{
    const std::vector<std::string> same = { std::string(100, 'z') };
    const std::vector<std::string> none;

    CHECK(payloads("segment", 0) == std::vector<std::string>{ "first record", "second" });
    CHECK(payloads("segment_lz4", 1) == (RPMI_WITH_LZ4 ? same : none));
    CHECK(payloads("segment_zstd", 2) == (RPMI_WITH_ZSTD ? same : none));
}
