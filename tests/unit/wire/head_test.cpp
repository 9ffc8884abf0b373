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
    head.life = { 11, 12 };
    head.set = { 3, 2, 1, 13 };
    return head;
}

// The slots as they lie in a log's header.
struct Slots {
    unsigned char bytes[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE] = {};

    unsigned char *slot(unsigned i)
    {
        return bytes + i * RPMI_HEAD_SLOT_STRIDE;
    }
    // Changes one field of an encoded head, and makes its checksum valid again.
    void forge(unsigned i, unsigned at, uint64_t value)
    {
        rpmi_store64(slot(i) + at, value);
        rpmi_store64(slot(i) + 120, rpmi_sum(slot(i), 120));
    }
};

TEST_CASE("head: an encoded head is decoded unchanged", "[unit]")
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
    REQUIRE(out.life.run == 11);
    REQUIRE(out.life.boot == 12);
    REQUIRE(rpmi_membership_is_same(&out.set, &in.set));
    REQUIRE(out.set.members == 13);
}

TEST_CASE("head: a single log has no set, and a member is one of a set that there can be", "[unit]")
{
    struct {
        rpmi_membership set;
        bool sound;
    } const CASES[] = { { { 0, 0, 0, 0 }, true },    { { 1, 1, 0, 0 }, true },
                        { { 16, 16, 15, 1 }, true }, { { 3, 2, 2, 1 }, true },
                        { { 0, 1, 0, 0 }, false },   { { 0, 0, 1, 0 }, false },
                        { { 0, 0, 0, 1 }, false },   { { 3, 0, 0, 1 }, false },
                        { { 3, 4, 0, 1 }, false },   { { 3, 2, 3, 1 }, false },
                        { { 17, 2, 0, 1 }, false } };

    for (const auto &test : CASES) {
        CAPTURE(test.set.copies, test.set.acks, test.set.member);
        CHECK(rpmi_membership_is_sound(&test.set) == test.sound);
    }
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
        { 32, 1 }, { 40, 63 }, { 48, 2ull << 32 | 5 }, { 72, 1ull << 24 | 0x010203 },
        { 88, 1 },
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

// The head of this turn in both its slots.
static void put_pair(Slots &slots, const rpmi_head &head)
{
    for (uint32_t copy = 0; copy < RPMI_HEAD_COPIES; copy++)
        rpmi_head_put(slots.slot(rpmi_head_slot(head.turn, copy)), &head);
}

static void damage(Slots &slots, unsigned slot)
{
    slots.slot(slot)[40] ^= 1;
}

TEST_CASE("head: copies of a head, and heads that follow each other, have slots of their own",
          "[unit]")
{
    std::vector<uint32_t> seen;

    for (uint64_t turn : { 6, 7 })
        for (uint32_t copy = 0; copy < RPMI_HEAD_COPIES; copy++)
            seen.push_back(rpmi_head_slot(turn, copy));
    REQUIRE(seen == std::vector<uint32_t>{ 0, 2, 1, 3 });
    REQUIRE(rpmi_head_slot(8, 1) == rpmi_head_slot(6, 1));
}

TEST_CASE("head: the highest turn is decoded, and none of its slots is missing", "[unit]")
{
    uint64_t turn = GENERATE(5u, 6u);
    Slots slots;
    rpmi_head out = {};
    uint32_t lacking = 9;

    put_pair(slots, sample(turn));
    put_pair(slots, sample(turn - 1));
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &lacking) == 0);
    REQUIRE(out.turn == turn);
    REQUIRE(lacking == 0);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, nullptr) == 0);
}

TEST_CASE("head: a write that power tears leaves the head before it, or is whole", "[unit]")
{
    uint64_t turn = GENERATE(5u, 6u);
    Slots before;
    Slots after;
    rpmi_head out = {};
    uint32_t lacking = 9;

    put_pair(before, sample(turn - 2));
    put_pair(before, sample(turn - 1));
    after = before;
    put_pair(after, sample(turn));
    // Of the words that differ, any subset may have arrived, in both copies.
    std::vector<size_t> words;
    for (size_t at = 0; at < sizeof(after.bytes); at += 8)
        if (memcmp(before.bytes + at, after.bytes + at, 8) != 0)
            words.push_back(at);
    REQUIRE(words.size() == 4); // turn and checksum, twice
    for (unsigned subset = 0; subset < 1u << words.size(); subset++) {
        Slots cut = before;
        unsigned whole = 0;

        for (size_t i = 0; i < words.size(); i++)
            if ((subset & (1u << i)) != 0)
                memcpy(cut.bytes + words[i], after.bytes + words[i], 8);
        for (uint32_t copy = 0; copy < RPMI_HEAD_COPIES; copy++)
            whole += memcmp(cut.slot(rpmi_head_slot(turn, copy)),
                            after.slot(rpmi_head_slot(turn, copy)), RPMI_HEAD_BYTES) == 0;
        CAPTURE(turn, subset);
        REQUIRE(rpmi_head_pick(cut.bytes, &out, &lacking) == 0);
        REQUIRE(out.turn == (whole > 0 ? turn : turn - 1));
        REQUIRE((lacking != 0) == (whole == 1));
    }
}

