/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h: a list of steps: several reads, writes and atomics that a client sends in one message
 * and that one CPU, usually the server's, carries out in order. The answer is one message with all
 * results.
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
#define RPMI_WATCH_US_MAX 1000000u    /* a WATCH waits so long at most */
#define RPMI_SUM_BYTES_MAX (1u << 20) /* of the ranges of all SUMs and COMPAREs in a list */
#define RPMI_CARRY_HEAD_BYTES 48u     /* of a CARRY in front of its bytes */
#define RPMI_CARRY_PROOF_BYTES 16u
#define RPMI_CARRY_AT_PROOF 32u

enum rpmi_step_kind {
    RPMI_STEP_READ = 1,
    RPMI_STEP_WRITE = 2,
    RPMI_STEP_CAS = 3,
    RPMI_STEP_FAA = 4,
    RPMI_STEP_PROVE = 5, /* which records of a log, from one LSN to another, are whole? Its result
                            is a certificate (wire/certificate.h) */
    RPMI_STEP_WATCH = 6, /* the first of its list: the server holds the list until the word differs
                            from @expect, or @operand us have passed; then the list ends here */
    RPMI_STEP_SUM = 7,   /* the checksum (base/sum.h) of the @range bytes, with the seed @operand */
    RPMI_STEP_CARRY = 8, /* WRITE at an LSN of a log, by an agent to which the claim's holder has
                            delegated this; the server leaves it out if the agent may not (carry.h) */
    RPMI_STEP_COMPARE = 9 /* where do the @range bytes first differ from those at @other_offset of
                             @other_key? (base/differ.h) */
};

enum rpmi_step_flag {
    RPMI_STEP_MUST = 1,    /* CAS, READ of a word: the list ends here unless the word is @expect */
    RPMI_STEP_DURABLE = 4, /* WRITE: in the persistence domain before the answer */
    RPMI_STEP_CACHED = 32  /* WRITE: as RPMI_OP_CACHED says */
};

struct rpmi_layout; /* wire/layout.h */

/* The tables of a step: its head, and the words that follow the head of a READ with MUST, a CAS, a
 * FAA, a PROVE, a WATCH, a SUM, a CARRY and a COMPARE. The bytes of a WRITE and a CARRY, which come
 * last, have no table, because their number varies. */
extern const struct rpmi_layout rpmi_step_layout;
extern const struct rpmi_layout rpmi_must_read_layout;
extern const struct rpmi_layout rpmi_cas_layout;
extern const struct rpmi_layout rpmi_faa_layout;
extern const struct rpmi_layout rpmi_prove_layout;
extern const struct rpmi_layout rpmi_watch_layout;
extern const struct rpmi_layout rpmi_sum_layout;
extern const struct rpmi_layout rpmi_carry_layout;
extern const struct rpmi_layout rpmi_compare_layout;
extern const struct rpmi_layout rpmi_steps_answer_layout;

struct rpmi_step {
    uint8_t kind;    /* enum rpmi_step_kind */
    uint8_t flags;   /* enum rpmi_step_flag */
    uint16_t len;    /* bytes at the server, at least 1; of a CAS, FAA or WATCH 8; of a SUM, COMPARE
                      or PROVE those of its result, 8 or RPMI_CERTIFICATE_BYTES */
    uint32_t key;    /* of a PROVE and a CARRY 0 */
    uint64_t offset; /* of a PROVE the LSN of the first record, of a CARRY that of its bytes */
    uint64_t expect; /* CAS, READ with MUST, WATCH */
    uint64_t operand; /* CAS, FAA; of a WATCH the longest wait in microseconds; of a SUM the seed */
    uint64_t range; /* SUM: bytes at the server, 1..RPMI_SUM_BYTES_MAX; COMPARE: of each of its two
                       ranges, at most half of that */
    uint64_t other_offset; /* COMPARE */
    uint32_t other_key;    /* COMPARE */
    const void *data;      /* WRITE, CARRY: @len bytes; of a decoded step, in the list */
    uint64_t log_id;       /* PROVE, CARRY */
    uint64_t end_lsn;      /* PROVE: behind the last record */
    uint32_t epoch;        /* PROVE, CARRY: of the writer's claim */
    const void *proof; /* CARRY: RPMI_CARRY_PROOF_BYTES, NULL for zeros; of a decoded step, in the
                          list */
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
    uint32_t summed;    /* bytes of the ranges of the SUMs and COMPAREs so far */
};

void rpmi_steps_begin(struct rpmi_steps *steps, const void *list, uint32_t bytes);

/* 1 and the next step, 0: there are no more, RPM_E_PROTO: the next step is invalid. */
int rpmi_steps_next(struct rpmi_steps *steps, struct rpmi_step *step);

/* A whole list, and an answer of so many bytes to it: 0 or RPM_E_PROTO. */
int rpmi_steps_check(const void *list, uint64_t bytes, uint64_t answer_bytes);

/* The front of an answer: how many steps were carried out; a step with MUST counts only if it found
 * the word that it expects, a WATCH only if it found another. */
void rpmi_steps_answer_put(void *answer, uint32_t done);
/* RPM_E_PROTO: more than the @n of the list, or invalid bytes. */
int rpmi_steps_answer_get(const void *answer, uint32_t n, uint32_t *done);

/* Bytes that the CPU reads to carry out a SUM or a COMPARE. */
static inline uint64_t rpmi_step_summed(const struct rpmi_step *step)
{
    return step->kind == RPMI_STEP_COMPARE ? 2 * step->range : step->range;
}

/* Does its kind have no result? */
static inline bool rpmi_step_is_silent(const struct rpmi_step *step)
{
    return step->kind == RPMI_STEP_WRITE || step->kind == RPMI_STEP_CARRY;
}

/* Does the list end with this step, which found @word? */
static inline bool rpmi_step_ends(const struct rpmi_step *step, uint64_t word)
{
    if (step->kind == RPMI_STEP_WATCH)
        return word == step->expect;
    return (step->flags & RPMI_STEP_MUST) != 0 && word != step->expect;
}

/* How the steps of a list are checked and carried out: by the server CPU, by the CPU of a direct
 * client, or in the device model. */
struct rpmi_stepper {
    void *context;
    struct rpmi_step *room; /* RPMI_STEPS_MAX entries of private memory, for the decoded steps */

    /* Check that the client may carry out @step. rpmi_steps_walk() calls it for every step before
     * it carries out the first one. 0, or the error of the whole list. */
    int (*check)(void *context, const struct rpmi_step *step);

    /* Carry out @step; @result has room for its result. 0, or the error of the whole list. */
    int (*carry_out)(void *context, const struct rpmi_step *step, void *result);
};

/*
 * Carry out a list, which is in private memory, up to the first step that ends it, and write the
 * answer, which is never read back. If check() refuses a step, no step is carried out. 0,
 * RPM_E_PROTO, or the error that the stepper returns.
 */
int rpmi_steps_walk(const struct rpmi_stepper *stepper, const void *list, uint64_t bytes,
                    void *answer, uint64_t answer_bytes);

#endif
