/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.c: lists of steps: check a list, encode it in a message, and send it.
 *
 * Invariant: a list that the server must refuse is not sent.
 *
 * Tests: tests/unit/region/steps_test.cpp, tests/conform/steps_test.cpp
 */
#include "region/region.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/steps.h"

#include <inttypes.h>

#define WORD_BYTES sizeof(uint64_t)

_Static_assert((int)RPM_STEP_READ == (int)RPMI_STEP_READ, "same numbers");
_Static_assert((int)RPM_STEP_WRITE == (int)RPMI_STEP_WRITE, "same numbers");
_Static_assert((int)RPM_STEP_CAS == (int)RPMI_STEP_CAS, "same numbers");
_Static_assert((int)RPM_STEP_FAA == (int)RPMI_STEP_FAA, "same numbers");
_Static_assert((int)RPM_STEP_WATCH == (int)RPMI_STEP_WATCH, "same numbers");
_Static_assert((int)RPM_STEP_SUM == (int)RPMI_STEP_SUM, "same numbers");
_Static_assert((int)RPM_STEP_COMPARE == (int)RPMI_STEP_COMPARE, "same numbers");
_Static_assert(RPM_COMPARE_BYTES_MAX * 2 == RPMI_SUM_BYTES_MAX, "both ranges count");
_Static_assert(RPM_WATCH_US_MAX == RPMI_WATCH_US_MAX, "same numbers");
_Static_assert(RPM_SUM_BYTES_MAX == RPMI_SUM_BYTES_MAX, "same numbers");
_Static_assert((int)RPM_STEP_MUST == (int)RPMI_STEP_MUST, "same numbers");
_Static_assert(RPM_STEPS_MAX == RPMI_STEPS_MAX, "same numbers");
_Static_assert(2 * RPMI_STEPS_BYTES <= RPMI_BOUNCE_BYTES, "list and answer fit");

/* The room that a list takes, and its kind. */
struct size {
    uint32_t list;
    uint32_t answer;
    uint64_t summed; /* bytes of the ranges of SUMs and COMPAREs */
    bool reads;      /* the list only reads */
    bool durable;    /* a step of the list promises durability */
};

/* Is its @len that of a range, of which only a word is returned? */
static bool has_range(const struct rpm_step *step)
{
    return step->kind == RPM_STEP_SUM || step->kind == RPM_STEP_COMPARE;
}

/* The step as it is encoded. */
static struct rpmi_step step_of(const struct rpm_step *step)
{
    const struct rpmi_plan *plan = &step->region->plan;
    struct rpmi_step made = {
        .kind = (uint8_t)step->kind,
        .flags = (uint8_t)step->flags,
        .len = rpmi_step_is_word(step) ? WORD_BYTES : (uint16_t)step->len,
        .key = step->region->key,
        .offset = step->offset,
        .expect = step->expect,
        .operand = step->operand,
        .data = step->data,
    };

    /* By now a key of an earlier link may open another object. */
    RPM_ASSERT(step->region->link_generation == step->region->conn->generation);
    if (step->kind == RPM_STEP_WATCH)
        made.operand = rpmi_watch_us(step);
    if (has_range(step))
        made.range = step->len;
    if (step->kind == RPM_STEP_COMPARE) {
        RPM_ASSERT(step->other->link_generation == step->other->conn->generation);
        made.other_key = step->other->key;
        made.other_offset = step->other_offset;
    }
    if (step->kind != RPM_STEP_WRITE)
        return made;
    made.flags |= plan->level == RPM_DURABLE ? RPMI_STEP_DURABLE : 0;
    made.flags |= (plan->hints & RPM_HINT(4)) == 0 ? RPMI_STEP_CACHED : 0;
    return made;
}