TEST_CASE("head: one damaged slot is reported, and the head is unchanged", "[unit]")
{
    uint64_t turn = GENERATE(5u, 6u);

    for (unsigned slot = 0; slot < RPMI_HEAD_SLOTS; slot++) {
        Slots slots;
        rpmi_head out = {};
        uint32_t lacking = 9;

        put_pair(slots, sample(turn));
        put_pair(slots, sample(turn - 1));
        damage(slots, slot);
        CAPTURE(turn, slot);
        REQUIRE(rpmi_head_pick(slots.bytes, &out, &lacking) == 0);
        REQUIRE(out.turn == turn);
        REQUIRE(lacking == (slot % 2 == turn % 2 ? 1u << slot : 0));
    }
}

TEST_CASE("head: a slot left when power tears a head beside a damaged one is not believed",
          "[unit]")
{
    rpmi_head out = sample(99);
    uint32_t lacking = 9;

    // Slots 1 and 3 are of turn 5, which may have been the newest; 0 and 2 of turn 6, or 4.
    for (unsigned left : { 0u, 2u })
        for (uint64_t turn : { 4, 6 }) {
            Slots slots;

            put_pair(slots, sample(turn));
            put_pair(slots, sample(5));
            damage(slots, 2 - left);
            damage(slots, 1);
            damage(slots, 3);
            CAPTURE(left, turn);
            REQUIRE(rpmi_head_pick(slots.bytes, &out, &lacking) == RPM_E_CORRUPT);
            REQUIRE(std::string(rpm_last_error()).find("a newer head") != std::string::npos);
        }
    REQUIRE(out.turn == 99);
    REQUIRE(lacking == 9);
}

TEST_CASE("head: no valid slot, slots of two logs, two heads of one turn, are corrupt", "[unit]")
{
    Slots none;
    rpmi_head out = sample(99);
    uint32_t lacking = 9;

    REQUIRE(rpmi_head_pick(none.bytes, &out, &lacking) == RPM_E_CORRUPT);
    for (int field = 0; field < 9; field++) {
        Slots slots;
        rpmi_head other = sample(field < 2 || field > 6 ? 1 : 2);

        put_pair(slots, sample(1));
        put_pair(slots, sample(2));
        other.log_id += field == 0;
        other.capacity_bytes += field == 1 ? 4096 : 0;
        other.trim_lsn += field == 2 ? 64 : 0;
        other.base_lsn += field == 3 ? 64 : 0;
        other.epoch += field == 4;
        other.life.run += field == 5;
        other.life.boot += field == 6;
        other.set.member += field == 7;
        other.set.members += field == 8;
        rpmi_head_put(slots.slot(rpmi_head_slot(other.turn, 1)), &other);
        CAPTURE(field);
        REQUIRE(rpmi_head_pick(slots.bytes, &out, &lacking) == RPM_E_CORRUPT);
        REQUIRE(std::string(rpm_last_error()).find("contradict") != std::string::npos);
    }
    REQUIRE(out.turn == 99);
    REQUIRE(lacking == 9);
}

TEST_CASE("head: a head in a slot of the other parity is ignored", "[unit]")
{
    Slots slots;
    rpmi_head out = {};
    uint32_t lacking = 9;
    rpmi_head stray = sample(9);

    put_pair(slots, sample(5));
    put_pair(slots, sample(6));
    rpmi_head_put(slots.slot(2), &stray);
    REQUIRE(rpmi_head_pick(slots.bytes, &out, &lacking) == 0);
    REQUIRE(out.turn == 6);
    REQUIRE(lacking == 4);
}

TEST_CASE("head: numbers that could overflow are out of bounds", "[unit]")
{
    size_t field = GENERATE(8u, 32u, 40u); // turn, trim_lsn, base_lsn
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head head = sample(1);

    rpmi_head_put(slot, &head);
    for (uint64_t value :
         { uint64_t{ RPMI_HEAD_LIMIT } - 64, uint64_t{ RPMI_HEAD_LIMIT }, UINT64_MAX - 63 }) {
        rpmi_store64(slot + field, value);
        rpmi_store64(slot + 120, rpmi_sum(slot, 120));
        CAPTURE(field, value);
        REQUIRE(rpmi_head_get(slot, &head) == (value < RPMI_HEAD_LIMIT ? 0 : RPM_E_TORN));
    }
    head.turn = RPMI_HEAD_LIMIT;
    REQUIRE_FALSE(rpmi_head_in_limits(&head));
}

TEST_CASE("head: invalid arguments of the encoder are an assertion", "[unit]")
{
    unsigned char slot[RPMI_HEAD_BYTES];
    rpmi_head head = sample(1);

    head.trim_lsn = 1;
    REQUIRE(death_of([&] { rpmi_head_put(slot, &head); }) != "");
}
