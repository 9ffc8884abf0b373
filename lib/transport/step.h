/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h: one step of a list (wire/steps.h) as an operation of its own. The server CPU and the CPU
 * of a direct client carry a step out by the code that carries out that operation.
 *
 * Tests: tests/unit/serve/steps_test.cpp, tests/conform/steps_test.cpp
 */
#ifndef RPMI_TRANSPORT_STEP_H
#define RPMI_TRANSPORT_STEP_H

#include "base/assert.h"
#include "transport/op.h"
#include "wire/steps.h"

_Static_assert((int)RPMI_STEP_DURABLE == (int)RPMI_OP_DURABLE, "same numbers");
_Static_assert((int)RPMI_STEP_CACHED == (int)RPMI_OP_CACHED, "same numbers");

/* The operation, without @into; of a SUM the READ of its range, of a COMPARE that of its first one.
 * @step is one that rpmi_steps_next() accepted, but no PROVE or WATCH. */
static inline struct rpmi_op rpmi_step_op(const struct rpmi_step *step)
{
    static const uint8_t kinds[] = {
        [RPMI_STEP_READ] = RPMI_OP_READ, [RPMI_STEP_WRITE] = RPMI_OP_COPY,
        [RPMI_STEP_CAS] = RPMI_OP_CAS,   [RPMI_STEP_FAA] = RPMI_OP_FAA,
        [RPMI_STEP_SUM] = RPMI_OP_READ,  [RPMI_STEP_COMPARE] = RPMI_OP_READ,
    };
    bool sum = step->kind == RPMI_STEP_SUM || step->kind == RPMI_STEP_COMPARE;

    RPM_ASSERT(sum || (step->kind >= RPMI_STEP_READ && step->kind <= RPMI_STEP_FAA));
    return (struct rpmi_op){
        .kind = kinds[step->kind],
        .flags = step->flags & (RPMI_OP_DURABLE | RPMI_OP_CACHED),
        .key = step->key,
        .offset = step->offset,
        .len = sum ? step->range : step->len,
        .body = step->data,
        .body_bytes = step->kind == RPMI_STEP_WRITE ? step->len : 0,
        .expect = step->expect,
        .operand = step->operand,
    };
}

#endif