static int check_shape(const struct rpm_step *step)
{
    bool must = step->flags == RPM_STEP_MUST;
    bool known = step->kind >= RPM_STEP_READ && step->kind <= RPM_STEP_FAA;

    if (!known && step->kind != RPM_STEP_WATCH && !has_range(step))
        return rpmi_fail(RPM_E_INVAL, "a step of kind %u, known are %u to %u, %u, %u and %u",
                         step->kind, RPM_STEP_READ, RPM_STEP_FAA, RPM_STEP_WATCH, RPM_STEP_SUM,
                         RPM_STEP_COMPARE);
    if (step->flags != 0 && !must)
        return rpmi_fail(RPM_E_INVAL, "step flags %#x, known are %#x", step->flags,
                         (unsigned)RPM_STEP_MUST);
    if (must && step->kind != RPM_STEP_CAS &&
        (step->kind != RPM_STEP_READ || step->len != WORD_BYTES))
        return rpmi_fail(RPM_E_INVAL,
                         "RPM_STEP_MUST on a step of kind %u; only a CAS (%u) and a READ (%u) of 8 "
                         "bytes can have it",
                         step->kind, RPM_STEP_CAS, RPM_STEP_READ);
    return 0;
}

static int check_watch(const struct rpm_step *step, bool first)
{
    if (!first)
        return rpmi_fail(RPM_E_INVAL, "a WATCH behind another step; a list can only begin with it");
    if (!rpmi_is_aligned(step->offset, WORD_BYTES))
        return rpmi_fail(RPM_E_INVAL,
                         "a WATCH at offset %" PRIu64 " is not aligned; use a multiple of 8",
                         step->offset);
    if (step->operand == 0 || step->operand > RPM_WATCH_US_MAX)
        return rpmi_fail(RPM_E_INVAL, "a WATCH of %" PRIu64 " us, expected is 1 to %u",
                         step->operand, RPM_WATCH_US_MAX);
    return 0;
}

static bool only_reads(const struct rpm_step *step)
{
    return step->kind == RPM_STEP_READ || step->kind == RPM_STEP_WATCH || has_range(step);
}

/* How many bytes at the server it reads or changes. */
static uint64_t reach_of(const struct rpm_step *step)
{
    return rpmi_step_is_word(step) && !has_range(step) ? WORD_BYTES : step->len;
}

/* The other range of a COMPARE. */
static int check_other(const struct rpm_region *region, const struct rpm_step *step)
{
    int err;

    RPM_ASSERT(step->other != NULL);
    if (step->other->conn != region->conn)
        return rpmi_fail(RPM_E_INVAL, "a COMPARE with a region of another connection; open both "
                                      "regions on one");
    err = rpmi_region_readable(step->other);
    return err != 0 ? err : rpmi_region_bounds(step->other, step->other_offset, step->len);
}

static int check_step(const struct rpm_region *region, const struct rpm_step *step)
{
    const struct rpm_region *at = step->region;
    int err = check_shape(step);

    if (err != 0)
        return err;
    RPM_ASSERT(at != NULL && (step->data != NULL || step->kind != RPM_STEP_WRITE));
    if (at->conn != region->conn)
        return rpmi_fail(
            RPM_E_INVAL,
            "a step on a region of another connection; open all regions of a list on one");
    err = only_reads(step) ? rpmi_region_readable(at) : rpmi_region_writable(at);
    if (err == 0 && !rpmi_step_is_atomic(step))
        err = rpmi_region_bounds(at, step->offset, reach_of(step));
    if (err == 0 && step->kind == RPM_STEP_COMPARE)
        err = check_other(region, step);
    if (err != 0 || only_reads(step))
        return err;
    if (at->claim.log != NULL && at->claim.log != region->claim.log)
        return rpmi_fail(RPM_E_INVAL, "a step that changes a region guarded by another log's "
                                      "claim; use one list for each claim");
    return rpmi_step_is_atomic(step) ? rpmi_region_check_word(at, step->offset) : 0;
}

