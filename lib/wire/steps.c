/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.c: encode, decode and carry out lists of steps.
 *
 * Invariants
 *   a step that rpmi_steps_next() returns is inside the list, and its result inside the answer
 *   the service checks keys and offsets
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/steps_test.cpp
 */
#include "wire/steps.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/certificate.h"
#include "wire/field.h"
#include "wire/layout.h"

#include <string.h>

#define HEAD_BYTES 16u
#define WORD_BYTES 8u
#define PROVE_BYTES 40u
#define COMPARE_BYTES 40u

static const struct rpmi_field STEP_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_step, kind),   RPMI_NUMBER(1, struct rpmi_step, flags),
    RPMI_NUMBER(2, struct rpmi_step, len),    RPMI_NUMBER(4, struct rpmi_step, key),
    RPMI_NUMBER(8, struct rpmi_step, offset),
};

#define HEAD RPMI_OWN(0, HEAD_BYTES, "head")

static const struct rpmi_field MUST_READ_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, expect),
};

static const struct rpmi_field CAS_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, expect),
    RPMI_NUMBER(24, struct rpmi_step, operand),
};

static const struct rpmi_field FAA_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, operand),
};

static const struct rpmi_field PROVE_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, log_id),
    RPMI_NUMBER(24, struct rpmi_step, end_lsn),
    RPMI_NUMBER(32, struct rpmi_step, epoch),
};

/* @operand, its longest wait, is where a CAS has its own. */
static const struct rpmi_field WATCH_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, expect),
    RPMI_NUMBER(24, struct rpmi_step, operand),
};

/* @operand is its seed. */
static const struct rpmi_field SUM_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, range),
    RPMI_NUMBER(24, struct rpmi_step, operand),
};

static const struct rpmi_field CARRY_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, log_id),
    RPMI_NUMBER(24, struct rpmi_step, epoch),
    RPMI_OWN(RPMI_CARRY_AT_PROOF, RPMI_CARRY_PROOF_BYTES, "proof"),
};

static const struct rpmi_field COMPARE_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(16, struct rpmi_step, range),
    RPMI_NUMBER(24, struct rpmi_step, other_offset),
    RPMI_NUMBER(32, struct rpmi_step, other_key),
};

struct answer {
    uint32_t done;
};

static const struct rpmi_field ANSWER_FIELDS[] = {
    RPMI_NUMBER(0, struct answer, done),
};

const struct rpmi_layout rpmi_step_layout = RPMI_LAYOUT("head of a step", STEP_FIELDS, HEAD_BYTES);
const struct rpmi_layout rpmi_must_read_layout =
    RPMI_LAYOUT("READ with MUST", MUST_READ_FIELDS, HEAD_BYTES + WORD_BYTES);
const struct rpmi_layout rpmi_cas_layout =
    RPMI_LAYOUT("CAS", CAS_FIELDS, HEAD_BYTES + 2 * WORD_BYTES);
const struct rpmi_layout rpmi_faa_layout = RPMI_LAYOUT("FAA", FAA_FIELDS, HEAD_BYTES + WORD_BYTES);
const struct rpmi_layout rpmi_prove_layout = RPMI_LAYOUT("PROVE", PROVE_FIELDS, PROVE_BYTES);
const struct rpmi_layout rpmi_watch_layout =
    RPMI_LAYOUT("WATCH", WATCH_FIELDS, HEAD_BYTES + 2 * WORD_BYTES);
const struct rpmi_layout rpmi_sum_layout =
    RPMI_LAYOUT("SUM", SUM_FIELDS, HEAD_BYTES + 2 * WORD_BYTES);
const struct rpmi_layout rpmi_carry_layout =
    RPMI_LAYOUT("CARRY", CARRY_FIELDS, RPMI_CARRY_HEAD_BYTES);
const struct rpmi_layout rpmi_compare_layout =
    RPMI_LAYOUT("COMPARE", COMPARE_FIELDS, COMPARE_BYTES);
const struct rpmi_layout rpmi_steps_answer_layout =
    RPMI_LAYOUT("front of an answer to a list", ANSWER_FIELDS, RPMI_STEPS_ANSWER_HEAD);

static uint32_t whole_words(uint32_t bytes)
{
    return (uint32_t)rpmi_align_up(bytes, WORD_BYTES);
}

