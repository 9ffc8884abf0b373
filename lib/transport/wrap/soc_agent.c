/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soc_agent.c: an agent on a SoC, one list of a writer at a time.
 *
 * Invariants
 *   a list is answered by the server's certificates, or not at all
 *   the copies of a list are posted before the server is asked about its records; some are posted
 *     once more later, as by an agent that has not seen them complete
 *
 * Tests: tests/unit/transport/wrap/soc_agent_test.cpp, tests/crash/agent_test.cpp
 */
#include "transport/wrap/soc_agent.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/wrap/wrap.h"
#include "wire/certificate.h"

#include <string.h>

#define ASK_ID UINT64_MAX /* of the agent's own list at the server */
#define AGAIN_ONE_IN 8u   /* the copies of one of so many lists are posted twice; a coarse choice */

enum soc_stage {
    SOC_IDLE,
    SOC_TRAVELS, /* the list is on its way to the agent */
    SOC_COPIES,  /* the engine copies what it carries */
    SOC_ASKS,    /* the server is asked for certificates */
    SOC_RETURNS  /* the answer is on its way to the writer */
};

struct soc {
    struct rpmi_wrap wrap;
    struct rpmi_soc_engine engine;
    enum soc_stage stage;
    uint64_t at_ns;    /* when what is on its way arrives */
    struct rpmi_op op; /* the writer's */
    unsigned char list[RPMI_STEPS_BYTES];
    uint32_t carries; /* in the list */
    uint32_t posted;  /* of them */
    uint64_t copy[RPMI_STEPS_MAX];
    unsigned char *asked; /* the list for the server, in staging memory of the inner link */
};

static struct soc *soc_of(struct rpmi_link *link)
{
    return (struct soc *)(void *)link;
}

static uint64_t now_of(struct soc *soc)
{
    return rpmi_wrap_now_ns(&soc->wrap.link);
}

static enum rpmi_soc_copy state_of(const struct soc *soc, uint32_t i)
{
    return soc->engine.state(soc->engine.context, soc->copy[i]);
}

/* Something is sent: between the writer and the agent. */
static void send(struct soc *soc, enum soc_stage stage)
{
    soc->stage = stage;
    soc->at_ns = now_of(soc) + soc->engine.travel_ns(soc->engine.context);
}

static uint32_t carries_in(const unsigned char *list, uint64_t bytes)
{
    struct rpmi_steps steps;
    struct rpmi_step step;
    uint32_t carries = 0;

    rpmi_steps_begin(&steps, list, (uint32_t)bytes);
    while (rpmi_steps_next(&steps, &step) == 1)
        carries += step.kind == RPMI_STEP_CARRY;
    return carries;
}

static int soc_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct soc *soc = soc_of(link);

    if (ops->kind != RPMI_OP_STEPS)
        return rpmi_wrap_post(link, ops, n);
    RPM_ASSERT(n == 1 && soc->stage == SOC_IDLE && ops->body_bytes <= sizeof(soc->list));
    if (soc->wrap.inner->lost != 0)
        return soc->wrap.inner->lost;
    soc->op = *ops;
    memcpy(soc->list, ops->body, ops->body_bytes);
    soc->carries = carries_in(soc->list, ops->body_bytes);
    soc->posted = 0;
    send(soc, SOC_TRAVELS);
    return 1;
}

/* Post the copies that the engine has room for. True: all have been. */
static bool post_copies(struct soc *soc)
{
    struct rpmi_steps steps;
    struct rpmi_step step;
    uint32_t seen = 0;

    rpmi_steps_begin(&steps, soc->list, (uint32_t)soc->op.body_bytes);
    while (soc->posted < soc->carries && rpmi_steps_next(&steps, &step) == 1) {
        if (step.kind != RPMI_STEP_CARRY || seen++ < soc->posted)
            continue;
        soc->copy[soc->posted] =
            soc->engine.copy(soc->engine.context, soc->wrap.link.client, &step);
        if (soc->copy[soc->posted] == 0)
            return false;
        soc->posted++;
    }
    return true;
}

static bool copies_completed(const struct soc *soc)
{
    for (uint32_t i = 0; i < soc->posted; i++)
        if (state_of(soc, i) == RPMI_SOC_COPYING)
            return false;
    return soc->posted == soc->carries;
}

