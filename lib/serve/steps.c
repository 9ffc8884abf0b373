/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.c: a list of steps, carried out by this CPU as one request.
 *
 * Invariants
 *   every step is judged by the service, under its lock, before the first one is carried out
 *   the list is copied to private memory before it is judged, and only the copy is used
 *   when others see what an atomic step, or a write to DRAM, changed, they see what was written
 *   before it
 *
 * Tests: tests/unit/serve/steps_test.cpp, tests/conform/steps_test.cpp
 */
#include "serve/work.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "serve/serve.h"
#include "wire/steps.h"

#include <string.h>

struct walk {
    struct rpm_server *server;
    uint32_t client;
    bool durable; /* the request may promise that */
    bool stored;  /* past the caches, or flushed, since the last fence */
    struct rpmi_batch *batch;
};

static const struct {
    uint8_t op;
    uint8_t right;
} kinds[] = {
    [RPMI_STEP_READ] = { RPMI_OP_READ, RPMI_RIGHT_READ },
    [RPMI_STEP_WRITE] = { RPMI_OP_COPY, RPMI_RIGHT_WRITE },
    [RPMI_STEP_CAS] = { RPMI_OP_CAS, RPMI_RIGHT_ATOMIC },
    [RPMI_STEP_FAA] = { RPMI_OP_FAA, RPMI_RIGHT_ATOMIC },
};

static int judge(const struct walk *walk, const struct rpmi_step *step, struct rpmi_span *span)
{
    int err = rpmi_service_access(walk->server->service, walk->client, step->key, step->offset,
                                  step->len, kinds[step->kind].right, span);

    if (err == 0 && kinds[step->kind].right == RPMI_RIGHT_ATOMIC && span->area != RPMI_AREA_DRAM)
        return RPM_E_DENIED;
    return err;
}

static int may(void *context, const struct rpmi_step *step)
{
    struct rpmi_span span;

    return judge(context, step, &span);
}

static int act(void *context, const struct rpmi_step *step, void *result)
{
    struct walk *walk = context;
    struct rpmi_part whole = { .len = step->len };
    struct rpmi_op op = {
        .kind = kinds[step->kind].op,
        .flags = walk->durable ? step->flags & (RPMI_OP_DURABLE | RPMI_OP_CACHED) : 0,
        .key = step->key,
        .offset = step->offset,
        .len = step->len,
        .body = step->data,
        .body_bytes = step->kind == RPMI_STEP_WRITE ? step->len : 0,
        .into = result,
        .expect = step->expect,
        .operand = step->operand,
    };
    struct rpmi_span span;
    bool publishes = step->kind == RPMI_STEP_CAS || step->kind == RPMI_STEP_FAA;

    if (step->kind == RPMI_STEP_WRITE)
        publishes = judge(walk, step, &span) == 0 && span.area == RPMI_AREA_DRAM;
    if (publishes && walk->stored)
        rpmi_batch_fence(walk->server, walk->batch);
    walk->stored = !publishes && (walk->stored || step->kind == RPMI_STEP_WRITE);
    /* What a step sees is not older than what the one before it saw. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return rpmi_work_do(walk->server, walk->client, &op, &whole, walk->batch);
}

_Static_assert((int)RPMI_STEP_DURABLE == (int)RPMI_OP_DURABLE, "same numbers");
_Static_assert((int)RPMI_STEP_CACHED == (int)RPMI_OP_CACHED, "same numbers");

int rpmi_work_steps(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                    struct rpmi_batch *batch)
{
    struct walk walk = {
        .server = server,
        .client = client,
        .durable = (op->flags & RPMI_OP_DURABLE) != 0,
        .batch = batch,
    };
    struct rpmi_stepper stepper = { .context = &walk, .may = may, .act = act };

    if (op->body_bytes > sizeof(server->list))
        return RPM_E_PROTO;
    memcpy(server->list, op->body, op->body_bytes);
    return rpmi_steps_walk(&stepper, server->list, op->body_bytes, op->into, op->len);
}