uint32_t rpmi_step_bytes(const struct rpmi_step *step)
{
    switch (step->kind) {
    case RPMI_STEP_READ:
        return HEAD_BYTES + ((step->flags & RPMI_STEP_MUST) != 0 ? WORD_BYTES : 0);
    case RPMI_STEP_WRITE:
        return HEAD_BYTES + whole_words(step->len);
    case RPMI_STEP_CAS:
    case RPMI_STEP_WATCH:
    case RPMI_STEP_SUM:
        return HEAD_BYTES + 2 * WORD_BYTES;
    case RPMI_STEP_PROVE:
        return PROVE_BYTES;
    case RPMI_STEP_COMPARE:
        return COMPARE_BYTES;
    case RPMI_STEP_CARRY:
        return RPMI_CARRY_HEAD_BYTES + whole_words(step->len);
    default:
        RPM_ASSERT(step->kind == RPMI_STEP_FAA);
        return HEAD_BYTES + WORD_BYTES;
    }
}

uint32_t rpmi_step_result_bytes(const struct rpmi_step *step)
{
    return rpmi_step_is_silent(step) ? 0 : whole_words(step->len);
}

/* What follows the head of a CARRY. Its bytes may be where they are to be already. */
static void put_carry(unsigned char *to, const struct rpmi_step *step, uint32_t bytes)
{
    uint32_t filled = bytes - RPMI_CARRY_HEAD_BYTES;

    memmove(to + RPMI_CARRY_HEAD_BYTES, step->data, step->len);
    memset(to + RPMI_CARRY_HEAD_BYTES + step->len, 0, filled - step->len);
    rpmi_layout_put_inline(&rpmi_carry_layout, to, step);
    if (step->proof != NULL)
        memcpy(to + RPMI_CARRY_AT_PROOF, step->proof, RPMI_CARRY_PROOF_BYTES);
}

uint32_t rpmi_step_put(void *to, const struct rpmi_step *step)
{
    unsigned char *rest = (unsigned char *)to + HEAD_BYTES;
    uint32_t bytes = rpmi_step_bytes(step);

    RPM_ASSERT(step->len > 0);
    if (step->kind == RPMI_STEP_WRITE) {
        memset(rest + bytes - HEAD_BYTES - WORD_BYTES, 0, WORD_BYTES);
        memcpy(rest, step->data, step->len);
    } else if (step->kind == RPMI_STEP_CARRY) {
        put_carry(to, step, bytes);
    } else if (step->kind == RPMI_STEP_FAA) {
        rpmi_layout_put_inline(&rpmi_faa_layout, to, step);
    } else if (step->kind == RPMI_STEP_CAS) {
        rpmi_layout_put_inline(&rpmi_cas_layout, to, step);
    } else if (step->kind == RPMI_STEP_PROVE) {
        rpmi_layout_put_inline(&rpmi_prove_layout, to, step);
    } else if (step->kind == RPMI_STEP_WATCH) {
        rpmi_layout_put_inline(&rpmi_watch_layout, to, step);
    } else if (step->kind == RPMI_STEP_SUM) {
        rpmi_layout_put_inline(&rpmi_sum_layout, to, step);
    } else if (step->kind == RPMI_STEP_COMPARE) {
        rpmi_layout_put_inline(&rpmi_compare_layout, to, step);
    } else if (bytes > HEAD_BYTES) {
        rpmi_layout_put_inline(&rpmi_must_read_layout, to, step);
    }
    rpmi_layout_put_inline(&rpmi_step_layout, to, step);
    return bytes;
}

/* Flags and length of each kind. */
static bool is_well_formed(const struct rpmi_step *step)
{
    bool word = step->len == WORD_BYTES;

    switch (step->kind) {
    case RPMI_STEP_READ:
        return step->flags == 0 || (step->flags == RPMI_STEP_MUST && word);
    case RPMI_STEP_WRITE:
        return (step->flags & ~(RPMI_STEP_DURABLE | RPMI_STEP_CACHED)) == 0;
    case RPMI_STEP_CAS:
        return (step->flags & ~RPMI_STEP_MUST) == 0 && word;
    case RPMI_STEP_FAA:
    case RPMI_STEP_WATCH:
    case RPMI_STEP_SUM:
    case RPMI_STEP_COMPARE:
        return step->flags == 0 && word;
    case RPMI_STEP_PROVE:
        return step->flags == 0 && step->key == 0 && step->len == RPMI_CERTIFICATE_BYTES;
    case RPMI_STEP_CARRY:
        return step->flags == 0 && step->key == 0;
    default:
        return false;
    }
}

