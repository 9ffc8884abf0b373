// SPDX-License-Identifier: BSD-3-Clause
// loop_steps.cpp: see loop.h. Carries out lists of steps at the server.
#include "support/loop.h"

extern "C" {
#include "base/differ.h"
#include "base/sum.h"
#include "wire/steps.h"
}

namespace loop
{

// Carries a list of steps out as the server CPU does.
struct Walk {
    Link *link;
    bool durable;
};

static bool has_range(const rpmi_step *step)
{
    return step->kind == RPMI_STEP_SUM || step->kind == RPMI_STEP_COMPARE;
}

static rpmi_op op_of(const rpmi_step *step)
{
    static const uint8_t kinds[] = { 0, RPMI_OP_READ, RPMI_OP_COPY, RPMI_OP_CAS, RPMI_OP_FAA,
                                     0, RPMI_OP_READ, RPMI_OP_READ, 0,           RPMI_OP_READ };
    rpmi_op op = {};

    op.kind = kinds[step->kind];
    op.key = step->key;
    op.offset = step->offset;
    op.len = has_range(step) ? step->range : step->len;
    op.body = step->data;
    op.body_bytes = step->kind == RPMI_STEP_WRITE ? step->len : 0;
    op.expect = step->expect;
    op.operand = step->operand;
    return op;
}

static int find_span(Link *link, const rpmi_op &op, rpmi_span *span)
{
    return rpmi_service_access(link->server->service, link->link.client, op.key, op.offset, op.len,
                               rpmi_op_right(op.kind), span);
}

// Of the other range of a COMPARE.
static rpmi_op other_of(const rpmi_step *step)
{
    rpmi_op op = op_of(step);

    op.key = step->other_key;
    op.offset = step->other_offset;
    return op;
}

static int step_may(void *context, const rpmi_step *step)
{
    rpmi_span span = {};

    if (step->kind == RPMI_STEP_WATCH &&
        (static_cast<Walk *>(context)->link->link.flags & RPMI_LINK_WATCH) == 0)
        return RPM_E_NOCAP;
    if (step->kind == RPMI_STEP_SUM &&
        (static_cast<Walk *>(context)->link->link.flags & RPMI_LINK_SUM) == 0)
        return RPM_E_NOCAP;
    if (step->kind == RPMI_STEP_COMPARE) {
        if ((static_cast<Walk *>(context)->link->link.flags & RPMI_LINK_COMPARE) == 0)
            return RPM_E_NOCAP;
        int err = find_span(static_cast<Walk *>(context)->link, other_of(step), &span);
        if (err != 0)
            return err;
    }
    return find_span(static_cast<Walk *>(context)->link, op_of(step), &span);
}

// Time passes until the word has changed, or that of the WATCH is over. RPM_E_LOST: the client has
// left meanwhile.
static int hold(Walk *walk, const rpmi_step *step)
{
    Link *link = walk->link;
    uint64_t until = link->server->now_ns + step->operand * 1000;
    uint64_t word = 0;

    for (;;) {
        Pending pending = { op_of(step), {} };
        rpmi_span span = {};

        if (find_span(link, pending.op, &span) != 0)
            return RPM_E_LOST;
        pending.op.into = &word;
        act(link, pending, span, false);
        if (word != step->expect || link->server->now_ns >= until)
            return 0;
        link->server->now_ns += 10000;
        if (link->on_pause)
            link->on_pause();
    }
}

static int step_act(void *context, const rpmi_step *step, void *result)
{
    Walk *walk = static_cast<Walk *>(context);
    Pending pending = { op_of(step), {} };
    rpmi_span span = {};

    if (step->kind == RPMI_STEP_WATCH && hold(walk, step) != 0)
        return RPM_E_LOST;
    REQUIRE(find_span(walk->link, pending.op, &span) == 0);
    std::vector<unsigned char> range(has_range(step) ? step->range : 0);
    pending.op.into = range.empty() ? result : range.data();
    if (walk->durable)
        pending.op.flags = step->flags & RPMI_STEP_DURABLE;
    act(walk->link, pending, span, false);
    if (step->kind == RPMI_STEP_COMPARE) {
        std::vector<unsigned char> other(step->range);
        Pending second = { other_of(step), {} };

        REQUIRE(find_span(walk->link, second.op, &span) == 0);
        second.op.into = other.data();
        act(walk->link, second, span, false);
        uint64_t at = rpmi_differ_at(range.data(), other.data(), step->range);
        memcpy(result, &at, sizeof(at));
    } else if (!range.empty()) {
        uint64_t sum = XXH3_64bits_withSeed(range.data(), range.size(), step->operand);

        memcpy(result, &sum, sizeof(sum));
    }
    return 0;
}

int carry_out_steps(Link *link, const rpmi_op &op)
{
    Walk walk = { link, (op.flags & RPMI_OP_DURABLE) != 0 };
    std::vector<rpmi_step> room(RPMI_STEPS_MAX);
    rpmi_stepper stepper = { &walk, room.data(), step_may, step_act };

    if (link->on_op)
        link->on_op(op);
    return rpmi_steps_walk(&stepper, op.body, op.body_bytes, op.into, op.len);
}

} // namespace loop
