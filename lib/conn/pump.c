/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.c: post ops, reap completions and deliver each to the owner of its op. A failed op ends the
 * link for all its owners, as on a queue pair.
 *
 * Credits: an op that is not signaled has no completion of its own, so its credit is given back
 * with that of the next signaled one. If credits run out while nothing signaled is outstanding (an
 * owner posted many ops with RPM_MORE), the connection posts a nudge: a signaled READ of the
 * scratch word, whose completion gives the credits back. One credit is always kept for it.
 *
 * Held back: an owner may hold operations back, that is, not post them yet, while a completion is
 * outstanding (rpmi_conn_holds()). rpmi_conn_pump() and rpmi_conn_wait() post them. Code in the
 * middle of another post must not post them, and calls reap() and await() instead.
 *
 * Throttle: a connection with a throttle calls admit() before every post. admit() holds a post back
 * only while a completion is outstanding that may make room, so that every post is sent eventually,
 * whatever its size.
 *
 * Tests: tests/unit/conn/pump_test.cpp
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/call.h"

#define REAP_MAX 32

uint64_t rpmi_conn_deadline(struct rpm_conn *conn)
{
    return conn->link->ops->now_ns(conn->link) + conn->timeout_ns;
}

int rpmi_conn_join(struct rpm_conn *conn, struct rpmi_owner *owner)
{
    RPM_ASSERT(owner->complete != NULL && owner->lost != NULL); /* called for each op and loss */
    for (uint32_t i = 1; i <= RPMI_OWNERS_MAX; i++) {
        if (conn->owners[i] != NULL)
            continue;
        owner->slot = (uint8_t)i;
        owner->lost_reported = conn->link->lost != 0;
        conn->owners[i] = owner;
        conn->owners_open++;
        return 0;
    }
    return rpmi_fail(RPM_E_LIMIT, "one connection carries %u logs and regions: close one",
                     RPMI_OWNERS_MAX);
}

void rpmi_conn_leave(struct rpm_conn *conn, struct rpmi_owner *owner)
{
    RPM_ASSERT(conn->owners[owner->slot] == owner && !owner->holds);
    RPM_ASSERT(owner != &conn->self && conn->owners_open > 0);
    RPM_ASSERT(owner->due == 0);
    conn->owners[owner->slot] = NULL;
    conn->owners_open--;
}

/* The owner of a failed op gets its status; every other owner gets RPM_E_LOST or RPM_E_TIMEDOUT. */
static int lose(struct rpm_conn *conn, int status)
{
    RPM_ASSERT(status != 0); /* else no owner would stop writing */
    if (conn->link->lost != RPM_E_LOST && conn->link->lost != RPM_E_TIMEDOUT)
        conn->link->lost = status == RPM_E_TIMEDOUT ? RPM_E_TIMEDOUT : RPM_E_LOST;
    status = conn->link->lost;
    for (uint32_t i = 0; i <= RPMI_OWNERS_MAX; i++) {
        struct rpmi_owner *owner = conn->owners[i];

        if (owner == NULL || owner->lost_reported)
            continue;
        owner->lost_reported = true;
        owner->due = 0;
        owner->lost(owner, status);
    }
    return conn->link->lost;
}

/* On a link that does not count messages itself, each op counts as a message. */
static void count_message(struct rpm_conn *conn, const struct rpmi_op *op)
{
    struct rpm_conn_stats *stats = &conn->link->stats;

    stats->messages++;
    stats->sent_bytes += op->head_bytes + op->body_bytes;
    if (op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA)
        stats->received_bytes += sizeof(uint64_t);
    else if (op->into != NULL)
        stats->received_bytes += op->len;
}

static void count(struct rpm_conn *conn, const struct rpmi_op *op)
{
    struct rpm_conn_stats *stats = &conn->link->stats;

    switch (op->kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_WRITE_IMM:
    case RPMI_OP_COPY:
        stats->writes++;
        stats->write_bytes += op->len;
        break;
    case RPMI_OP_READ:
        stats->reads++;
        stats->read_bytes += op->len;
        break;
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        stats->atomics++;
        break;
    case RPMI_OP_STEPS:
        stats->steps++;
        break;
    case RPMI_OP_ORDER:
    case RPMI_OP_CARRY:
        stats->orders++;
        stats->flushes++;
        break;
    default:
        stats->flushes++;
        break;
    }
}

