/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_post.c: hand ops to the server's link, and keep each ORDER until it is fulfilled.
 *
 * Tests: tests/unit/transport/wrap/order_post_test.cpp
 */
#include "base/canary.h"
#include "transport/wrap/carry.h"
#include "transport/wrap/order_link.h"

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

/* An entry for an ORDER, which was posted at @posted_ns. */
static uint32_t expect_order(struct rpmi_order *order, const struct rpmi_op *op,
                             const struct rpmi_pick *pick, uint64_t posted_ns)
{
    uint32_t at = rpmi_order_expect(order, op);
    struct rpmi_order_entry *entry = &order->pending[at];

    entry->measured = true;
    entry->pick = *pick;
    entry->posted_ns = posted_ns;
    return at;
}

void rpmi_order_persist(struct rpmi_order *order, uint32_t i)
{
    struct rpmi_order_entry *entry = rpmi_order_entry(order, i);
    uint32_t at = (order->first + i) % order->room;
    struct rpmi_op ops[RPMI_ORDER_PIECES];

    if (entry->carried && !rpmi_carry_write(order, entry))
        return; /* a queue that is full takes the rest later */
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

/* How many ops from @ops[0] on are neither ORDERs nor CARRYs. */
static uint32_t run_of(const struct rpmi_op *ops, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && ops[i].kind != RPMI_OP_ORDER && ops[i].kind != RPMI_OP_CARRY)
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
                (void)rpmi_order_expect(order, &ops[taken + run - 1]);
        }
        if (got < 0)
            return taken > 0 ? (int)taken : got;
        taken += (uint32_t)got;
        if ((uint32_t)got < run)
            break;
    }
    return (int)taken;
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
static uint32_t post_order(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t pieces,
                           const struct rpmi_pick *pick, uint64_t now_ns)
{
    uint32_t at = next_entry(order);
    bool idle = order->sent_used == 0 && order->unsignaled == 0;
    struct rpmi_order_entry *entry = &order->pending[at];

    if (!idle && !is_signaled_for(order, at) && !signal_written(order, at, ops[pieces - 1].id))
        return 0;
    (void)expect_order(order, &ops[pieces - 1], pick, now_ns);
    rpmi_order_set(entry, ops, pieces, now_ns);
    entry->written = idle;
    entry->patience_ns = rpmi_order_patience_ns(order, pick->size_class);
    return pieces;
}

/* @run WRITEs, and the ORDER behind them: the agent is to have their records certified. */
static int post_by_agent(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t run,
                         uint32_t pieces, const struct rpmi_pick *pick)
{
    uint64_t now_ns = rpmi_wrap_now_ns(&order->wrap.link);
    int got = run > 0 ? post_plain(order, ops, run, true) : 0;
    uint32_t posted = 0;

    if (got == (int)run)
        posted = post_order(order, ops + run, pieces, pick, now_ns);
    if (posted == 0)
        rpmi_select_lost(&order->select, pick);
    return got < 0 ? got : got + (int)posted;
}

/* Are these WRITEs all that the ORDER is for? Then COPYs do for both. */
static bool is_whole(const struct rpmi_op *writes, uint32_t n, const struct rpmi_op *pieces,
                     uint32_t pieces_n)
{
    uint64_t at = pieces[0].offset;
    uint32_t piece = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (writes[i].kind != RPMI_OP_WRITE || writes[i].key != pieces[0].key ||
            (writes[i].flags & ~(unsigned)RPMI_OP_CACHED) != 0)
            return false;
        if (writes[i].offset != at && !RPMI_CANARY(ORDER_PART))
            return false;
        at += writes[i].len;
        if (at == pieces[piece].offset + pieces[piece].len && piece + 1 < pieces_n)
            at = pieces[++piece].offset;
    }
    if (RPMI_CANARY(ORDER_PART))
        return n > 0;
    return piece + 1 == pieces_n && at == pieces[piece].offset + pieces[piece].len;
}

/* What the server is sent for @n WRITEs and the ORDER behind them, in order->ops. The number of
 * ops. */
