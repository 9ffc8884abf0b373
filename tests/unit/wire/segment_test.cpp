// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/sum.h"
#include "wire/segment.h"
}
#include "support/catch.h"

#include <cstring>
#include <string>
#include <vector>

namespace
{

constexpr uint64_t SEGMENT_LOG = 0x1122334455667788;

// A segment of records with these payloads, a pad frame's gap in front of the third.
struct Built {
    std::vector<unsigned char> raw;
    rpmi_segment segment{};

    explicit Built(const std::vector<std::string> &payloads)
    {
        uint64_t lsn = 640;

        segment.log_id = SEGMENT_LOG;
        segment.first_lsn = lsn;
        segment.first_epoch = 3;
        for (const std::string &payload : payloads) {
            rpmi_frame frame = {};

            lsn += segment.records == 2 ? 192 : 0;
            frame.lsn = lsn;
            frame.len = static_cast<uint32_t>(payload.size());
            frame.epoch = 3 + segment.records;
            frame.sum = rpmi_frame_sum(&frame, SEGMENT_LOG, payload.data());
            raw.resize(raw.size() + rpmi_segment_frame_bytes(&frame));
            rpmi_segment_frame_put(raw.data() + segment.raw_bytes, &frame, payload.data());
            segment.raw_bytes = raw.size();
            segment.records++;
            segment.last_lsn = lsn;
            segment.last_sum = frame.sum;
            segment.last_epoch = frame.epoch;
            lsn += rpmi_frame_stride(frame.len, 0);
        }
        segment.end_lsn = lsn;
        segment.stored_bytes = segment.raw_bytes;
        strcpy(segment.log, "a");
    }
    // The payloads, and "error" where the walk ends with one.
    std::vector<std::string> walk() const
    {
        std::vector<std::string> all;
        rpmi_segment_walk walk;
        rpmi_frame frame;
        const void *payload;
        int found;

        rpmi_segment_walk_begin(&walk, &segment, raw.data());
        while ((found = rpmi_segment_walk_next(&walk, &frame, &payload)) == 1)
            all.emplace_back(static_cast<const char *>(payload), frame.len);
        if (found != 0) {
            CHECK(found == RPM_E_CORRUPT);
            all.emplace_back("error");
        }
        return all;
    }
};

const std::vector<std::string> PAYLOADS = { "one", std::string(100, '2'), "three", "4" };

} // namespace

TEST_CASE("segment: its records are walked in order", "[unit]")
{
    Built built(PAYLOADS);

    CHECK(built.walk() == PAYLOADS);
}

TEST_CASE("segment: a byte of a frame that changed ends the walk with an error", "[unit]")
{
    for (size_t at = 0; at < Built(PAYLOADS).raw.size(); at++) {
        Built built(PAYLOADS);

        built.raw[at] ^= 0x21;
        std::vector<std::string> found = built.walk();
        bool fills = found == PAYLOADS; // zeros behind a payload, which stored_sum covers
        CHECK((found.back() == "error" || fills));
    }
}

TEST_CASE("segment: frames that are not those of the header are refused", "[unit]")
{
    auto refused = [](auto change) {
        Built built(PAYLOADS);

        change(built);
        return built.walk().back() == "error";
    };
    CHECK(refused([](Built &built) { built.segment.records--; }));
    CHECK(refused([](Built &built) { built.segment.records++; }));
    CHECK(refused([](Built &built) { built.segment.end_lsn += 64; }));
    CHECK(refused([](Built &built) { built.segment.end_lsn -= 64; }));
    CHECK(refused([](Built &built) { built.segment.first_lsn += 64; }));
    CHECK(refused([](Built &built) { built.segment.last_lsn -= 64; }));
    CHECK(refused([](Built &built) { built.segment.last_sum++; }));
    CHECK(refused([](Built &built) { built.segment.log_id++; }));
    CHECK(refused([](Built &built) { built.segment.first_epoch++; }));
    CHECK(refused([](Built &built) { built.segment.last_epoch--; }));
    CHECK(refused([](Built &built) { built.segment.raw_bytes -= 8; }));
    // The first two frames, the other way round.
    CHECK(refused([](Built &built) {
        std::rotate(built.raw.begin(), built.raw.begin() + 32, built.raw.begin() + 32 + 128);
    }));
}

TEST_CASE("segment: names have one form", "[unit]")
{
    rpmi_segment_name name = { SEGMENT_LOG, 0x40, 0xfedcba9876543200 };
    rpmi_segment_name back = {};
    char file[RPMI_SEGMENT_NAME_CHARS + 1];
    char folder[RPMI_SEGMENT_FOLDER_CHARS + 1];
    uint64_t id = 0;

    rpmi_segment_name_put(file, &name);
    rpmi_segment_folder_put(folder, name.log_id);
    CHECK(file == std::string("0000000000000040-fedcba9876543200.seg"));
    CHECK(folder == std::string("1122334455667788"));
    REQUIRE(rpmi_segment_name_get(file, &back));
    CHECK(back.first_lsn == name.first_lsn);
    CHECK(back.end_lsn == name.end_lsn);
    REQUIRE(rpmi_segment_folder_get(folder, &id));
    CHECK(id == SEGMENT_LOG);
    for (const char *wrong :
         { "", "40-80.seg", "0000000000000040-fedcba9876543200.seg2",
           "0000000000000040_fedcba9876543200.seg", "0000000000000040-FEDCBA9876543200.seg",
           "0000000000000080-0000000000000080.seg" })
        CHECK_FALSE(rpmi_segment_name_get(wrong, &back));
    CHECK_FALSE(rpmi_segment_folder_get("112233445566778", &id));
    CHECK_FALSE(rpmi_segment_folder_get("112233445566778g", &id));
}