/* Give back the credits of one completion, then call its owner. */
static void deliver(struct rpm_conn *conn, const struct rpmi_done *done)
{
    uint64_t slot = done->id >> RPMI_OWNER_SEQ_BITS;
    struct rpmi_owner *owner;

    RPM_ASSERT(slot <= RPMI_OWNERS_MAX);
    owner = conn->owners[slot];
    if (done->status == 0) {
        RPM_ASSERT(conn->due_count > 0);
        rpmi_credit_give(&conn->credit, conn->due[conn->due_first].credits);
        if (++conn->due_first == conn->link->depth)
            conn->due_first = 0;
        conn->due_count--;
    }
    conn->ended++;
    if (owner == NULL || owner->lost_reported)
        return;
    RPM_ASSERT(owner->due > 0 || done->status != 0); /* no completion is taken for another */
    if (done->status == 0) /* else the link is lost, and so is what was due */
        owner->due--;
    owner->complete(owner, done->id & ((1ull << RPMI_OWNER_SEQ_BITS) - 1), done->status);
}

static int reap(struct rpm_conn *conn)
{
    struct rpmi_done done[REAP_MAX];
    int n;

    if (rpmi_conn_is_synchronous(conn))
        return conn->link->lost == 0 ? 0 : lose(conn, conn->link->lost);
    /* A lost link may still have completions with the results of ops: deliver these first. */
    while ((n = conn->link->ops->poll(conn->link, done, REAP_MAX)) > 0) {
        for (int i = 0; i < n; i++) {
            deliver(conn, &done[i]);
            if (done[i].status != 0)
                return lose(conn, RPM_E_LOST);
        }
        if (RPMI_UNLIKELY(conn->throttled))
            rpmi_throttle_done(&conn->throttle, conn->credit.used,
                               conn->link->ops->now_ns(conn->link));
        if (n < REAP_MAX && conn->link->lost == 0)
            return 0;
    }
    if (n < 0)
        return lose(conn, n);
    return conn->link->lost == 0 ? 0 : lose(conn, conn->link->lost);
}

int rpm_conn_turn(struct rpm_conn *conn)
{
    rpmi_begin();
    RPM_ASSERT(conn != NULL);
    return rpmi_conn_pump(conn);
}

void rpm_conn_drop(struct rpm_conn *conn)
{
    rpmi_begin();
    RPM_ASSERT(conn != NULL);
    (void)lose(conn, RPM_E_LOST);
}

int rpmi_conn_time_out(struct rpm_conn *conn)
{
    (void)rpmi_fail(RPM_E_TIMEDOUT,
                    "the server did not answer within %llu us (timeout_us); reconnect, or connect "
                    "with a longer one",
                    (unsigned long long)(conn->timeout_ns / 1000));
    return lose(conn, RPM_E_TIMEDOUT);
}

static int await(struct rpm_conn *conn, uint64_t deadline_ns)
{
    int err;

    if (conn->link->lost != 0)
        return reap(conn);
    err = conn->link->ops->wait(conn->link, deadline_ns);
    return err == RPM_E_TIMEDOUT ? rpmi_conn_time_out(conn) : reap(conn);
}

/* Let each owner post the operations that it holds back. True: an op was posted. */
static bool release_held(struct rpm_conn *conn, bool blocked)
{
    uint32_t left = conn->holding;
    bool posted = false;

    for (uint32_t i = 1; i <= RPMI_OWNERS_MAX && left > 0; i++) {
        struct rpmi_owner *owner = conn->owners[i];

        if (owner == NULL || !owner->holds)
            continue;
        posted = owner->release(owner, blocked) || posted;
        left--;
        if (conn->link->lost != 0)
            break;
    }
    return posted;
}

/* With no op outstanding there is nothing to reap first. A stream may keep posted requests until it
 * is polled, so reap again after the post. */
static int pump_held(struct rpm_conn *conn)
{
    int err = 0;

    if (conn->due_count > 0 || conn->link->lost != 0)
        err = reap(conn);
    if (err == 0)
        (void)release_held(conn, false);
    return err != 0 ? err : reap(conn);
}

int rpmi_conn_pump(struct rpm_conn *conn)
{
    return RPMI_LIKELY(conn->holding == 0) ? reap(conn) : pump_held(conn);
}

void rpmi_conn_pump_unless_gathers(struct rpm_conn *conn)
{
    if (!conn->gathers)
        (void)rpmi_conn_pump(conn);
}

int rpmi_conn_wait(struct rpm_conn *conn, uint64_t deadline_ns)
{
    if (RPMI_UNLIKELY(conn->holding != 0) && conn->link->lost == 0)
        (void)release_held(conn, true);
    return await(conn, deadline_ns);
}

