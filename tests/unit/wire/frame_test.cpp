// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
#include "wire/frame.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <vector>

static const uint64_t LOG_ID = 0x1122334455667788ull;

// A frame in memory of exactly its stride.
static std::vector<unsigned char> made(const rpmi_frame &frame, uint64_t log_id = LOG_ID)
{
    std::vector<unsigned char> bytes(rpmi_frame_stride(frame.len, frame.flags));
    rpmi_rng rng;

    rpmi_rng_seed(&rng, frame.len);
    for (uint32_t i = 0; (frame.flags & RPMI_FRAME_PAD) == 0 && i < frame.len; i++)
        bytes[RPMI_FRAME_HEADER_BYTES + i] = static_cast<unsigned char>(rpmi_rng_next(&rng));
    rpmi_frame_put(bytes.data(), &frame, log_id,
                   (frame.flags & RPMI_FRAME_PAD) != 0 ? nullptr
                                                       : bytes.data() + RPMI_FRAME_HEADER_BYTES);
    return bytes;
}

static rpmi_frame record(uint64_t lsn, uint32_t len, uint32_t epoch, uint32_t flags = 0)
{
    rpmi_frame frame = {};

    frame.lsn = lsn;
    frame.len = len;
    frame.epoch = epoch;
    frame.flags = flags;
    return frame;
}

// Both checks in the order of recovery.
static rpmi_verdict judge(const std::vector<unsigned char> &bytes, uint64_t lsn,
                          uint64_t log_id = LOG_ID)
{
    rpmi_frame frame;
    rpmi_verdict verdict = rpmi_frame_get(bytes.data(), lsn, bytes.size(), &frame);

    if (verdict != RPMI_FRAME_VALID)
        return verdict;
    return rpmi_frame_check(&frame, log_id, bytes.data() + RPMI_FRAME_HEADER_BYTES);
}

TEST_CASE("frame: a frame of every length and flag is decoded unchanged", "[unit]")
{
    uint32_t len = GENERATE(1u, 8u, 39u, 40u, 41u, 104u, 216u, 217u, 240u, 241u, 4096u, 70000u,
                            RPMI_RECORD_MAX);
    uint32_t flags = GENERATE(0u, static_cast<uint32_t>(RPMI_FRAME_XPLINE));
    rpmi_frame in = record(64ull << 40, len, 0xfffffffeu, flags);
    rpmi_frame out;
    auto bytes = made(in);

    CAPTURE(len, flags);
    REQUIRE(rpmi_frame_get(bytes.data(), in.lsn, bytes.size(), &out) == RPMI_FRAME_VALID);
    REQUIRE(out.lsn == in.lsn);
    REQUIRE(out.len == len);
    REQUIRE(out.epoch == in.epoch);
    REQUIRE(out.flags == flags);
    REQUIRE(out.sum == rpmi_frame_sum(&in, LOG_ID, bytes.data() + RPMI_FRAME_HEADER_BYTES));
    REQUIRE(judge(bytes, in.lsn) == RPMI_FRAME_VALID);
}

TEST_CASE("frame: the checksum can be had from the payload's own", "[unit]")
{
    rpmi_frame frame = record(640, 300, 2);
    auto bytes = made(frame);
    uint64_t payload_sum = rpmi_sum(&bytes[RPMI_FRAME_HEADER_BYTES], 300);

    REQUIRE(rpmi_frame_sum_with(&frame, LOG_ID, payload_sum) == rpmi_load64(&bytes[16]));
    REQUIRE(rpmi_frame_sum_with(&frame, LOG_ID, payload_sum ^ 1) != rpmi_load64(&bytes[16]));
}

TEST_CASE("frame: the stride is whole lines, and 40 bytes fit one line", "[unit]")
{
    REQUIRE(rpmi_frame_stride(1, 0) == 64);
    REQUIRE(rpmi_frame_stride(40, 0) == 64);
    REQUIRE(rpmi_frame_stride(41, 0) == 128);
    REQUIRE(rpmi_frame_stride(233, RPMI_FRAME_XPLINE) == 512);
    REQUIRE(rpmi_frame_stride(232, RPMI_FRAME_XPLINE) == 256);
    REQUIRE(rpmi_frame_stride(40, RPMI_FRAME_PAD) == 64);
}

