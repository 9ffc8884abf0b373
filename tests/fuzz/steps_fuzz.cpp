// SPDX-License-Identifier: BSD-3-Clause
// steps_fuzz.cpp: a list of steps from an untrusted client, carried out. Encoding an accepted list
// again gives the input; steps are carried out in order, none before all were checked, none after
// the one that ends the list, and their results stay within the answer.
//
// Input: bytes of the answer u16; which step is refused, which one fails, of which kind, and the
// value of words, one byte each; 4 bytes unused; the list.
extern "C" {
#include "wire/steps.h"
}
#include "fuzz.h"
#include <librpm/error.h>
#include <vector>

namespace
{

const size_t FRONT = 10;

struct Stepper {
    uint8_t denied; // the number of this step, from 1
    uint8_t broken;
    uint8_t word;
    uint32_t judged = 0;
    uint32_t done = 0;
    bool ended = false;
    uint64_t summed = 0; // bytes
};

int may(void *context, const rpmi_step *)
{
    Stepper *ours = static_cast<Stepper *>(context);

    FUZZ_CHECK(ours->done == 0);
    return ++ours->judged == ours->denied ? RPM_E_DENIED : 0;
}

int act(void *context, const rpmi_step *step, void *result)
{
    Stepper *ours = static_cast<Stepper *>(context);
    uint64_t word = ours->word;

    FUZZ_CHECK(!ours->ended && ++ours->done <= ours->judged);
    if (!rpmi_step_is_silent(step))
        memset(result, 0, step->len);
    if (!rpmi_step_is_silent(step) && step->len == sizeof(word))
        memcpy(result, &word, sizeof(word));
    FUZZ_CHECK(step->kind != RPMI_STEP_WATCH || ours->done == 1); // it is the first of its list
    ours->summed += rpmi_step_summed(step);
    FUZZ_CHECK(step->range <= RPMI_SUM_BYTES_MAX && ours->summed <= RPMI_SUM_BYTES_MAX);
    ours->ended = step->kind == RPMI_STEP_WATCH
                      ? step->expect == word
                      : (step->flags & RPMI_STEP_MUST) != 0 && step->expect != word;
    return ours->done == ours->broken ? RPM_E_IO : 0;
}

void check_encoding(const uint8_t *list, uint32_t bytes)
{
    std::vector<uint8_t> again;
    rpmi_steps steps;
    rpmi_step step;

    rpmi_steps_begin(&steps, list, bytes);
    while (rpmi_steps_next(&steps, &step) == 1) {
        size_t at = again.size();

        again.resize(at + rpmi_step_bytes(&step), 0xff);
        FUZZ_CHECK(rpmi_step_put(&again[at], &step) == again.size() - at);
    }
    FUZZ_CHECK(again.size() == bytes && memcmp(again.data(), list, bytes) == 0);
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto front = fuzz_copy(data, size, FRONT);
    size_t bytes = size > FRONT ? size - FRONT : 0;
    auto list = fuzz_copy(data + (size - bytes), bytes, bytes);
    uint64_t answer_bytes = static_cast<uint64_t>(front[0] | front[1] << 8);
    std::unique_ptr<uint8_t[]> answer(new uint8_t[answer_bytes]());
    Stepper ours = { front[2], front[3], front[5] };
    rpmi_step room[RPMI_STEPS_MAX];
    rpmi_stepper stepper = { &ours, room, may, act };
    int shape = rpmi_steps_check(list.get(), bytes, answer_bytes);
    int err = rpmi_steps_walk(&stepper, list.get(), bytes, answer.get(), answer_bytes);
    uint32_t done = 0;

    FUZZ_CHECK(shape == 0 || shape == RPM_E_PROTO);
    FUZZ_CHECK(shape == 0 || (err == RPM_E_PROTO && ours.judged == 0));
    if (shape != 0)
        return 0;
    check_encoding(list.get(), static_cast<uint32_t>(bytes));
    FUZZ_CHECK(err == 0 || err == RPM_E_DENIED || err == RPM_E_IO);
    FUZZ_CHECK((err == RPM_E_DENIED) == (ours.denied != 0 && ours.denied <= ours.judged));
    if (err == RPM_E_DENIED)
        FUZZ_CHECK(ours.done == 0);
    if (err != 0)
        return 0;
    FUZZ_CHECK(rpmi_steps_answer_get(answer.get(), ours.judged, &done) == 0);
    FUZZ_CHECK(done == ours.done - (ours.ended ? 1 : 0));
    FUZZ_CHECK(ours.ended || done == ours.judged);
    return 0;
}
