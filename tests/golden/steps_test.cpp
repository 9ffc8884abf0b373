// SPDX-License-Identifier: BSD-3-Clause
// steps_test.cpp: the bytes of FORMAT.md section 12: a list of steps, and the answer to it.
extern "C" {
#include "base/assert.h"
#include "base/differ.h"
#include "base/sum.h"
#include "wire/carry.h"
#include "wire/steps.h"
}
#include "golden/golden.h"

#include <cstring>

TEST_CASE("golden: a list of steps is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("steps");
    Bytes made;
    rpmi_steps steps;
    rpmi_step step;
    std::vector<rpmi_step> all;

    REQUIRE(rpmi_steps_check(expected.data(), expected.size(), 200) == 0);
    rpmi_steps_begin(&steps, expected.data(), static_cast<uint32_t>(expected.size()));
    while (rpmi_steps_next(&steps, &step) == 1) {
        size_t at = made.size();

        all.push_back(step);
        made.resize(at + rpmi_step_bytes(&step), 0xff);
        rpmi_step_put(&made[at], &step);
    }
    REQUIRE(made == expected);
    REQUIRE(all.size() == 6);
    CHECK(all[0].len == 100);
    CHECK(all[0].key == 3);
    CHECK(all[0].offset == 5000);
    CHECK(all[1].flags == RPMI_STEP_MUST);
    CHECK(all[1].expect == 7);
    CHECK(all[2].flags == (RPMI_STEP_DURABLE | RPMI_STEP_CACHED));
    CHECK(all[2].offset == 1ull << 44);
    CHECK(memcmp(all[2].data, "bytes", 5) == 0);
    CHECK(all[3].expect == 1ull << 63);
    CHECK(all[3].operand == 2);
    CHECK(all[4].kind == RPMI_STEP_FAA);
    CHECK(all[4].operand == 9);
    CHECK(all[5].kind == RPMI_STEP_PROVE);
    CHECK(all[5].offset == 1ull << 40);
    CHECK(all[5].log_id == 6ull << 32);
    CHECK(all[5].end_lsn == (1ull << 40) + 192);
    CHECK(all[5].epoch == 3);
}

// The answer if the words have these values.
TEST_CASE("golden: the answer to a list is its bytes", "[golden]")
{
    Bytes list = golden("steps");
    Bytes expected = golden("steps_answer");
    Bytes made(expected.size(), 0xff);
    uint32_t done = 99;
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper stepper = {};

    stepper.room = room;
    stepper.check = [](void *, const rpmi_step *) { return 0; };
    stepper.carry_out = [](void *, const rpmi_step *step, void *result) {
        uint64_t word = step->kind == RPMI_STEP_CAS ? 5 : 7;

        for (uint16_t i = 0; step->len == 100 && i < 100; i++)
            static_cast<unsigned char *>(result)[i] = static_cast<unsigned char>(i);
        if (step->kind != RPMI_STEP_WRITE && step->len == 8)
            memcpy(result, &word, sizeof(word));
        return 0;
    };
    REQUIRE(rpmi_steps_walk(&stepper, list.data(), list.size(), made.data(), made.size()) == 0);
    CHECK(made == expected);
    REQUIRE(rpmi_steps_answer_get(expected.data(), 6, &done) == 0);
    CHECK(done == 3);
}

TEST_CASE("golden: a list that begins with a WATCH, and its answer, are the golden bytes",
          "[golden]")
{
    Bytes list = golden("watch");
    Bytes expected = golden("watch_answer");
    Bytes made(list.size(), 0xff);
    Bytes answer(expected.size(), 0xff);
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper stepper = {};

    stepper.room = room;
    stepper.check = [](void *, const rpmi_step *) { return 0; };
    stepper.carry_out = [](void *, const rpmi_step *step, void *result) {
        const unsigned char bytes[] = { 0, 1, 2 };
        uint64_t word = 7;

        if (step->kind == RPMI_STEP_WATCH)
            memcpy(result, &word, sizeof(word));
        else
            memcpy(result, bytes, sizeof(bytes));
        return 0;
    };
    REQUIRE(rpmi_steps_walk(&stepper, list.data(), list.size(), answer.data(), answer.size()) == 0);
    CHECK(answer == expected);
    CHECK(room[0].kind == RPMI_STEP_WATCH);
    CHECK(room[0].key == 3);
    CHECK(room[0].offset == 1ull << 44);
    CHECK(room[0].expect == 1ull << 63);
    CHECK(room[0].operand == RPMI_WATCH_US_MAX);
    CHECK(room[1].kind == RPMI_STEP_READ);
    uint32_t at = rpmi_step_put(made.data(), &room[0]);
    at += rpmi_step_put(&made[at], &room[1]);
    CHECK(at == list.size());
    CHECK(made == list);
}