TEST_CASE(
    "frame: the word that a frame is to change is one in which the bytes there differ from it",
    "[unit]")
{
    const std::string data(100, 'p');

    for (uint64_t lsn : { uint64_t{ 0 }, uint64_t{ 64 }, uint64_t{ 1 } << 40 }) {
        rpmi_frame frame = { lsn, 100, 7, 0, 0, 0 };
        unsigned char bytes[RPMI_FRAME_HEADER_BYTES];
        unsigned char old[RPMI_FRAME_HEADER_BYTES] = {};

        rpmi_frame_put(bytes, &frame, 5, data.data());
        CHECK(rpmi_frame_word_to_come(bytes, lsn) == RPMI_FRAME_HEADER_BYTES); // it has come
        CHECK(rpmi_frame_word_to_come(bytes, lsn + 64) == 0);
        // Memory that was never written, or has other bytes: the word differs from the frame's.
        for (int fill : { 0x00, 0xff, 0x55 }) {
            memset(old, fill, sizeof(old));
            uint32_t at = rpmi_frame_word_to_come(old, lsn);
            CAPTURE(lsn, fill);
            REQUIRE(at < RPMI_FRAME_HEADER_BYTES);
            CHECK(at == (fill == 0 && lsn == 0 ? 8 : 0));
            CHECK(memcmp(old + at, bytes + at, 8) != 0);
        }
        memcpy(old, bytes, 8);
        memset(old + 8, 0, 16);
        CHECK(rpmi_frame_word_to_come(old, lsn) == 8);
        CHECK(memcmp(old + 8, bytes + 8, 8) != 0);
    }
}

