/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.c: a list of steps, carried out by the server CPU as one request.
 *
 * Invariants
 *   the service checks every step, under its lock, before the first one is carried out
 *   the list is copied to private memory before it is checked, and only the copy is used
 *   a client that sees what an atomic step, or a write to DRAM, changed also sees what the list
 *   wrote before it
 *
 * Tests: tests/unit/serve/steps_test.cpp, tests/conform/steps_test.cpp
 */
#include "serve/request.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/canary.h"
#include "serve/serve.h"
#include "transport/step.h"

#include <stddef.h>
#include <string.h>

struct serve_walk {
    struct rpm_server *server;
    uint32_t client;
    bool durable;     /* the request may promise durability */
    uint64_t watched; /* what the WATCH of the list found */
    bool stored;      /* a WRITE has stored to the pool since the last fence */
    struct rpmi_batch *batch;
    struct rpmi_span span[RPMI_STEPS_MAX]; /* the memory that each step was allowed to access */
};

static struct rpmi_span *span_of(struct serve_walk *walk, const struct rpmi_step *step)
{
    ptrdiff_t i = step - walk->server->steps;

    RPM_ASSERT(i >= 0 && i < (ptrdiff_t)RPMI_STEPS_MAX);
    return &walk->span[i];
}

/* May the client read the other range of a COMPARE? */
static int find_other(const struct serve_walk *walk, const struct rpmi_step *step,
                      struct rpmi_span *span)
{
    return rpmi_service_access(walk->server->service, walk->client, step->other_key,
                               step->other_offset, step->range, RPMI_RIGHT_READ, span);
}

static int check_access(void *context, const struct rpmi_step *step)
{
    struct serve_walk *walk = context;
    struct rpmi_span *span = span_of(walk, step);
    bool ranged = step->kind == RPMI_STEP_SUM || step->kind == RPMI_STEP_COMPARE;
    bool only_reads = step->kind == RPMI_STEP_WATCH || ranged;
    enum rpmi_right right;
    struct rpmi_span other;
    int err;

    if (step->kind == RPMI_STEP_PROVE)
        return 0; /* any client may ask: the answer proves something to the writer alone */
    if (step->kind == RPMI_STEP_CARRY)
        return 0; /* checked when it is carried out: one that may not be is left out */
    right = only_reads ? RPMI_RIGHT_READ : rpmi_op_right(rpmi_step_op(step).kind);
    err = rpmi_service_access(walk->server->service, walk->client, step->key, step->offset,
                              ranged ? step->range : step->len, right, span);
    if (err == 0 && step->kind == RPMI_STEP_COMPARE)
        err = find_other(walk, step, &other);
    if (err == 0 && right == RPMI_RIGHT_ATOMIC &&
        (span->area != RPMI_AREA_DRAM || !rpmi_is_aligned(span->offset, sizeof(uint64_t))))
        return RPM_E_DENIED;
    return err;
}

static struct rpmi_op op_of(const struct serve_walk *walk, const struct rpmi_step *step)
{
    struct rpmi_op op = rpmi_step_op(step);

    if (!walk->durable)
        op.flags = 0;
    return op;
}

/* Before a step whose effect other CPUs see at once: fence, so that a CPU that sees it also sees
 * the stores of the steps before. */
static void publish(struct serve_walk *walk)
{
    if (walk->stored)
        rpmi_batch_fence(walk->batch);
    walk->stored = false;
}

static int carry_out_write(struct serve_walk *walk, const struct rpmi_step *step)
{
    struct rpmi_op op = op_of(walk, step);
    struct rpmi_part whole = { .len = step->len };

    if (span_of(walk, step)->area == RPMI_AREA_DRAM)
        publish(walk);
    else
        walk->stored = true;
    return rpmi_request_access(walk->server, walk->client, &op, &whole, walk->batch);
}

/* Look at the records now, have them durable by the end of the batch, and certify them then. */
static void carry_out_prove(struct serve_walk *walk, const struct rpmi_step *step, void *result)
{
    struct rpmi_batch *batch = walk->batch;
    bool durable = walk->durable && walk->server->pool.facts.domain != RPM_DOMAIN_NONE;
    struct rpmi_pending_proof *pending = &walk->server->proofs[batch->proofs_n];

    if (batch->proofs_n == RPMI_PROOFS_MAX || batch->proofs_bytes >= RPMI_PROOFS_BYTES) {
        rpmi_certificate_refuse(result, RPM_E_BUSY);
        return;
    }
    memset(result, 0, RPMI_CERTIFICATE_BYTES);
    batch->proofs_n++;
    pending->at = result;
    rpmi_service_prove(walk->server->service, step, durable ? RPM_DURABLE : RPM_VISIBLE,
                       &pending->proof);
    batch->proofs_bytes +=
        pending->proof.certificate.end_lsn - pending->proof.certificate.first_lsn;
    if (RPMI_CANARY(CERTIFICATE_EARLY)) {
        rpmi_proof_write(&pending->proof, result);
        batch->proofs_n--;
        return;
    }
    for (uint32_t i = 0; durable && i < pending->proof.ranges; i++) {
        const struct rpmi_span span = { RPMI_AREA_POOL, pending->proof.range[i].offset };

        rpmi_batch_persist(walk->server, batch, &span, pending->proof.range[i].len);
    }
}