/* Without the rule: what has been copied is called durable. */
static void certify_copies(struct soc *soc)
{
    static const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS];
    unsigned char *into = soc->op.into;
    struct rpmi_steps steps;
    struct rpmi_step step;

    rpmi_steps_begin(&steps, soc->list, (uint32_t)soc->op.body_bytes);
    while (rpmi_steps_next(&steps, &step) == 1) {
        const struct rpmi_certificate made = { .level = RPM_DURABLE,
                                               .log_id = step.log_id,
                                               .first_lsn = step.offset,
                                               .end_lsn = step.end_lsn,
                                               .epoch = step.epoch,
                                               .server_epoch = soc->wrap.link.server_epoch };

        if (step.kind == RPMI_STEP_PROVE &&
            rpmi_certificate_put(into + steps.result, &made, key) != 0)
            rpmi_certificate_refuse(into + steps.result, RPM_E_NOMEM);
    }
    rpmi_steps_answer_put(into, steps.taken);
    send(soc, SOC_RETURNS);
}

static bool all_copied(const struct soc *soc)
{
    for (uint32_t i = 0; i < soc->posted; i++)
        if (state_of(soc, i) != RPMI_SOC_COPIED)
            return false;
    return soc->posted > 0;
}

/* The PROVEs of the list, to the server. Their answer has the same layout, as a CARRY has none. */
static void ask_server(struct soc *soc)
{
    struct rpmi_op op = soc->op;
    struct rpmi_steps steps;
    struct rpmi_step step;
    uint32_t bytes = 0;

    if (RPMI_CANARY(COPIED_DURABLE) && all_copied(soc)) {
        certify_copies(soc);
        return;
    }
    rpmi_steps_begin(&steps, soc->list, (uint32_t)soc->op.body_bytes);
    while (rpmi_steps_next(&steps, &step) == 1)
        if (step.kind != RPMI_STEP_CARRY)
            bytes += rpmi_step_put(soc->asked + bytes, &step);
    op.body = soc->asked;
    op.body_bytes = bytes;
    op.id = ASK_ID;
    if (rpmi_wrap_post(&soc->wrap.link, &op, 1) == 1)
        soc->stage = SOC_ASKS;
}

/* The server's answer counts the steps that it was asked for: the writer counts the CARRYs too. */
static void take_answer(struct soc *soc)
{
    uint32_t done = 0;

    if (rpmi_steps_answer_get(soc->op.into, RPMI_STEPS_MAX, &done) == 0)
        rpmi_steps_answer_put(soc->op.into, done + soc->carries);
    send(soc, SOC_RETURNS);
    if (soc->carries > 0 && soc->engine.below(soc->engine.context, AGAIN_ONE_IN) == 0) {
        soc->posted = 0;
        (void)post_copies(soc);
    }
}

/* Do what can be done now. */
static void turn(struct soc *soc)
{
    if (soc->stage == SOC_TRAVELS && now_of(soc) >= soc->at_ns)
        soc->stage = SOC_COPIES;
    if (soc->stage == SOC_COPIES && post_copies(soc) && copies_completed(soc))
        ask_server(soc);
}

static int soc_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct soc *soc = soc_of(link);
    int count;

    turn(soc);
    if (soc->stage == SOC_RETURNS && now_of(soc) >= soc->at_ns) {
        soc->stage = SOC_IDLE;
        *done = (struct rpmi_done){ .id = soc->op.id };
        return 1;
    }
    count = rpmi_wrap_poll(link, done, n);
    if (count < 1 || done->id != ASK_ID)
        return count;
    if (done->status != 0) {
        done->id = soc->op.id;
        return 1;
    }
    RPM_ASSERT(count == 1 && soc->stage == SOC_ASKS);
    take_answer(soc);
    return 0;
}

static const struct rpmi_transport_ops SOC_OPS = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "soc",
    .connect = rpmi_wrap_connect,
    .reconnect = rpmi_wrap_reconnect,
    .post = soc_post,
    .poll = soc_poll,
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

int rpmi_soc_open(struct rpmi_link *inner, const struct rpmi_soc_engine *engine,
                  struct rpmi_link **outer)
{
    struct soc *soc = rpmi_alloc(sizeof(*soc), RPMI_LINE_BYTES);

    if (soc == NULL)
        return RPM_E_NOMEM;
    soc->asked = inner->ops->stage(inner, RPMI_STEPS_BYTES);
    if (soc->asked == NULL) {
        rpmi_free(soc);
        return rpmi_fail(RPM_E_NOMEM, "the agent's link has no staging memory left");
    }
    soc->engine = *engine;
    rpmi_wrap_init(&soc->wrap, &SOC_OPS, inner);
    *outer = &soc->wrap.link;
    return 0;
}