static int check_size(const struct size *size)
{
    RPM_ASSERT(size->answer >= RPMI_STEPS_ANSWER_HEAD);
    if (size->list > RPMI_STEPS_BYTES || size->answer > RPMI_STEPS_BYTES)
        return rpmi_fail(RPM_E_TOOBIG,
                         "a list of %u bytes with an answer of %u bytes, maximum %u each; split it",
                         size->list, size->answer, RPMI_STEPS_BYTES);
    if (size->summed > RPM_SUM_BYTES_MAX)
        return rpmi_fail(RPM_E_TOOBIG,
                         "a list with SUMs and COMPAREs of %" PRIu64
                         " bytes together, maximum %u; split it",
                         size->summed, RPM_SUM_BYTES_MAX);
    return 0;
}

static int check(const struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                 struct size *size)
{
    *size = (struct size){ .answer = RPMI_STEPS_ANSWER_HEAD, .reads = true };
    if ((region->conn->link->flags & RPMI_LINK_STEPS) == 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "this link carries no lists of steps; use one call for each operation");
    if (n == 0)
        return rpmi_fail(RPM_E_INVAL, "a list of 0 steps; it has 1 to %u", RPM_STEPS_MAX);
    if (n > RPM_STEPS_MAX)
        return rpmi_fail(RPM_E_TOOBIG, "a list of %u steps, maximum %u; split it", n,
                         RPM_STEPS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        int err = check_step(region, &steps[i]);
        struct rpmi_step step;

        if (err == 0 && steps[i].kind == RPM_STEP_WATCH)
            err = check_watch(&steps[i], i == 0);
        if (err != 0)
            return err;
        if (!rpmi_step_is_word(&steps[i]) && steps[i].len > RPMI_STEPS_BYTES)
            return rpmi_fail(RPM_E_TOOBIG, "a step of %" PRIu64 " bytes, maximum %u; split it",
                             steps[i].len, RPMI_STEPS_BYTES);
        step = step_of(&steps[i]);
        size->list += rpmi_step_bytes(&step);
        size->answer += rpmi_step_result_bytes(&step);
        size->summed += rpmi_step_summed(&step); /* of regions: no overflow */
        size->reads = size->reads && only_reads(&steps[i]);
        size->durable = size->durable || (step.flags & RPMI_STEP_DURABLE) != 0;
    }
    return check_size(size);
}

/* Where the answer is received: behind the list. */
static unsigned char *answer_of(unsigned char *staged, const struct size *size)
{
    RPM_ASSERT(size->list > 0 && size->list <= RPMI_STEPS_BYTES);
    return staged + rpmi_align_up(size->list, RPMI_LINE_BYTES);
}

static struct rpmi_op make_op(const struct rpm_step *steps, uint32_t n, const struct size *size,
                              unsigned char *staged)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct rpmi_step step = step_of(&steps[i]);

        RPM_ASSERT(steps[i].region->conn == steps[0].region->conn); /* keys are a link's own */
        RPM_ASSERT(bytes + rpmi_step_bytes(&step) <= size->list);   /* which was staged */
        bytes += rpmi_step_put(staged + bytes, &step);
    }
    RPM_ASSERT(bytes == size->list);
    return (struct rpmi_op){
        .kind = RPMI_OP_STEPS,
        .flags = size->durable ? RPMI_OP_DURABLE : 0,
        .len = size->answer,
        .body = staged,
        .body_bytes = bytes,
        .into = answer_of(staged, size),
    };
}

int rpm_steps_async(struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                    void *context)
{
    rpmi_begin();

    struct rpmi_task task = {
        .kind = RPMI_OP_STEPS, .steps = steps, .steps_n = n, .context = context
    };
    struct size size;
    int err;

    RPM_ASSERT(region != NULL && steps != NULL);
    err = check(region, steps, n, &size);
    if (err == 0 && rpmi_watch_needs_polls(steps))
        err = rpmi_fail(RPM_E_NOCAP, "the server cannot hold a list that begins with a WATCH for "
                                     "this link; rpm_steps_run() reads the word instead");
    if (err == 0 && rpmi_steps_need_reads(region, steps, n))
        err = rpmi_fail(RPM_E_NOCAP, "the server has an older librpm, which does not know SUM or "
                                     "COMPARE; rpm_steps_run() reads the ranges instead");
    if (err != 0)
        return err;
    task.len = rpmi_align_up(size.list, RPMI_LINE_BYTES) + size.answer;
    task.reads = size.reads;
    err = rpmi_region_reserve(region, &task,
                              size.reads ? rpmi_region_readable : rpmi_region_writable);
    if (err != 0)
        return err;
    RPM_ASSERT(region->ops_count == 0);
    region->ops[region->ops_count++] = make_op(steps, n, &size, task.staged);
    task.staged = answer_of(task.staged, &size);
    return rpmi_region_submit(region, &task);
}