/* @steps: where the decoding of its list is. */
static bool may_watch(const struct rpmi_steps *steps, const struct rpmi_step *step)
{
    return steps->taken == 0 && rpmi_is_aligned(step->offset, WORD_BYTES) && step->operand > 0 &&
           step->operand <= RPMI_WATCH_US_MAX;
}

/* The server computes for a short time only, since other clients wait meanwhile. */
static bool may_sum(const struct rpmi_steps *steps, const struct rpmi_step *step)
{
    RPM_ASSERT(steps->summed <= RPMI_SUM_BYTES_MAX);
    return step->range > 0 && step->range <= RPMI_SUM_BYTES_MAX &&
           rpmi_step_summed(step) <= RPMI_SUM_BYTES_MAX - steps->summed;
}

__attribute__((cold)) static int invalid_list(const char *what)
{
    return rpmi_fail(RPM_E_PROTO, "invalid list of steps: %s", what);
}

void rpmi_steps_begin(struct rpmi_steps *steps, const void *list, uint32_t bytes)
{
    steps->at = list;
    steps->end = bytes == 0 ? steps->at : steps->at + bytes; /* no arithmetic on a NULL list */
    steps->taken = 0;
    steps->result = RPMI_STEPS_ANSWER_HEAD;
    steps->result_to = RPMI_STEPS_ANSWER_HEAD;
    steps->summed = 0;
}

/* Take the bytes behind the first @head of a WRITE or a CARRY. */
static int take_data(const unsigned char *from, uint32_t head, uint32_t bytes,
                     struct rpmi_step *step)
{
    step->data = from + head;
    if (!rpmi_all_zero(from + head + step->len, bytes - head - step->len))
        return invalid_list("the bytes that fill up a WRITE or a CARRY are not zero");
    return 0;
}

static int take_carry(const unsigned char *from, uint32_t bytes, struct rpmi_step *step)
{
    if (rpmi_layout_get_inline(&rpmi_carry_layout, from, step) != NULL)
        return invalid_list("the reserved bytes of a CARRY are not zero");
    step->proof = from + RPMI_CARRY_AT_PROOF;
    return take_data(from, RPMI_CARRY_HEAD_BYTES, bytes, step);
}

int rpmi_steps_next(struct rpmi_steps *steps, struct rpmi_step *step)
{
    const unsigned char *from = steps->at;
    uint64_t left = (uint64_t)(steps->end - from);
    uint32_t bytes;

    if (left == 0)
        return 0;
    if (RPMI_UNLIKELY(left < HEAD_BYTES))
        return invalid_list("it ends within a step");
    *step = (struct rpmi_step){ 0 };
    (void)rpmi_layout_get_inline(&rpmi_step_layout, from, step); /* has no reserved bytes */
    if (RPMI_UNLIKELY(step->len == 0 || !is_well_formed(step)))
        return invalid_list("a step's kind, flags, key or length");
    bytes = rpmi_step_bytes(step);
    if (RPMI_UNLIKELY(bytes > left))
        return invalid_list("it ends within a step");
    if (step->kind == RPMI_STEP_WRITE) {
        if (take_data(from, HEAD_BYTES, bytes, step) != 0)
            return RPM_E_PROTO;
    } else if (step->kind == RPMI_STEP_CARRY) {
        if (take_carry(from, bytes, step) != 0)
            return RPM_E_PROTO;
    } else if (step->kind == RPMI_STEP_FAA) {
        (void)rpmi_layout_get_inline(&rpmi_faa_layout, from, step);
    } else if (step->kind == RPMI_STEP_CAS) {
        (void)rpmi_layout_get_inline(&rpmi_cas_layout, from, step);
    } else if (step->kind == RPMI_STEP_PROVE) {
        if (rpmi_layout_get_inline(&rpmi_prove_layout, from, step) != NULL)
            return invalid_list("the reserved bytes of a PROVE are not zero");
    } else if (step->kind == RPMI_STEP_WATCH) {
        (void)rpmi_layout_get_inline(&rpmi_watch_layout, from, step);
        if (!may_watch(steps, step))
            return invalid_list("a WATCH that is not its first step, is not aligned, or waits for "
                                "no time or more than a second");
    } else if (step->kind == RPMI_STEP_SUM) {
        (void)rpmi_layout_get_inline(&rpmi_sum_layout, from, step);
        if (!may_sum(steps, step))
            return invalid_list(
                "a SUM of no bytes, or SUMs and COMPAREs of more than 1048576 bytes "
                "together");
        steps->summed += (uint32_t)rpmi_step_summed(step);
    } else if (step->kind == RPMI_STEP_COMPARE) {
        if (rpmi_layout_get_inline(&rpmi_compare_layout, from, step) != NULL)
            return invalid_list("the reserved bytes of a COMPARE are not zero");
        if (!may_sum(steps, step))
            return invalid_list("a COMPARE of no bytes, or SUMs and COMPAREs of more than 1048576 "
                                "bytes together");
        steps->summed += (uint32_t)rpmi_step_summed(step);
    } else if (bytes > HEAD_BYTES) {
        (void)rpmi_layout_get_inline(&rpmi_must_read_layout, from, step);
    }
    steps->at += bytes;
    steps->taken++;
    steps->result = steps->result_to;
    steps->result_to += rpmi_step_result_bytes(step);
    return 1;
}

