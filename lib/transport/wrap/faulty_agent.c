/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faulty_agent.c: the link to an agent that answers some of its lists wrongly or not at all, as
 * rpm_sim_opts.agent_faults_ppm says. No client may take such an answer for a certificate.
 *
 * Invariant: one list is outstanding at a time, as wrap/agent.h has it.
 *
 * Tests: tests/unit/transport/wrap/faulty_agent_test.cpp
 */
#include "transport/wrap/faulty_agent.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "transport/wrap/wrap.h"
#include "wire/steps.h"

#include <string.h>

enum answer_fault {
    FAULT_NONE,
    FAULT_SILENT,  /* no answer */
    FAULT_INVENTS, /* answers at once, that all is durable */
    FAULT_REPEATS, /* answers at once, with the bytes of the answer before */
    FAULT_GARBLES, /* a bit of the server's answer is another one */
    FAULTS
};

struct faulty {
    struct rpmi_wrap wrap;
    struct rpmi_rng rng;
    uint32_t ppm;
    enum answer_fault fault;                /* of the list that is outstanding */
    uint64_t id;                            /* of that list */
    unsigned char *into;                    /* its answer goes there */
    uint32_t bytes;                         /* of that answer */
    bool answered;                          /* at once: poll() returns its completion */
    unsigned char before[RPMI_STEPS_BYTES]; /* the answer before */
    uint32_t before_bytes;
};

static struct faulty *faulty_of(struct rpmi_link *link)
{
    return (struct faulty *)(void *)link;
}

/* Note the list that is posted; the bytes of its answer. */
static void note(struct faulty *faulty, const struct rpmi_op *op)
{
    struct rpmi_steps steps;
    struct rpmi_step step;

    faulty->id = op->id;
    faulty->into = op->into;
    faulty->bytes = RPMI_STEPS_ANSWER_HEAD;
    rpmi_steps_begin(&steps, op->body, (uint32_t)op->body_bytes);
    while (rpmi_steps_next(&steps, &step) == 1)
        faulty->bytes = steps.result_to;
    RPM_ASSERT(faulty->bytes <= sizeof(faulty->before));
}

/* Certificates of all that is asked for, with a proof by a key that is no claim's. */
static void invent(struct faulty *faulty, const struct rpmi_op *op)
{
    static const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS];
    struct rpmi_steps steps;
    struct rpmi_step step;

    rpmi_steps_begin(&steps, op->body, (uint32_t)op->body_bytes);
    while (rpmi_steps_next(&steps, &step) == 1) {
        const struct rpmi_certificate made = { .level = RPM_DURABLE,
                                               .log_id = step.log_id,
                                               .first_lsn = step.offset,
                                               .end_lsn = step.end_lsn,
                                               .epoch = step.epoch,
                                               .server_epoch = faulty->wrap.link.server_epoch };

        if (step.kind != RPMI_STEP_PROVE)
            continue;
        if (rpmi_certificate_put(faulty->into + steps.result, &made, key) != 0)
            rpmi_certificate_refuse(faulty->into + steps.result, RPM_E_NOMEM);
    }
    rpmi_steps_answer_put(faulty->into, steps.taken);
}

static enum answer_fault some_fault(struct faulty *faulty)
{
    if (!rpmi_rng_chance(&faulty->rng, faulty->ppm))
        return FAULT_NONE;
    return (enum answer_fault)(FAULT_SILENT + rpmi_rng_below(&faulty->rng, FAULTS - FAULT_SILENT));
}

static int faulty_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct faulty *faulty = faulty_of(link);

    if (ops->kind != RPMI_OP_STEPS)
        return rpmi_wrap_post(link, ops, n);
    RPM_ASSERT(n == 1);
    note(faulty, ops);
    faulty->fault = some_fault(faulty);
    if (faulty->fault == FAULT_REPEATS && faulty->before_bytes != faulty->bytes)
        faulty->fault = FAULT_INVENTS;
    faulty->answered = faulty->fault == FAULT_INVENTS || faulty->fault == FAULT_REPEATS;
    if (faulty->fault == FAULT_INVENTS)
        invent(faulty, ops);
    if (faulty->fault == FAULT_REPEATS)
        memcpy(faulty->into, faulty->before, faulty->bytes);
    return faulty->answered || faulty->fault == FAULT_SILENT ? 1 : rpmi_wrap_post(link, ops, n);
}

static int faulty_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct faulty *faulty = faulty_of(link);
    int found;

    if (faulty->answered) {
        faulty->answered = false;
        *done = (struct rpmi_done){ .id = faulty->id };
        return 1;
    }
    found = rpmi_wrap_poll(link, done, n);
    if (found != 1 || done->status != 0 || done->id != faulty->id || faulty->into == NULL)
        return found;
    memcpy(faulty->before, faulty->into, faulty->bytes);
    faulty->before_bytes = faulty->bytes;
    if (faulty->fault == FAULT_GARBLES)
        faulty->into[rpmi_rng_below(&faulty->rng, faulty->bytes)] ^=
            (unsigned char)(1u << rpmi_rng_below(&faulty->rng, 8));
    return found;
}

static const struct rpmi_transport_ops FAULTY_OPS = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "faulty agent",
    .connect = rpmi_wrap_connect,
    .reconnect = rpmi_wrap_reconnect,
    .post = faulty_post,
    .poll = faulty_poll,
    .wait = rpmi_wrap_wait,
    .watch = rpmi_wrap_watch,
    .arm = rpmi_wrap_arm,
    .call = rpmi_wrap_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = rpmi_wrap_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = rpmi_wrap_close,
};

int rpmi_faulty_agent_open(struct rpmi_link *inner, uint32_t ppm, uint64_t seed,
                           struct rpmi_link **outer)
{
    struct faulty *faulty = rpmi_alloc(sizeof(*faulty), RPMI_LINE_BYTES);

    if (faulty == NULL)
        return RPM_E_NOMEM;
    faulty->ppm = ppm;
    rpmi_rng_seed(&faulty->rng, seed);
    rpmi_wrap_init(&faulty->wrap, &FAULTY_OPS, inner);
    *outer = &faulty->wrap.link;
    return 0;
}

struct rpmi_link *rpmi_faulty_agent_inner(struct rpmi_link *link)
{
    return link->ops == &FAULTY_OPS ? faulty_of(link)->wrap.inner : link;
}
