// SPDX-License-Identifier: BSD-3-Clause
// steps_test.cpp: the bytes of FORMAT.md section 12: a list of steps, and the answer to it.
extern "C" {
#include "base/assert.h"
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

    REQUIRE(rpmi_steps_check(expected.data(), expected.size(), 136) == 0);
    rpmi_steps_begin(&steps, expected.data(), static_cast<uint32_t>(expected.size()));
    while (rpmi_steps_next(&steps, &step) == 1) {
        size_t at = made.size();

        all.push_back(step);
        made.resize(at + rpmi_step_bytes(&step), 0xff);
        rpmi_step_put(&made[at], &step);
    }
    REQUIRE(made == expected);
    REQUIRE(all.size() == 5);
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
    REQUIRE(rpmi_steps_answer_get(expected.data(), 5, &done) == 0);
    CHECK(done == 3);
}