/* The checksum of a range, or where it differs from another one. No key has been revoked since the
 * check: the lock is held. */
static uint64_t carry_out_sum(struct serve_walk *walk, const struct rpmi_step *step)
{
    const struct rpmi_span *span = span_of(walk, step);
    struct rpmi_span other = { 0 };
    int err;

    walk->batch->summed += rpmi_step_summed(step);
    if (step->kind == RPMI_STEP_SUM)
        return rpmi_request_sum(walk->server, span, step->range, step->operand);
    err = find_other(walk, step, &other);
    RPM_ASSERT(err == 0);
    return rpmi_request_compare(walk->server, span, &other, step->range);
}

/* Store what an agent carries, if it may. A claim, a trim or an UNDELEGATE takes the same lock. */
static void carry_out_carry(struct serve_walk *walk, const struct rpmi_step *step)
{
    struct rpm_server *server = walk->server;
    struct rpmi_span span;

    RPM_ASSERT(rpmi_serve_has_lock(server));
    if (rpmi_service_carry(server->service, walk->client, step, &span) == 0)
        rpmi_request_carry(server, &span, step, walk->batch);
    else
        rpmi_count_own(&server->stats.rejected, 1);
}

static int carry_out_step(void *context, const struct rpmi_step *step, void *result)
{
    struct serve_walk *walk = context;
    struct rpmi_op op;
    uint64_t found;

    /* The client cannot change the step between its check and this. */
    RPM_ASSERT_SLOW(!rpmi_step_is_silent(step) ||
                    (uintptr_t)step->data - (uintptr_t)walk->server->list < RPMI_STEPS_BYTES);
    /* A step sees no older state than the step before it saw. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (step->kind == RPMI_STEP_WRITE)
        return carry_out_write(walk, step);
    if (step->kind == RPMI_STEP_PROVE) {
        carry_out_prove(walk, step, result);
        return 0;
    }
    if (step->kind == RPMI_STEP_CARRY) {
        carry_out_carry(walk, step);
        return 0;
    }
    if (step->kind == RPMI_STEP_WATCH) { /* found it before the first step was carried out */
        memcpy(result, &walk->watched, sizeof(walk->watched));
        return 0;
    }
    if (step->kind == RPMI_STEP_SUM || step->kind == RPMI_STEP_COMPARE) {
        found = carry_out_sum(walk, step);
        memcpy(result, &found, sizeof(found));
        return 0;
    }
    if (step->kind == RPMI_STEP_READ) {
        rpmi_request_load(walk->server, span_of(walk, step), result, step->len);
        return 0;
    }
    publish(walk);
    walk->batch->changed = true;
    op = op_of(walk, step);
    found = rpmi_request_change(walk->server, span_of(walk, step), &op);
    memcpy(result, &found, sizeof(found));
    return 0;
}

/* Does a list that was copied begin with a WATCH? It is checked when it is decoded. */
static bool watches(const struct rpm_server *server, const struct rpmi_op *op)
{
    return op->body_bytes > 0 && server->list[0] == RPMI_STEP_WATCH;
}

/* A list that begins with a WATCH: 0 if it is to be carried out now, or RPMI_HELD. */
static int hold(struct serve_walk *walk, const struct rpmi_op *op)
{
    struct rpm_server *server = walk->server;
    struct rpmi_step *step = &server->steps[0];
    struct rpmi_steps steps;
    int err = rpmi_steps_check(server->list, op->body_bytes, op->len);

    if (err == 0) {
        rpmi_steps_begin(&steps, server->list, (uint32_t)op->body_bytes);
        (void)rpmi_steps_next(&steps, step);
        err = check_access(walk, step);
    }
    if (err == 0)
        return rpmi_watches_hold(server, walk->client, step, span_of(walk, step), &walk->watched);
    rpmi_watches_drop(server, walk->client);
    return err;
}

int rpmi_request_steps(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                       struct rpmi_batch *batch)
{
    struct serve_walk walk;
    struct rpmi_stepper stepper = { &walk, server->steps, check_access, carry_out_step };

    RPM_ASSERT(client != 0);
    RPM_ASSERT(rpmi_serve_has_lock(server)); /* one copy of a list for all clients */
    if (rpmi_orders_want(server, client, op))
        return rpmi_orders_do(server, client, op);
    walk.server = server;
    walk.client = client;
    walk.durable = (op->flags & RPMI_OP_DURABLE) != 0;
    walk.stored = false;
    walk.batch = batch;
    if (op->body_bytes > sizeof(server->list))
        return RPM_E_PROTO;
    memcpy(server->list, op->body, op->body_bytes);
    if (RPMI_UNLIKELY(watches(server, op))) {
        int err = hold(&walk, op);

        if (err != 0)
            return err;
    } else if (RPMI_UNLIKELY(rpmi_watches_any(server->watches))) {
        rpmi_watches_drop(server, client); /* the client has changed a list that was held */
    }
    return rpmi_steps_walk(&stepper, server->list, op->body_bytes, op->into, op->len);
}
