// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/packed.h"

namespace
{

// Compresses by the codec of a name, as an archiver does.
struct Packed {
    rpmi_segment segment{};
    std::vector<char> stored;

    Packed(const char *name, const std::string &raw) : stored(raw.size())
    {
        const rpmi_codec *codec;
        rpmi_packer packer;

        segment.raw_bytes = raw.size();
        REQUIRE(rpmi_codec_find(name, &codec) == 0);
        REQUIRE(rpmi_packer_open(&packer, codec) == 0);
        REQUIRE(rpmi_packer_pack(&packer, raw.data(), &segment, stored.data()) == 0);
        rpmi_packer_close(&packer);
        rpmi_packer_close(&packer); // is safe
        stored.resize(segment.stored_bytes);
    }
};

} // namespace

TEST_CASE("codec: what it compresses comes back, and is shorter", "[unit]")
{
    for (const rpmi_codec *codec : BUILT) {
        CAPTURE(codec->name);
        std::string raw = compressible(100000);
        Packed packed(codec->name, raw);

        CHECK(packed.segment.codec == codec->number);
        CHECK(packed.segment.stored_bytes < raw.size() / 2);
        CHECK(unpacked(packed.segment, packed.stored) == raw);
    }
}

TEST_CASE("codec: what does not get shorter is stored as it is", "[unit]")
{
    for (const rpmi_codec *codec : BUILT)
        for (size_t bytes : { 1, 2, 5000 }) {
            CAPTURE(codec->name, bytes);
            std::string raw = random_bytes(bytes);
            Packed packed(codec->name, raw);

            CHECK(packed.segment.codec == RPMI_SEGMENT_PLAIN);
            CHECK(packed.segment.stored_bytes == bytes);
            CHECK(std::string(packed.stored.begin(), packed.stored.end()) == raw);
        }
}

TEST_CASE("codec: none stores what could be compressed as it is", "[unit]")
{
    Packed packed("none", compressible(1000));

    CHECK(packed.segment.codec == RPMI_SEGMENT_PLAIN);
    CHECK(packed.stored.size() == 1000);
}

TEST_CASE("codec: LZ4 is the default, or none where librpm lacks it", "[unit]")
{
    Packed packed(nullptr, compressible(1000));

    CHECK(packed.segment.codec == (RPMI_WITH_LZ4 ? RPMI_SEGMENT_LZ4 : RPMI_SEGMENT_PLAIN));
}

TEST_CASE("codec: a name that no codec has is refused, and one that librpm lacks", "[unit]")
{
    const rpmi_codec *codec = nullptr;

    for (const char *name : { "", "LZ4", "lz", "lz4 ", "gzip" }) {
        CHECK(rpmi_codec_find(name, &codec) == RPM_E_INVAL);
        CHECK(last_error().find("'" + std::string(name) + "'; expected is lz4, zstd or none") !=
              std::string::npos);
    }
    for (const rpmi_codec *lacking : LACKING) {
        CHECK(rpmi_codec_find(lacking->name, &codec) == RPM_E_NOCAP);
        CHECK(last_error().find(lacking->lacks) != std::string::npos);
    }
    CHECK(codec == nullptr);
}

TEST_CASE("codec: a segment whose codec librpm lacks is refused by the codec's name", "[unit]")
{
    for (const rpmi_codec *codec : LACKING) {
        rpmi_segment segment = segment_of(codec->number, 100, 10);
        std::vector<char> raw(100);

        CHECK(rpmi_codec_unpack(&segment, raw.data(), raw.data()) == RPM_E_NOCAP);
        CHECK(last_error().find("compressed by " + std::string(codec->name)) != std::string::npos);
        CHECK(last_error().find(codec->lacks) != std::string::npos);
    }
    CHECK(BUILT.size() + LACKING.size() == ALL.size());
}

TEST_CASE("codec: damaged bytes are refused, and nothing is written behind the frames", "[unit]")
{
    for (const rpmi_codec *codec : BUILT) {
        CAPTURE(codec->name);
        std::string raw = compressible(3000);
        Packed packed(codec->name, raw);
        size_t refused = 0;

        for (size_t at = 0; at < packed.stored.size(); at++)
            for (int bit = 0; bit < 8; bit++) {
                std::vector<char> damaged = packed.stored;

                damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
                refused += unpacked(packed.segment, damaged).empty();
            }
        CHECK(refused > packed.stored.size()); // the others are wrong bytes, which stored_sum tells
        for (size_t bytes = 0; bytes < packed.stored.size(); bytes++) {
            std::vector<char> cut(packed.stored.begin(),
                                  packed.stored.begin() + static_cast<long>(bytes));

            CHECK(unpacked(packed.segment, cut).empty());
        }
        packed.stored.push_back(0);
        CHECK(unpacked(packed.segment, packed.stored).empty());
    }
}

TEST_CASE("codec: bytes that would give more frames than the header says, or fewer", "[unit]")
{
    for (const rpmi_codec *codec : BUILT)
        for (size_t says : { 8, 2992, 3008, 1 << 20 }) {
            CAPTURE(codec->name, says);
            Packed packed(codec->name, compressible(3000));

            packed.segment.raw_bytes = says;
            CHECK(unpacked(packed.segment, packed.stored).empty());
        }
}
