// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

extern "C" {
#include "region/region.h"
#include "wire/steps.h"
}

namespace
{

// An answer that says how many steps of a list were carried out, with the words of its results.
struct Answer {
    unsigned char bytes[RPMI_STEPS_ANSWER_HEAD + 3 * sizeof(uint64_t)] = {};

    Answer(uint32_t done, std::vector<uint64_t> words)
    {
        rpmi_store32(bytes, done);
        for (size_t i = 0; i < words.size(); i++)
            rpmi_store64(bytes + RPMI_STEPS_ANSWER_HEAD + i * sizeof(uint64_t), words[i]);
    }
};

rpm_step make(uint32_t kind, void *into, uint64_t len, uint32_t flags = 0)
{
    rpm_step step = {};

    step.kind = kind;
    step.into = into;
    step.len = len;
    step.flags = flags;
    return step;
}

} // namespace

TEST_CASE("results: each step's result is copied, up to the step that ended the list", "[unit]")
{
    uint64_t found[3] = { 99, 99, 99 };
    uint32_t done = 0;
    const rpm_step steps[4] = {
        make(RPM_STEP_READ, &found[0], 3),
        make(RPM_STEP_WRITE, nullptr, 8),
        make(RPM_STEP_CAS, &found[1], 0, RPM_STEP_MUST),
        make(RPM_STEP_FAA, &found[2], 0),
    };

    CHECK(rpmi_steps_copy(steps, 4, Answer(2, { 1, 2 }).bytes, &done) == 0);
    CHECK(done == 2);
    CHECK(memcmp(&found[0], "\1\0\0", 3) == 0);
    CHECK(found[1] == 2);
    CHECK(found[2] == 99);
    CHECK(rpmi_steps_copy(steps, 4, Answer(4, { 1, 2, 3 }).bytes, &done) == 0);
    CHECK(done == 4);
    CHECK(found[2] == 3);
}

TEST_CASE("results: an answer that ends a list at no MUST step, or behind it, copies nothing",
          "[unit]")
{
    uint64_t found = 99;
    uint32_t done = 77;
    const rpm_step steps[2] = { make(RPM_STEP_FAA, &found, 0), make(RPM_STEP_FAA, &found, 0) };

    for (uint32_t claimed : { 0u, 1u, 3u, UINT32_MAX })
        CHECK(rpmi_steps_copy(steps, 2, Answer(claimed, { 1, 2 }).bytes, &done) == RPM_E_PROTO);
    CHECK(found == 99);
    CHECK(done == 77);
}