static uint32_t serve(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n,
                      uint32_t pieces)
{
    const struct rpm_facts *facts = &order->wrap.link.facts;
    struct rpmi_op *to = order->ops;

    RPM_ASSERT(n + pieces <= RPMI_BATCH_OPS_MAX);
    memcpy(to, ops, (n + pieces) * sizeof(ops[0]));
    if ((facts->methods & 1u << RPM_METHOD_COPY) != 0 && !order->split &&
        is_whole(ops, n, ops + n, pieces)) {
        RPM_ASSERT(rpm_legal(facts, RPM_METHOD_COPY, rpmi_order_level(order), NULL));
        for (uint32_t i = 0; i < n; i++) {
            to[i].kind = RPMI_OP_COPY;
            to[i].flags |= RPMI_OP_DURABLE;
        }
        to[n - 1].flags |= RPMI_OP_SIGNALED;
        to[n - 1].id = ops[n + pieces - 1].id;
        return n;
    }
    for (uint32_t i = n; i < n + pieces; i++) {
        to[i].kind = RPMI_OP_PERSIST;
        to[i].flags &= RPMI_OP_SIGNALED;
    }
    return n + pieces;
}

/* The same WRITEs and ORDER, of which the server itself is to make the records durable. */
static int post_by_server(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t run,
                          uint32_t pieces, const struct rpmi_order_choice *choice)
{
    struct rpm_conn_stats *stats = &order->wrap.inner->stats;
    uint64_t now_ns = rpmi_wrap_now_ns(&order->wrap.link);
    uint32_t n = serve(order, ops, run, pieces);
    int got = post_inner(order, order->ops, n, RPMI_WANTS_USER, next_entry(order));

    if (got == (int)n) {
        (void)expect_order(order, &ops[run + pieces - 1], &choice->pick, now_ns);
        order->split = false;
        stats->order_fallbacks += choice->away ? 1 : 0;
        stats->order_server += choice->away ? 0 : 1;
        return (int)(run + pieces);
    }
    rpmi_select_lost(&order->select, &choice->pick);
    /* The agent cannot be asked about the second piece: it says nothing of the first. */
    order->split = order->split || got > (int)run;
    return got;
}

/* @run WRITEs, and the ORDER behind them. How many were taken, or an error. */
static int post_group(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t run,
                      uint32_t pieces)
{
    uint32_t at = next_entry(order);
    struct rpmi_order_choice choice = rpmi_order_choose(order, ops + run, pieces);
    int got;

    if (choice.pick.alternative == RPMI_WAY_AGENT)
        return post_by_agent(order, ops, run, pieces, &choice.pick);
    got = post_by_server(order, ops, run, pieces, &choice);
    if (choice.probe && got == (int)(run + pieces))
        rpmi_order_probe(order, ops + run, pieces, at);
    return got;
}

/* How many of @n ops end with the last one that is signaled. */
static uint32_t signaled_part(const struct rpmi_op *ops, uint32_t n)
{
    while (n > 0 && !is_signaled(&ops[n - 1]))
        n--;
    return n;
}

int rpmi_order_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n)
{
    uint32_t taken = 0;

    while (taken < n) {
        const struct rpmi_op *next = ops + taken;
        uint32_t run = run_of(next, n - taken);
        bool ordered = taken + run < n;
        uint32_t plain = ordered ? signaled_part(next, run) : run;
        uint32_t all = plain;
        uint32_t carried;
        int got;

        /* Each op, and each question whether WRITEs have completed, takes an entry at most. */
        if (order->used + n + 2 > order->room || order->sent_used + n + 2 > order->room)
            break;
        if (plain == 0 && (carried = rpmi_carry_post(order, next, run, n - taken)) > 0) {
            taken += carried;
            continue;
        }
        if (plain > 0) {
            got = post_plain(order, next, plain, false);
        } else {
            uint32_t pieces = rpmi_order_pieces(next + run, n - taken - run);

            all = run + pieces;
            got = post_group(order, next, run, pieces);
        }
        if (got < 0)
            return taken > 0 ? (int)taken : got;
        taken += (uint32_t)got;
        if ((uint32_t)got < all)
            break;
    }
    return (int)taken;
}