/* Decode all steps, into @room unless that is NULL. Their number, or RPM_E_PROTO. */
static int take_all(const void *list, uint64_t bytes, uint64_t answer_bytes, struct rpmi_step *room)
{
    struct rpmi_steps steps;
    struct rpmi_step step;
    int more = 1;

    if (bytes == 0 || bytes > RPMI_STEPS_BYTES || answer_bytes > RPMI_STEPS_BYTES)
        return invalid_list("its length, or that of its answer");
    rpmi_steps_begin(&steps, list, (uint32_t)bytes);
    while (steps.taken < RPMI_STEPS_MAX &&
           (more = rpmi_steps_next(&steps, room != NULL ? &room[steps.taken] : &step)) > 0)
        ;
    if (more < 0)
        return more;
    if (steps.at != steps.end || steps.result_to != answer_bytes)
        return invalid_list("too many steps, or an answer of another length than their results");
    return (int)steps.taken;
}

int rpmi_steps_check(const void *list, uint64_t bytes, uint64_t answer_bytes)
{
    int n = take_all(list, bytes, answer_bytes, NULL);

    return n > 0 ? 0 : n;
}

void rpmi_steps_answer_put(void *answer, uint32_t done)
{
    const struct answer front = { .done = done };

    RPM_ASSERT(done <= RPMI_STEPS_MAX);
    rpmi_layout_put_inline(&rpmi_steps_answer_layout, answer, &front);
}

int rpmi_steps_answer_get(const void *answer, uint32_t n, uint32_t *done)
{
    struct answer front;
    const char *wrong = rpmi_layout_get_inline(&rpmi_steps_answer_layout, answer, &front);

    if (wrong != NULL || front.done > n)
        return rpmi_fail(RPM_E_PROTO,
                         "invalid answer to a list of steps: %u of its %u steps are carried out",
                         front.done, n);
    *done = front.done;
    return 0;
}

/* Copy the word to private memory: the client may be able to change the answer meanwhile. */
static int carry_out_step(const struct rpmi_stepper *stepper, const struct rpmi_step *step,
                          void *result, uint64_t *word)
{
    bool is_word = !rpmi_step_is_silent(step) && step->len == sizeof(*word);
    uint32_t filled = rpmi_step_result_bytes(step);
    int err;

    if (filled > step->len)
        memset((unsigned char *)result + filled - WORD_BYTES, 0, WORD_BYTES);
    err = stepper->carry_out(stepper->context, step, is_word ? (void *)word : result);
    if (err == 0 && is_word)
        memcpy(result, word, sizeof(*word));
    return err;
}

int rpmi_steps_walk(const struct rpmi_stepper *stepper, const void *list, uint64_t bytes,
                    void *answer, uint64_t answer_bytes)
{
    unsigned char *to = (unsigned char *)answer + RPMI_STEPS_ANSWER_HEAD;
    int n = take_all(list, bytes, answer_bytes, stepper->room);
    uint64_t word = 0;
    int done = 0;
    int err;

    for (int i = 0; i < n; i++)
        if ((err = stepper->check(stepper->context, &stepper->room[i])) != 0)
            return err;
    for (; done < n; done++) {
        const struct rpmi_step *step = &stepper->room[done];

        err = carry_out_step(stepper, step, to, &word);
        if (err != 0)
            return err;
        to += rpmi_step_result_bytes(step);
        if (rpmi_step_ends(step, word))
            break;
    }
    if (n < 0)
        return n;
    memset(to, 0, (size_t)((unsigned char *)answer + answer_bytes - to));
    rpmi_steps_answer_put(answer, (uint32_t)done);
    return 0;
}