static int run(struct rpm_region *region, const struct rpm_step *steps, uint32_t n, uint32_t *done)
{
    struct size size;
    struct rpmi_op op;
    int err = check(region, steps, n, &size);

    RPM_ASSERT(err != 0 || !rpmi_watch_needs_polls(steps)); /* the server would refuse it */
    RPM_ASSERT(err != 0 || !rpmi_steps_need_reads(region, steps, n)); /* the same */
    if (err == 0 && !size.reads)
        err = rpmi_region_writable(region);
    if (err != 0)
        return err;
    op = make_op(steps, n, &size, region->conn->bounce);
    err = rpmi_conn_exec(region->conn, &op, 1);
    if (err == 0)
        err = rpmi_steps_copy(steps, n, op.into, done);
    if (size.reads)
        return err == RPM_E_FENCED ? RPM_E_LOST : err;
    return rpmi_region_result(region, err);
}

/* The same where the server cannot carry out a SUM or a COMPARE: read its ranges here, between the
 * lists of the steps before it and behind it. */
static int run_around_reads(struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                            uint32_t *done)
{
    struct size size;
    uint32_t at = 0;
    bool ended = false;
    int err = check(region, steps, n, &size);

    while (err == 0 && at < n && !ended) {
        uint32_t between = 0; /* steps up to the next such one */
        uint32_t carried_out = 0;

        while (at + between < n && !rpmi_step_needs_reads(region, &steps[at + between]))
            between++;
        if (between > 0) {
            err = run(region, &steps[at], between, &carried_out);
            ended = carried_out < between;
        } else {
            err = steps[at].kind == RPM_STEP_SUM ? rpmi_sum_read(&steps[at])
                                                 : rpmi_compare_read(&steps[at]);
            carried_out = 1;
        }
        at += carried_out;
    }
    if (err == 0)
        *done = at;
    return err;
}

static int run_at_once(struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                       uint32_t *done)
{
    if (RPMI_UNLIKELY(rpmi_steps_need_reads(region, steps, n)))
        return run_around_reads(region, steps, n, done);
    return run(region, steps, n, done);
}

/* The same where the server cannot hold the list: wait here for the word, then send the rest. */
static int run_after_polls(struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                           uint32_t *done)
{
    struct size size;
    uint32_t rest = 0;
    uint64_t word;
    int err = check(region, steps, n, &size);

    RPM_ASSERT(n > 0 && steps->kind == RPM_STEP_WATCH);
    if (err == 0)
        err = rpmi_watch_poll(steps, &word);
    if (err == 0 && n > 1 && word != steps->expect)
        err = run_at_once(region, steps + 1, n - 1, &rest);
    if (err != 0)
        return err;
    if (steps->into != NULL)
        memcpy(steps->into, &word, sizeof(word));
    *done = word != steps->expect ? 1 + rest : 0;
    return 0;
}

int rpm_steps_run(struct rpm_region *region, const struct rpm_step *steps, uint32_t n,
                  uint32_t *done)
{
    rpmi_begin();

    RPM_ASSERT(region != NULL && steps != NULL && done != NULL);
    if (n > 0 && rpmi_watch_needs_polls(steps))
        return run_after_polls(region, steps, n, done);
    return run_at_once(region, steps, n, done);
}
