/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h: a list of steps, operations that one CPU carries out in order for a client, and the
 * answer with their results. The list is one message, the answer another.
 *
 * A list is read by rpmi_steps_begin(), then rpmi_steps_next() for each step, or carried out by
 * rpmi_steps_walk(). An answer has room for the result of each step, whether it was carried out or
 * not.
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/steps_test.cpp
 */
#ifndef RPMI_WIRE_STEPS_H
#define RPMI_WIRE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_STEPS_BYTES 4096u /* of a list, and of an answer, at most */
#define RPMI_STEPS_MAX 64u
#define RPMI_STEPS_ANSWER_HEAD 8u

enum rpmi_step_kind {
    RPMI_STEP_READ = 1,
    RPMI_STEP_WRITE = 2,
    RPMI_STEP_CAS = 3,
    RPMI_STEP_FAA = 4
};

enum rpmi_step_flag {
    RPMI_STEP_MUST = 1,    /* CAS, READ of a word: the list ends here unless the word is @expect */
    RPMI_STEP_DURABLE = 4, /* WRITE: in the persistence domain before the answer */
    RPMI_STEP_CACHED = 32  /* WRITE: as RPMI_OP_CACHED says */
};

struct rpmi_step {
    uint8_t kind;  /* enum rpmi_step_kind */
    uint8_t flags; /* enum rpmi_step_flag */
    uint16_t len;  /* bytes at the server, at least 1; of a CAS or FAA 8 */
    uint32_t key;
    uint64_t offset;
    uint64_t expect;  /* CAS, READ with MUST */
    uint64_t operand; /* CAS, FAA */
    const void *data; /* WRITE: @len bytes; when read back, they lie in the list */
};

/* Bytes of a step in a list, and of its result in an answer; multiples of 8. */
uint32_t rpmi_step_bytes(const struct rpmi_step *step);
uint32_t rpmi_step_result_bytes(const struct rpmi_step *step);

/* Append a step, which must be one that rpmi_steps_next() accepts; returns rpmi_step_bytes(). */
uint32_t rpmi_step_put(void *to, const struct rpmi_step *step);

struct rpmi_steps {
    const unsigned char *at;
    const unsigned char *end;
    uint32_t taken;     /* steps so far */
    uint32_t result;    /* offset in the answer of the result of the step taken last */
    uint32_t result_to; /* and of the next step */
};

void rpmi_steps_begin(struct rpmi_steps *steps, const void *list, uint32_t bytes);

/* 1 and the next step, 0: there are no more, RPM_E_PROTO: a step that no librpm sends. */
int rpmi_steps_next(struct rpmi_steps *steps, struct rpmi_step *step);

/* A whole list, and an answer of so many bytes to it: 0 or RPM_E_PROTO. */
int rpmi_steps_check(const void *list, uint64_t bytes, uint64_t answer_bytes);

/* The front of an answer: how many steps were carried out and, with MUST, found their word. */
void rpmi_steps_answer_put(void *answer, uint32_t done);
/* RPM_E_PROTO: more than the @n of the list, or invalid bytes. */
int rpmi_steps_answer_get(const void *answer, uint32_t n, uint32_t *done);

/* Does the list end with this step, which found @word? */
static inline bool rpmi_step_ends(const struct rpmi_step *step, uint64_t word)
{
    return (step->flags & RPMI_STEP_MUST) != 0 && word != step->expect;
}

/* A processor that carries steps out: the server CPU, the CPU of a direct client, or the device
 * model. */
struct rpmi_stepper {
    void *context;
    struct rpmi_step *room; /* for RPMI_STEPS_MAX: the steps of the list, in order; private */

    /* May this step be carried out? Called for every step before act() for the first. 0, or why
     * not. */
    int (*may)(void *context, const struct rpmi_step *step);

    /* Carry @step out; @result has room for its result. 0, or why it failed. */
    int (*act)(void *context, const struct rpmi_step *step, void *result);
};

/*
 * Carry out a list, which is in private memory, up to the first step that ends it, and write the
 * answer, which is never read back. If may() refuses a step, no step is carried out. 0,
 * RPM_E_PROTO, or what the stepper returns.
 */
int rpmi_steps_walk(const struct rpmi_stepper *stepper, const void *list, uint64_t bytes,
                    void *answer, uint64_t answer_bytes);

#endif
