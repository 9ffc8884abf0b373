/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.c: the results of a list of steps: decode the server's answer, and copy the results to
 * the user's memory.
 *
 * Invariant: an answer is checked before anything is copied to the user's memory.
 *
 * Tests: tests/unit/region/results_test.cpp, tests/conform/steps_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/steps.h"

int rpmi_steps_copy(const struct rpm_step *steps, uint32_t n, const unsigned char *answer,
                    uint32_t *done)
{
    const unsigned char *from = answer + RPMI_STEPS_ANSWER_HEAD;
    uint32_t found;
    int err = rpmi_steps_answer_get(answer, n, &found);

    RPM_ASSERT(n > 0 && n <= RPM_STEPS_MAX);
    if (err != 0)
        return err;
    if (found < n && steps[found].kind != RPM_STEP_WATCH &&
        (steps[found].flags & RPM_STEP_MUST) == 0)
        return rpmi_fail(
            RPM_E_PROTO,
            "the server ended a list of %u steps after %u, at a step without RPM_STEP_MUST", n,
            found);
    for (uint32_t i = 0; i < n && i <= found; i++) {
        uint64_t bytes = rpmi_step_is_word(&steps[i]) ? sizeof(uint64_t) : steps[i].len;

        if (steps[i].kind == RPM_STEP_WRITE)
            continue;
        if (steps[i].into != NULL)
            memcpy(steps[i].into, from, bytes);
        from += rpmi_align_up(bytes, sizeof(uint64_t));
    }
    *done = found;
    return 0;
}

int rpmi_steps_copy_results(struct rpmi_task *task)
{
    uint32_t done = 0;
    int err;

    RPM_ASSERT(task->kind == RPMI_OP_STEPS && task->staged != NULL);
    err = rpmi_steps_copy(task->steps, task->steps_n, task->staged, &done);

    task->offset = done;
    return err;
}