TEST_CASE("frame: a flipped bit is judged broken or blank, never valid", "[unit]")
{
    uint32_t len = GENERATE(1u, 40u, 100u, 241u);
    auto bytes = made(record(6400, len, 3));

    for (size_t bit = 0; bit < 8 * (RPMI_FRAME_HEADER_BYTES + len); bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        rpmi_verdict verdict = judge(bytes, 6400);

        if (verdict == RPMI_FRAME_VALID)
            FAIL("bit " << bit << " of a frame with " << len << " bytes is not detected");
        if (bit >= 8 * 16) // checksum or payload: the header still says that it was begun
            REQUIRE(verdict == RPMI_FRAME_BROKEN);
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    REQUIRE(judge(bytes, 6400) == RPMI_FRAME_VALID);
}

TEST_CASE("frame: any subset of its 8-byte words over old bytes is not valid", "[unit]")
{
    // Tearing: every subset of the 8 words of a one-line frame, over zeros and over an older frame.
    auto fresh = made(record(128, 40, 5));
    auto older = made(record(64, 39, 4)); // of another length: no word of it is alike
    std::vector<unsigned char> zeros(64);

    for (const auto &below : { zeros, older }) {
        for (unsigned subset = 0; subset < 255; subset++) {
            auto torn = below;

            for (unsigned word = 0; word < 8; word++)
                if ((subset & (1u << word)) != 0)
                    memcpy(&torn[8 * word], &fresh[8 * word], 8);
            CAPTURE(subset);
            REQUIRE(judge(torn, 128) != RPMI_FRAME_VALID);
        }
    }
    REQUIRE(judge(fresh, 128) == RPMI_FRAME_VALID);
}

TEST_CASE("frame: another LSN is blank, another log's frame is broken", "[unit]")
{
    auto bytes = made(record(1 << 20, 64, 2));

    REQUIRE(judge(bytes, (1 << 20) + 64) == RPMI_FRAME_BLANK);
    REQUIRE(judge(bytes, 0) == RPMI_FRAME_BLANK);
    REQUIRE(judge(bytes, 1 << 20, LOG_ID + 1) == RPMI_FRAME_BROKEN);
}

TEST_CASE("frame: zeros are blank even for LSN 0", "[unit]")
{
    REQUIRE(judge(std::vector<unsigned char>(64), 0) == RPMI_FRAME_BLANK);
    REQUIRE(judge(made(record(0, 1, 0)), 0) == RPMI_FRAME_VALID);
}

TEST_CASE("frame: one that would leave the ring is blank", "[unit]")
{
    auto bytes = made(record(64, 100, 1)); // stride 128
    rpmi_frame frame;

    REQUIRE(rpmi_frame_get(bytes.data(), 64, 128, &frame) == RPMI_FRAME_VALID);
    REQUIRE(rpmi_frame_get(bytes.data(), 64, 127, &frame) == RPMI_FRAME_BLANK);
    REQUIRE(rpmi_frame_get(bytes.data(), 64, 64, &frame) == RPMI_FRAME_BLANK);
    REQUIRE(rpmi_frame_get(bytes.data(), 64, 23, &frame) == RPMI_FRAME_BLANK);
    REQUIRE(rpmi_frame_get(nullptr, 64, 0, &frame) == RPMI_FRAME_BLANK);
}

TEST_CASE("frame: every value of the tag and length but the known ones is blank", "[unit]")
{
    auto bytes = made(record(64, 40, 1));
    rpmi_frame frame;
    int taken = 0;

    for (unsigned tag = 0; tag < 256; tag++) {
        bytes[11] = static_cast<unsigned char>(tag);
        taken += rpmi_frame_get(bytes.data(), 64, 1 << 20, &frame) == RPMI_FRAME_VALID;
    }
    REQUIRE(taken == 3 * 16); // record, record of whole media lines, pad, each with any lag
    rpmi_store32(&bytes[8], RPMI_FRAME_TAG << 24);
    REQUIRE(rpmi_frame_get(bytes.data(), 64, UINT64_MAX, &frame) == RPMI_FRAME_BLANK);
    rpmi_store32(&bytes[8], RPMI_FRAME_TAG << 24 | (RPMI_RECORD_MAX + 1));
    REQUIRE(rpmi_frame_get(bytes.data(), 64, UINT64_MAX, &frame) == RPMI_FRAME_BLANK);
    rpmi_store32(&bytes[8], RPMI_FRAME_TAG << 24 | RPMI_RECORD_MAX);
    REQUIRE(rpmi_frame_get(bytes.data(), 64, UINT64_MAX, &frame) == RPMI_FRAME_VALID);
}

TEST_CASE("frame: the lag never exceeds what was acknowledged, and is at worst a quarter of it",
          "[unit]")
{
    const uint64_t lsn = 1ull << 40;

    for (uint64_t behind = 0; behind <= 64ull << 26;
         behind = behind < 4096 ? behind + 64 : behind * 3 / 2 / 64 * 64) {
        rpmi_frame in = record(lsn, 40, 1);
        rpmi_frame out;

        in.lag = rpmi_frame_lag(behind);
        auto bytes = made(in);
        REQUIRE(rpmi_frame_get(bytes.data(), lsn, 64, &out) == RPMI_FRAME_VALID);
        CAPTURE(behind, in.lag);
        REQUIRE(in.lag != 0);
        REQUIRE(out.lag == in.lag);
        REQUIRE(rpmi_frame_acked(&out) <= lsn - behind);
        REQUIRE(lsn - rpmi_frame_acked(&out) <= 4 * behind);
    }
    REQUIRE(rpmi_frame_lag((64ull << 26) + 64) == 0);
    rpmi_frame early = record(64, 40, 1); // no record is before the begin of the log
    early.lag = 5;
    REQUIRE(rpmi_frame_acked(&early) == 0);
    early.lag = 0;
    REQUIRE(rpmi_frame_acked(&early) == 0);
    early.lag = 1;
    REQUIRE(rpmi_frame_acked(&early) == 64);
}

TEST_CASE("frame: a pad frame covers its stride, and its filling is ignored", "[unit]")
{
    rpmi_frame pad = record(64, 192 - RPMI_FRAME_HEADER_BYTES, 9, RPMI_FRAME_PAD);
    auto bytes = made(pad);

    REQUIRE(bytes.size() == 192);
    REQUIRE(judge(bytes, 64) == RPMI_FRAME_VALID);
    memset(&bytes[RPMI_FRAME_HEADER_BYTES], 0xab, 168);
    REQUIRE(judge(bytes, 64) == RPMI_FRAME_VALID);
    bytes[12] ^= 1; // epoch
    REQUIRE(judge(bytes, 64) == RPMI_FRAME_BROKEN);

    rpmi_frame frame;
    for (uint32_t len : { 0u, 1u, 39u, 41u, 64u }) {
        rpmi_store32(&bytes[8], (RPMI_FRAME_TAG | RPMI_FRAME_PAD) << 24 | len);
        REQUIRE(rpmi_frame_get(bytes.data(), 64, 1 << 20, &frame) == RPMI_FRAME_BLANK);
    }
}

TEST_CASE("frame: the widest gap a record can leave fits one pad frame", "[unit]")
{
    uint64_t gap = rpmi_frame_stride(RPMI_RECORD_MAX, RPMI_FRAME_XPLINE) - RPMI_LINE_BYTES;
    uint32_t len = static_cast<uint32_t>(gap - RPMI_FRAME_HEADER_BYTES);

    REQUIRE(rpmi_frame_len_ok(len, RPMI_FRAME_PAD));
    REQUIRE(rpmi_frame_stride(len, RPMI_FRAME_PAD) == gap);
}

TEST_CASE("frame: invalid arguments of the encoder are an assertion", "[unit]")
{
    unsigned char bytes[64];
    auto put = [&](rpmi_frame frame) {
        return death_of([&] { rpmi_frame_put(bytes, &frame, LOG_ID, bytes); });
    };

    REQUIRE(put(record(63, 8, 1)) != "");
    REQUIRE(put(record(64, 0, 1)) != "");
    REQUIRE(put(record(64, RPMI_RECORD_MAX + 1, 1)) != "");
    REQUIRE(put(record(64, 8, 1, 4)) != "");
    REQUIRE(put(record(64, 8, 1, RPMI_FRAME_PAD)) != "");
    REQUIRE(put(record(64, 40, 1, RPMI_FRAME_PAD | RPMI_FRAME_XPLINE)) != "");
    REQUIRE(death_of([&] {
                rpmi_frame frame;

                rpmi_frame_get(bytes, 1, 64, &frame);
            }) != "");
}