void rpmi_conn_drain(struct rpm_conn *conn, struct rpmi_owner *owner)
{
    uint64_t deadline = rpmi_conn_deadline(conn);

    while (owner->due > 0)
        if (rpmi_conn_wait(conn, deadline) != 0)
            break;
}

/* The time without completions counts from the first check that found an op outstanding, or from
 * the last completion. */
uint64_t rpmi_conn_silent_until(struct rpm_conn *conn, uint64_t now)
{
    struct rpmi_events *events = &conn->events;

    if (conn->due_count == 0)
        events->since_ns = 0;
    else if (events->since_ns == 0 || events->ended != conn->ended)
        events->since_ns = now;
    events->ended = conn->ended;
    return events->since_ns == 0 ? UINT64_MAX : events->since_ns + conn->timeout_ns;
}

int rpmi_conn_wait_until(struct rpm_conn *conn, uint64_t until_ns)
{
    uint64_t now = conn->link->ops->now_ns(conn->link);
    uint64_t silent_ns;

    if (RPMI_UNLIKELY(conn->holding != 0) && conn->link->lost == 0)
        (void)release_held(conn, true);
    silent_ns = rpmi_conn_silent_until(conn, now);
    if (conn->link->lost != 0)
        return reap(conn);
    if (silent_ns == UINT64_MAX)
        silent_ns = now + conn->timeout_ns;
    if (conn->link->ops->wait(conn->link, until_ns < silent_ns ? until_ns : silent_ns) !=
        RPM_E_TIMEDOUT)
        return reap(conn);
    return until_ns < silent_ns ? RPM_E_BUSY : rpmi_conn_time_out(conn);
}

/* Hand all ops to the link; the caller has taken their credits. */
static int push(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n)
{
    uint64_t deadline = 0;
    uint32_t sent = 0;

    while (sent < n) {
        int taken = conn->link->ops->post(conn->link, ops + sent, n - sent);
        int err;

        if (taken < 0) {
            /* Completions of earlier ops may have the reason: deliver these first. */
            if (conn->link->lost == 0)
                conn->link->lost = taken;
            return reap(conn);
        }
        RPM_ASSERT((uint32_t)taken <= n - sent); /* the link takes no op twice */
        sent += (uint32_t)taken;
        if (taken > 0)
            continue;
        if (deadline == 0)
            deadline = rpmi_conn_deadline(conn);
        err = await(conn, deadline);
        if (err != 0)
            return err;
    }
    return 0;
}

static void account(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n, uint64_t id)
{
    for (uint32_t i = 0; i < n; i++) {
        count(conn, &ops[i]);
        if ((conn->link->flags & RPMI_LINK_COUNTS) == 0)
            count_message(conn, &ops[i]);
        conn->unsignaled++;
        ops[i].id = id;
        if ((ops[i].flags & RPMI_OP_SIGNALED) == 0)
            continue;
        RPM_ASSERT(conn->due_count < conn->link->depth);
        conn->due[(conn->due_first + conn->due_count) % conn->link->depth].credits =
            conn->unsignaled;
        conn->due_count++;
        conn->unsignaled = 0;
        conn->owners[id >> RPMI_OWNER_SEQ_BITS]->due++;
    }
}

static uint64_t make_id(const struct rpmi_owner *owner, uint64_t seq)
{
    RPM_ASSERT(seq > 0 && seq < 1ull << RPMI_OWNER_SEQ_BITS);
    return (uint64_t)owner->slot << RPMI_OWNER_SEQ_BITS | seq;
}

/* Post a signaled op, whose completion gives back the credits of the unsignaled ops before it. */
static void nudge(struct rpm_conn *conn)
{
    struct rpmi_op op = {
        .kind = RPMI_OP_READ,
        .flags = RPMI_OP_SIGNALED,
        .key = RPMI_KEY_SCRATCH,
        .len = 1,
        .into = conn->word,
    };

    if (conn->due_count > 0 || conn->unsignaled == 0 || !rpmi_credit_take(&conn->credit, 1))
        return;
    conn->throttle.posted++;
    account(conn, &op, 1, make_id(&conn->self, ++conn->self_seq));
    (void)push(conn, &op, 1);
}

void rpmi_conn_drain_all(struct rpm_conn *conn)
{
    uint64_t deadline = rpmi_conn_deadline(conn);

    while (conn->due_count > 0 || conn->unsignaled > 0) {
        nudge(conn); /* ops that are not signaled have no completion of their own */
        if (rpmi_conn_wait(conn, deadline) != 0)
            break;
    }
}

static int post_some(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n, uint64_t id)
{
    account(conn, ops, n, id);
    return push(conn, ops, n);
}

