/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_post.c: hand ops to the server's link, and keep each ORDER until it is fulfilled.
 *
 * Tests: tests/unit/transport/wrap/order_post_test.cpp
 */
#include "transport/wrap/order_link.h"

#include <string.h>

/* Post to the server's link, and note for each signaled op what its completion is for. How many
 * were taken, or an error. */
static int post_inner(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n,
                      enum rpmi_order_wants wants, uint32_t pending)
{
    int taken = rpmi_wrap_post(&order->wrap.link, ops, n);

    for (int i = 0; i < taken; i++) {
        order->unsignaled++;
        if ((ops[i].flags & RPMI_OP_SIGNALED) == 0)
            continue;
        RPM_ASSERT(order->sent_used < order->room);
        order->sent[(order->sent_first + order->sent_used++) % order->room] =
            (struct rpmi_order_sent){ wants, pending };
        order->unsignaled = 0;
    }
    return taken;
}

static uint32_t next_entry(const struct rpmi_order *order)
{
    return (order->first + order->used) % order->room;
}

/* An entry for an op that the user wants reported; its index. */
static uint32_t expect(struct rpmi_order *order, const struct rpmi_op *op)
{
    uint32_t at = next_entry(order);
    struct rpmi_order_entry *entry = &order->pending[at];

    RPM_ASSERT(order->used < order->room);
    order->used++;
    entry->id = op->id;
    entry->status = 0;
    entry->is_order = entry->done = entry->persisting = false;
    return at;
}

void rpmi_order_persist(struct rpmi_order *order, uint32_t i)
{
    struct rpmi_order_entry *entry = rpmi_order_entry(order, i);
    uint32_t at = (order->first + i) % order->room;
    struct rpmi_op ops[RPMI_ORDER_PIECES];

    for (uint32_t k = 0; k < entry->pieces; k++) {
        ops[k] = entry->piece[k];
        ops[k].kind = RPMI_OP_PERSIST;
        ops[k].flags = k + 1 == entry->pieces ? RPMI_OP_SIGNALED : 0;
    }
    /* A queue that is full takes it later: the next turn tries again. */
    if (post_inner(order, ops, entry->pieces, RPMI_WANTS_PERSISTED, at) == (int)entry->pieces) {
        entry->persisting = true;
        order->wrap.inner->stats.order_fallbacks++;
    }
}

/* How many ops from @ops[0] on are not ORDERs. */
static uint32_t run_of(const struct rpmi_op *ops, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && ops[i].kind != RPMI_OP_ORDER)
        i++;
    return i;
}

static bool is_signaled(const struct rpmi_op *op)
{
    return (op->flags & RPMI_OP_SIGNALED) != 0;
}

/* How many ops from @ops[0] on end with the first one that is signaled, or are all @n. */
static uint32_t signaled_run(const struct rpmi_op *ops, uint32_t n)
{
    uint32_t run = 1;

    while (run < n && !is_signaled(&ops[run - 1]))
        run++;
    return run;
}

/* Ops of the server's link alone, of which the last one is signaled too if an ORDER follows, to
 * learn when its WRITEs have completed. */
static int post_plain(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n, bool ordered)
{
    uint32_t taken = 0;

    while (taken < n) {
        bool last = ordered && taken + 1 == n;
        uint32_t run = signaled_run(ops + taken, ordered && !last ? n - 1 - taken : n - taken);
        bool wanted = is_signaled(&ops[taken + run - 1]);
        int got;

        if (last && !wanted) {
            order->ops[0] = ops[taken];
            order->ops[0].flags |= RPMI_OP_SIGNALED;
            /* the entry of the ORDER comes next */
            got = post_inner(order, order->ops, 1, RPMI_WANTS_WRITTEN, next_entry(order));
        } else {
            got = post_inner(order, ops + taken, run, RPMI_WANTS_USER, next_entry(order));
            if (got == (int)run && wanted)
                (void)expect(order, &ops[taken + run - 1]);
        }
        if (got < 0)
            return taken > 0 ? (int)taken : got;
        taken += (uint32_t)got;
        if ((uint32_t)got < run)
            break;
    }
    return (int)taken;
}

/* The pieces of an ORDER, of which the last one is signaled. Their number. */
static uint32_t pieces_of(const struct rpmi_op *ops, uint32_t n)
{
    uint32_t pieces = 1;

    while (pieces < n && (ops[pieces - 1].flags & RPMI_OP_SIGNALED) == 0)
        pieces++;
    RPM_ASSERT(pieces <= RPMI_ORDER_PIECES && (ops[pieces - 1].flags & RPMI_OP_SIGNALED) != 0);
    return pieces;
}

/* Does the last op that was posted say that the WRITEs in front of the entry @at have completed? */
static bool is_signaled_for(const struct rpmi_order *order, uint32_t at)
{
    const struct rpmi_order_sent *last;

    if (order->sent_used == 0 || order->unsignaled != 0)
        return false;
    last = &order->sent[(order->sent_first + order->sent_used - 1) % order->room];
    return last->wants == RPMI_WANTS_WRITTEN && last->pending == at;
}

/* WRITEs in front of an ORDER that were posted before, unsignaled: an op behind them completes
 * after they have. False: the queue is full. */
static bool signal_written(struct rpmi_order *order, uint32_t at, uint64_t id)
{
    struct rpmi_op read = {
        .kind = RPMI_OP_READ,
        .flags = RPMI_OP_SIGNALED,
        .key = RPMI_KEY_SCRATCH,
        .len = 1,
        .into = order->word,
        .id = id,
    };

    return post_inner(order, &read, 1, RPMI_WANTS_WRITTEN, at) == 1;
}

/* 0: there is no room. */
static uint32_t post_order(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n)
{
    uint32_t pieces = pieces_of(ops, n);
    uint32_t at = next_entry(order);
    bool idle = order->sent_used == 0 && order->unsignaled == 0;
    struct rpmi_order_entry *entry = &order->pending[at];

    if (!idle && !is_signaled_for(order, at) && !signal_written(order, at, ops[pieces - 1].id))
        return 0;
    (void)expect(order, &ops[pieces - 1]);
    entry->is_order = true;
    entry->written = idle;
    entry->pieces = pieces;
    memcpy(entry->piece, ops, pieces * sizeof(ops[0]));
    entry->first_lsn = ops[0].expect;
    entry->end_lsn = ops[pieces - 1].operand;
    entry->posted_ns = rpmi_wrap_now_ns(&order->wrap.link);
    RPM_ASSERT(entry->first_lsn < entry->end_lsn);
    return pieces;
}

int rpmi_order_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n)
{
    uint32_t taken = 0;

    while (taken < n) {
        uint32_t run = run_of(ops + taken, n - taken);
        bool ordered = taken + run < n;
        int got = 0;

        /* Each op, and each question whether WRITEs have completed, takes an entry at most. */
        if (order->used + n + 2 > order->room || order->sent_used + n + 2 > order->room)
            break;
        if (run > 0)
            got = post_plain(order, ops + taken, run, ordered);
        if (got < 0)
            return taken > 0 ? (int)taken : got;
        taken += (uint32_t)got;
        if ((uint32_t)got < run || !ordered)
            break;
        run = post_order(order, ops + taken, n - taken);
        taken += run;
        if (run == 0)
            break;
    }
    return (int)taken;
}