TEST_CASE("golden: a list of a SUM, and its answer, are the golden bytes", "[golden]")
{
    Bytes list = golden("sum");
    Bytes expected = golden("sum_answer");
    Bytes made(list.size(), 0xff);
    Bytes answer(expected.size(), 0xff);
    Bytes bytes(6000);
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper stepper = {};

    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<unsigned char>(i % 200);
    stepper.context = bytes.data();
    stepper.room = room;
    stepper.check = [](void *, const rpmi_step *) { return 0; };
    stepper.carry_out = [](void *context, const rpmi_step *step, void *result) {
        uint64_t sum = rpmi_sum_seeded(context, step->range, step->operand);

        memcpy(result, &sum, sizeof(sum));
        return 0;
    };
    REQUIRE(rpmi_steps_walk(&stepper, list.data(), list.size(), answer.data(), answer.size()) == 0);
    CHECK(answer == expected);
    CHECK(room[0].kind == RPMI_STEP_SUM);
    CHECK(room[0].key == 3);
    CHECK(room[0].offset == (1ull << 44) + 1);
    CHECK(room[0].range == bytes.size());
    CHECK(room[0].operand == (5ull << 32) + 7);
    CHECK(rpmi_step_put(made.data(), &room[0]) == list.size());
    CHECK(made == list);
}

TEST_CASE("golden: a list of a COMPARE, and its answer, are the golden bytes", "[golden]")
{
    Bytes list = golden("compare");
    Bytes expected = golden("compare_answer");
    Bytes made(list.size(), 0xff);
    Bytes answer(expected.size(), 0xff);
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper stepper = {};

    stepper.room = room;
    stepper.check = [](void *, const rpmi_step *) { return 0; };
    stepper.carry_out = [](void *, const rpmi_step *step, void *result) {
        Bytes one(step->range, 7);
        Bytes other = one;
        other[4321] = 8;
        other[5000] = 8;
        uint64_t at = rpmi_differ_at(one.data(), other.data(), step->range);

        memcpy(result, &at, sizeof(at));
        return 0;
    };
    REQUIRE(rpmi_steps_walk(&stepper, list.data(), list.size(), answer.data(), answer.size()) == 0);
    CHECK(answer == expected);
    CHECK(room[0].kind == RPMI_STEP_COMPARE);
    CHECK(room[0].key == 3);
    CHECK(room[0].offset == (1ull << 44) + 1);
    CHECK(room[0].range == 6000);
    CHECK(room[0].other_offset == (1ull << 45) + 2);
    CHECK(room[0].other_key == 4);
    CHECK(rpmi_step_put(made.data(), &room[0]) == list.size());
    CHECK(made == list);
}

// The key of the golden reply to a CLAIM.
static const uint64_t KEY[RPMI_CERTIFICATE_KEY_WORDS] = { 8ull << 32, 9ull << 32 };

TEST_CASE("golden: a certificate is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("certificate");
    Bytes made(expected.size(), 0xff);
    rpmi_certificate certificate;

    REQUIRE(rpmi_certificate_get(expected.data(), KEY, &certificate) == 0);
    CHECK(certificate.level == RPM_DURABLE);
    CHECK(certificate.log_id == 6ull << 32);
    CHECK(certificate.first_lsn == 1ull << 40);
    CHECK(certificate.end_lsn == (1ull << 40) + 128);
    CHECK(certificate.epoch == 3);
    CHECK(certificate.server_epoch == 7);
    REQUIRE(rpmi_certificate_put(made.data(), &certificate, KEY) == 0);
    CHECK(made == expected);
}

TEST_CASE("golden: a CARRY is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("carry");
    Bytes made(expected.size(), 0xff);
    rpmi_steps steps;
    rpmi_step step;
    uint32_t bytes = 0;

    REQUIRE(rpmi_steps_check(expected.data(), expected.size(), RPMI_STEPS_ANSWER_HEAD) == 0);
    rpmi_steps_begin(&steps, expected.data(), static_cast<uint32_t>(expected.size()));
    REQUIRE(rpmi_steps_next(&steps, &step) == 1);
    CHECK(step.kind == RPMI_STEP_CARRY);
    CHECK(step.len == 5);
    CHECK(step.offset == 1ull << 40);
    CHECK(step.log_id == 6ull << 32);
    CHECK(step.epoch == 3);
    CHECK(memcmp(step.data, "bytes", 5) == 0);
    CHECK(rpmi_carry_check(&step, KEY) == 0);
    step.proof = nullptr;
    REQUIRE(rpmi_carry_put(made.data(), &step, KEY, &bytes) == 0);
    CHECK(bytes == expected.size());
    CHECK(made == expected);
}

TEST_CASE("golden: a refusal to certify has the reason, and no proof", "[golden]")
{
    Bytes expected = golden("certificate_refused");
    Bytes made(expected.size(), 0xff);
    rpmi_certificate certificate;

    CHECK(rpmi_certificate_get(expected.data(), KEY, &certificate) == RPM_E_FENCED);
    rpmi_certificate_refuse(made.data(), RPM_E_FENCED);
    CHECK(made == expected);
}