/* On a link that completes on post a failed op need not end the link, but does: the steps that a
 * program takes after an error must not depend on the link. The op's owner gets the reason as by a
 * completion. */
static int post_synchronous(struct rpm_conn *conn, struct rpmi_owner *owner, struct rpmi_op *ops,
                            uint32_t n, uint64_t seq)
{
    int taken;

    RPM_ASSERT(conn->due_count == 0); /* no op of another link can still complete */
    taken = conn->link->ops->post(conn->link, ops, n);
    for (uint32_t i = 0; i < n; i++)
        count(conn, &ops[i]);
    if (RPMI_LIKELY(taken == (int)n))
        return RPMI_POST_DONE;
    RPM_ASSERT(taken < 0);
    if (taken == RPM_E_LOST || taken == RPM_E_TIMEDOUT)
        return lose(conn, taken);
    if (owner != &conn->self)
        owner->complete(owner, seq, taken);
    (void)lose(conn, RPM_E_LOST);
    return taken;
}

/* H9 off: wait for ops[0..n) before the rest is posted. */
static int post_and_wait(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n)
{
    uint64_t deadline = rpmi_conn_deadline(conn);
    uint64_t seq = ++conn->self_seq;
    int err;

    conn->self_status = 0;
    ops[n - 1].flags |= RPMI_OP_SIGNALED;
    err = post_some(conn, ops, n, make_id(&conn->self, seq));
    while (err == 0 && conn->self_done < seq)
        err = await(conn, deadline);
    return conn->self_status != 0 ? conn->self_status : err;
}

/* May these ops, with which more than conn->unthrottled are outstanding, be posted now? */
static bool admit(struct rpm_conn *conn, uint32_t n)
{
    struct rpmi_throttle *throttle = &conn->throttle;

    if (conn->credit.limit - conn->credit.used < n + RPMI_CREDITS_SPARE) {
        nudge(conn);
        return false;
    }
    RPM_ASSERT(conn->throttled);
    if (conn->due_count > 0 && conn->credit.used + n > throttle->limit) {
        throttle->held++;
        return false;
    }
    if (conn->credit.used == 0)
        rpmi_throttle_alone(throttle, conn->link->ops->now_ns(conn->link));
    throttle->posted += n;
    return true;
}

int rpmi_conn_post(struct rpm_conn *conn, struct rpmi_owner *owner, struct rpmi_op *ops, uint32_t n,
                   uint64_t seq)
{
    uint32_t from = 0;

    RPM_ASSERT(n > 0 && n <= RPMI_BATCH_OPS_MAX);
    RPM_ASSERT_SLOW(conn->owners[owner->slot] == owner); /* who gets the completion */
    if (RPMI_UNLIKELY(conn->link->lost != 0))
        return reap(conn);
    if (rpmi_conn_is_synchronous(conn))
        return post_synchronous(conn, owner, ops, n, seq);
    if (RPMI_UNLIKELY(conn->credit.used + n > conn->unthrottled) && !admit(conn, n))
        return conn->link->lost != 0 ? conn->link->lost : RPM_E_BUSY;
    rpmi_credit_use(&conn->credit, n);
    for (uint32_t i = 0; i + 1 < n; i++) {
        int err;

        if ((ops[i].flags & RPMI_OP_WAIT) == 0)
            continue;
        err = post_and_wait(conn, ops + from, i + 1 - from);
        if (err != 0)
            return err;
        from = i + 1;
    }
    if (owner == &conn->self)
        seq = ++conn->self_seq;
    return post_some(conn, ops + from, n - from, make_id(owner, seq));
}

int rpmi_conn_exec(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n)
{
    uint64_t deadline = 0;
    uint64_t seq;
    int err;

    RPM_ASSERT(n > 0 && n <= RPMI_BATCH_OPS_MAX);
    ops[n - 1].flags |= RPMI_OP_SIGNALED;
    while ((err = rpmi_conn_post(conn, &conn->self, ops, n, 0)) == RPM_E_BUSY) {
        if (deadline == 0)
            deadline = rpmi_conn_deadline(conn);
        err = rpmi_conn_wait(conn, deadline);
        if (err != 0)
            return err;
    }
    if (err != 0)
        return err == RPMI_POST_DONE ? 0 : err;
    if (deadline == 0)
        deadline = rpmi_conn_deadline(conn);
    /* The connection's own ops are numbered when posted; this one was the last. */
    seq = conn->self_seq;
    conn->self_status = 0;
    while (err == 0 && conn->self_done < seq)
        err = rpmi_conn_wait(conn, deadline);
    return conn->self_status != 0 ? conn->self_status : err;
}
