// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/head.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <cstring>

static rpmi_head sample(uint64_t turn)
{
    rpmi_head head = {};

    head.turn = turn;
    head.log_id = 77;
    head.capacity_bytes = 8192;
    head.trim_lsn = 640;
    head.base_lsn = 1280;
    head.epoch = 5;
    return head;
}

// Both slots as they lie in a log's header.
struct Slots {
    unsigned char bytes[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE] = {};

    unsigned char *slot(unsigned i)
    {
        return bytes + i * RPMI_HEAD_SLOT_STRIDE;
    }
    // Store one field behind the encoder's back, and make the checksum hold again.
    void forge(unsigned i, unsigned at, uint64_t value)
    {
        rpmi_store64(slot(i) + at, value);
        rpmi_store64(slot(i) + 56, rpmi_sum(slot(i), 56));
    }
};

TEST_CASE("head: what is put comes back", "[unit]")
{
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head in = sample(9);
    rpmi_head out = {};

    memset(slot, 0xff, sizeof(slot));
    rpmi_head_put(slot, &in);
    REQUIRE(rpmi_head_get(slot, &out) == 0);
    REQUIRE(out.turn == 9);
    REQUIRE(out.log_id == 77);
    REQUIRE(out.capacity_bytes == 8192);
    REQUIRE(out.trim_lsn == 640);
    REQUIRE(out.base_lsn == 1280);
    REQUIRE(out.epoch == 5);
}

TEST_CASE("head: a slot with any bit flipped is torn, and the output stays", "[unit]")
{
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head in = sample(9);
    rpmi_head out = {};

    rpmi_head_put(slot, &in);
    for (unsigned bit = 0; bit < 8 * RPMI_HEAD_BYTES; bit++) {
        slot[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CAPTURE(bit);
        REQUIRE(rpmi_head_get(slot, &out) == RPM_E_TORN);
        slot[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    memset(slot, 0, sizeof(slot));
    REQUIRE(rpmi_head_get(slot, &out) == RPM_E_TORN);
    REQUIRE(out.turn == 0);
}

TEST_CASE("head: a checksum does not excuse fields out of bounds", "[unit]")
{
    static const struct {
        unsigned at;
        uint64_t value;
    } CASES[] = {
        { 0, 1 },  { 24, 0 },  { 24, 4032 },           { 24, 8192 + 64 },
        { 32, 1 }, { 40, 63 }, { 48, 1ull << 32 | 5 },
    };

    for (const auto &test : CASES) {
        Slots slots;
        rpmi_head head = sample(1);

        rpmi_head_put(slots.slot(0), &head);
        slots.forge(0, test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_head_get(slots.slot(0), &head) == RPM_E_TORN);
    }
}

TEST_CASE("head: the slot with the higher turn counts, the other is next", "[unit]")
{
    unsigned newer = GENERATE(0u, 1u);
    Slots slots;
    rpmi_head older_head = sample(4);
    rpmi_head newer_head = sample(5);
    rpmi_head out = {};
    uint32_t next = 9;

    rpmi_head_put(slots.slot(newer), &newer_head);
    rpmi_head_put(slots.slot(1 - newer), &older_head);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &next) == 0);
    REQUIRE(out.turn == 5);
    REQUIRE(next == 1 - newer);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, nullptr) == 0);
}

TEST_CASE("head: a torn slot leaves the other one, and is written next", "[unit]")
{
    unsigned torn = GENERATE(0u, 1u);
    Slots slots;
    rpmi_head good = sample(4);
    rpmi_head half = sample(5);
    rpmi_head out = {};
    uint32_t next = 9;

    rpmi_head_put(slots.slot(1 - torn), &good);
    rpmi_head_put(slots.slot(torn), &half);
    for (unsigned subset = 0; subset < 255; subset++) { // words of the new head that arrived
        Slots cut = slots;
        rpmi_head before = sample(3);

        rpmi_head_put(cut.slot(torn), &before);
        for (unsigned word = 0; word < 8; word++)
            if ((subset & (1u << word)) != 0)
                memcpy(cut.slot(torn) + 8 * word, slots.slot(torn) + 8 * word, 8);
        CAPTURE(torn, subset);
        REQUIRE(rpmi_head_pick(cut.bytes, &out, &next) == 0);
        // Words that do not differ may be missing: then the new head is whole.
        REQUIRE(out.turn == (memcmp(cut.slot(torn), slots.slot(torn), 64) == 0 ? 5 : 4));
        REQUIRE(next == (out.turn == 5 ? 1 - torn : torn));
    }
}

TEST_CASE("head: no valid slot, or slots of two logs, is corrupt", "[unit]")
{
    Slots slots;
    rpmi_head out = sample(99);
    rpmi_head one = sample(1);
    rpmi_head two = sample(2);
    uint32_t next = 9;

    REQUIRE(rpmi_head_pick(slots.bytes, &out, &next) == RPM_E_CORRUPT);
    rpmi_head_put(slots.slot(0), &one);
    two.log_id++;
    rpmi_head_put(slots.slot(1), &two);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &next) == RPM_E_CORRUPT);
    two = sample(2);
    two.capacity_bytes += 4096;
    rpmi_head_put(slots.slot(1), &two);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &next) == RPM_E_CORRUPT);
    REQUIRE(out.turn == 99);
    REQUIRE(next == 9);
}

TEST_CASE("head: one slot written and one never is a young log", "[unit]")
{
    Slots slots;
    rpmi_head first = sample(1);
    rpmi_head out = {};
    uint32_t next = 9;

    rpmi_head_put(slots.slot(0), &first);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &next) == 0);
    REQUIRE(out.turn == 1);
    REQUIRE(next == 1);
}

TEST_CASE("head: numbers that could come round to 0 are out of bounds", "[unit]")
{
    size_t field = GENERATE(8u, 32u, 40u); // turn, trim_lsn, base_lsn
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head head = sample(1);

    rpmi_head_put(slot, &head);
    for (uint64_t value :
         { uint64_t{ RPMI_HEAD_LIMIT } - 64, uint64_t{ RPMI_HEAD_LIMIT }, UINT64_MAX - 63 }) {
        rpmi_store64(slot + field, value);
        rpmi_store64(slot + 56, rpmi_sum(slot, 56));
        CAPTURE(field, value);
        REQUIRE(rpmi_head_get(slot, &head) == (value < RPMI_HEAD_LIMIT ? 0 : RPM_E_TORN));
    }
    head.turn = RPMI_HEAD_LIMIT;
    REQUIRE_FALSE(rpmi_head_in_limits(&head));
}

TEST_CASE("head: our own nonsense is an assertion", "[unit]")
{
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head head = sample(1);

    head.trim_lsn = 1;
    REQUIRE(death_of([&] { rpmi_head_put(slot, &head); }) != "");
}
