/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.c: "wrap=fault,...": make chosen ops fail as a network or a server would make them fail.
 *
 *   fault_at=N      the Nth op posted (1: the first); 0: none
 *   fault_every=M   about every Mth op after that of fault_at, or from the start without fault_at
 *   fault_seed=S    seed of the random choice of those ops
 *   fault_call=N    the Nth control message
 *   fault_dials=N   so many reconnects are refused before one succeeds
 *   fault_kind=     lost      the op is not posted, and the link is lost
 *                   unacked   the op is carried out, but the link is lost before its completion
 *                   timeout   the op and all later ones are dropped, and never complete
 *                   refuse    the op and the rest of its post complete with RPM_E_DENIED
 *                   repeat    the op is carried out twice (an atomic: once), and completes once
 *
 * No kind reports a completion twice: no transport may do that, so the users of a link do not
 * handle it.
 *
 * Invariants
 *   the contract of transport.h holds: completions in order, one for each signalled op, RPM_E_LOST
 *   from poll only after the last of them
 *   a failure is reported only when all ops in front of it have ended, so that the caller may reuse
 *   their memory: the last of them is signalled, and its completion awaited
 *   a loss ends with reconnect(); the count of ops continues
 *
 * Tests: tests/unit/transport/wrap/fault_test.cpp, tests/conform/transport_test.cpp
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "transport/wrap/wrap.h"

#include <string.h>

enum fault_kind { KIND_LOST, KIND_UNACKED, KIND_TIMEOUT, KIND_REFUSE, KIND_REPEAT, KINDS };

static const char *const kind_names[KINDS] = {
    [KIND_LOST] = "lost",     [KIND_UNACKED] = "unacked", [KIND_TIMEOUT] = "timeout",
    [KIND_REFUSE] = "refuse", [KIND_REPEAT] = "repeat",
};

enum state {
    STATE_WORKING,
    STATE_LOST,  /* the loss was reported, or will be once the queue is empty */
    STATE_SILENT /* drops all ops */
};

#define NEVER UINT64_MAX

struct sent {
    uint64_t id;
    bool hidden; /* the wrapper signalled it: its completion is not reported to the caller */
};

struct fault {
    struct rpmi_wrap wrap;
    struct rpmi_rng rng;
    enum fault_kind kind;
    enum state state;
    uint64_t every;
    uint64_t next_at; /* op number, from 1 */
    uint64_t seen;    /* ops taken so far */
    uint64_t call_at;
    uint64_t calls;
    uint64_t dials;
    uint32_t room;
    uint32_t silent_used; /* ops dropped without an answer */
    uint32_t sent_first, sent_used;
    uint32_t failures_first, failures_used;
    struct sent *sent;          /* signalled ops at the inner link */
    struct rpmi_done *failures; /* failures to report after those */
};

static struct fault *fault_of(struct rpmi_link *link)
{
    struct fault *fault = (struct fault *)(void *)link;

    RPM_ASSERT(fault->sent_used <= fault->room && fault->failures_used <= fault->room);
    return fault;
}

static void schedule(struct fault *fault)
{
    fault->next_at =
        fault->every == 0 ? NEVER : fault->seen + 1 + rpmi_rng_below(&fault->rng, 2 * fault->every);
}

static bool completes_on_post(const struct fault *fault)
{
    return (fault->wrap.link.flags & RPMI_LINK_COMPLETES_ON_POST) != 0;
}

static void copy_loss(struct fault *fault)
{
    if (fault->wrap.inner->lost != 0)
        fault->wrap.link.lost = fault->wrap.inner->lost;
}

/* Mark the link lost once no completion is left to be reported. */
static int lose(struct fault *fault, const char *what)
{
    fault->state = STATE_LOST;
    if (completes_on_post(fault))
        fault->wrap.link.lost = RPM_E_LOST;
    return rpmi_fail(RPM_E_LOST, "fault: %s", what);
}

static void note_sent(struct fault *fault, const struct rpmi_op *op, bool hidden)
{
    if (completes_on_post(fault) || (op->flags & RPMI_OP_SIGNALED) == 0)
        return;
    RPM_ASSERT(fault->sent_used < fault->room);
    fault->sent[(fault->sent_first + fault->sent_used) % fault->room] =
        (struct sent){ .id = op->id, .hidden = hidden };
    fault->sent_used++;
}

/* Hand @n ops to the inner link. */
static int forward(struct fault *fault, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_link *inner = fault->wrap.inner;
    int taken;

    RPM_ASSERT(fault->state == STATE_WORKING); /* nothing is carried out after a loss */
    if (n > fault->room - fault->sent_used)
        n = fault->room - fault->sent_used;
    taken = inner->ops->post(inner, ops, n);
    for (int i = 0; i < taken; i++)
        note_sent(fault, &ops[i], false);
    if (taken > 0)
        fault->seen += (uint64_t)taken;
    copy_loss(fault);
    return taken;
}

/* Hand one op to the inner link, signalled, and hide its completion from the caller. */
static int forward_last(struct fault *fault, const struct rpmi_op *op)
{
    struct rpmi_link *inner = fault->wrap.inner;
    struct rpmi_op copy = *op;
    int taken;

    RPM_ASSERT(fault->state == STATE_WORKING);
    if (fault->sent_used == fault->room)
        return 0;
    copy.flags |= RPMI_OP_SIGNALED;
    taken = inner->ops->post(inner, &copy, 1);
    if (taken == 1)
        note_sent(fault, &copy, true);
    copy_loss(fault);
    return taken;
}

static uint32_t queue_failures(struct fault *fault, const struct rpmi_op *ops, uint32_t n,
                               int status)
{
    uint32_t i;

    for (i = 0; i < n && fault->failures_used < fault->room; i++) {
        fault->failures[(fault->failures_first + fault->failures_used) % fault->room] =
            (struct rpmi_done){ .id = ops[i].id, .status = status };
        fault->failures_used++;
    }
    fault->seen += i;
    return i;
}

/* The op is carried out twice and reported to the caller once. */
static int inject_repeat(struct fault *fault, const struct rpmi_op *op)
{
    int taken;

    if (op->kind != RPMI_OP_CAS && op->kind != RPMI_OP_FAA && op->kind != RPMI_OP_STEPS) {
        struct rpmi_link *inner = fault->wrap.inner;
        struct rpmi_op copy = *op;

        copy.flags &= (uint8_t)~RPMI_OP_SIGNALED;
        taken = inner->ops->post(inner, &copy, 1);
        if (taken != 1)
            return taken;
    }
    return forward(fault, op, 1);
}

static int inject_silence(struct fault *fault, uint32_t n)
{
    fault->state = STATE_SILENT;
    fault->silent_used = n < fault->room ? n : fault->room;
    fault->seen += fault->silent_used;
    if (!completes_on_post(fault))
        return (int)fault->silent_used;
    fault->wrap.link.lost = RPM_E_TIMEDOUT;
    return rpmi_fail(RPM_E_TIMEDOUT, "fault: no answer");
}

/* @ops[0] fails; all ops before it were handed to the inner link. */
static int inject(struct fault *fault, const struct rpmi_op *ops, uint32_t n)
{
    bool refuse = fault->kind == KIND_REFUSE;
    int taken = 0;

    if (fault->kind == KIND_REPEAT)
        return inject_repeat(fault, ops);
    if (fault->kind == KIND_UNACKED) {
        taken = forward_last(fault, ops);
        if (taken != 1)
            return taken;
    }
    if (fault->kind == KIND_TIMEOUT)
        return inject_silence(fault, n);
    if (completes_on_post(fault)) {
        fault->seen++;
        return refuse ? rpmi_fail(RPM_E_DENIED, "fault: refused")
                      : lose(fault, "link lost while posting");
    }
    if (!refuse)
        (void)lose(fault, "link lost");
    return (int)queue_failures(fault, ops, n, refuse ? RPM_E_DENIED : RPM_E_LOST);
}

static int post_ended(struct fault *fault, uint32_t n)
{
    uint32_t left;

    RPM_ASSERT(fault->silent_used <= fault->room);
    if (fault->state == STATE_LOST)
        return rpmi_fail(RPM_E_LOST, "fault: link lost");
    if (completes_on_post(fault))
        return rpmi_fail(RPM_E_TIMEDOUT, "fault: no answer");
    left = fault->room - fault->silent_used;
    n = n < left ? n : left;
    fault->silent_used += n;
    return (int)n;
}

/* How many of the next @n ops come before the next op that fails: @n if none of them fails. */
static uint32_t ops_before_fault(struct fault *fault, uint32_t n)
{
    uint64_t before;

    if (fault->next_at <= fault->seen)
        schedule(fault);
    before = fault->next_at == NEVER ? n : fault->next_at - fault->seen - 1;
    return before < n ? (uint32_t)before : n;
}

/* Post the ops up to the next fault, and let that op fail. */
static int post_some(struct fault *fault, const struct rpmi_op *ops, uint32_t n)
{
    uint32_t before;
    int taken = 0;
    int rest;

    if (fault->state != STATE_WORKING)
        return post_ended(fault, n);
    if (fault->failures_used > 0)
        return 0; /* the caller must reap a refusal before later ops complete */
    before = ops_before_fault(fault, n);
    if (before == n)
        return forward(fault, ops, n);

    if (before > 1)
        taken = forward(fault, ops, before - 1);
    if (taken < 0 || (uint32_t)taken + 1 < before)
        return taken;
    if (before > 0) { /* signal the last op in front of the fault, to know when it has ended */
        bool hidden = (ops[before - 1].flags & RPMI_OP_SIGNALED) == 0 && !completes_on_post(fault);

        rest = hidden ? forward_last(fault, &ops[before - 1]) : forward(fault, &ops[before - 1], 1);
        if (rest != 1)
            return rest < 0 ? rest : taken;
        fault->seen += hidden;
        taken++;
    }
    rest = inject(fault, &ops[before], n - before);
    return rest < 0 ? rest : taken + rest;
}

static int fault_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct fault *fault = fault_of(link);
    int taken = post_some(fault, ops, n);

    /* A link that completes on post takes all or fails. */
    while (completes_on_post(fault) && taken > 0 && (uint32_t)taken < n) {
        int more = post_some(fault, ops + taken, n - (uint32_t)taken);

        if (more <= 0)
            return more;
        taken += more;
    }
    return taken;
}

/* Is this completion the caller's? A failed op that was not signalled is not in the queue. */
static bool reap(struct fault *fault, const struct rpmi_done *done)
{
    const struct sent *sent = &fault->sent[fault->sent_first];
    bool hidden;

    if (fault->sent_used == 0 || sent->id != done->id)
        return true;
    hidden = sent->hidden;
    fault->sent_first = (fault->sent_first + 1) % fault->room;
    fault->sent_used--;
    return !hidden;
}

static int poll_inner(struct fault *fault, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_link *inner = fault->wrap.inner;
    int got = inner->ops->poll(inner, done, n);
    int kept = 0;

    rpmi_wrap_sync_stats(&fault->wrap);
    if (got < 0) {
        fault->sent_used = 0;
        if (fault->state == STATE_WORKING)
            copy_loss(fault);
        return fault->state == STATE_WORKING ? got : 0;
    }
    for (int i = 0; i < got; i++)
        if (reap(fault, &done[i]))
            done[kept++] = done[i];
    return kept;
}

static int fault_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct fault *fault = fault_of(link);
    int count = 0;

    if (fault->state != STATE_LOST || fault->sent_used > 0)
        count = poll_inner(fault, done, n);
    if (count < 0)
        return count;
    while (fault->sent_used == 0 && fault->failures_used > 0 && (uint32_t)count < n) {
        done[count++] = fault->failures[fault->failures_first];
        fault->failures_first = (fault->failures_first + 1) % fault->room;
        fault->failures_used--;
    }
    if (count > 0 || fault->state != STATE_LOST || fault->sent_used + fault->failures_used > 0)
        return count;
    link->lost = RPM_E_LOST;
    return RPM_E_LOST;
}

/* No completion will come: only let time pass. */
static int wait_for_deadline(struct fault *fault, uint64_t deadline_ns)
{
    struct rpmi_link *inner = fault->wrap.inner;
    uint64_t now_ns = inner->ops->now_ns(inner);

    while (now_ns < deadline_ns) {
        inner->ops->pause(inner, deadline_ns - now_ns);
        now_ns = inner->ops->now_ns(inner);
    }
    return rpmi_fail(RPM_E_TIMEDOUT, "fault: no answer");
}

static int fault_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct fault *fault = fault_of(link);
    int err;

    if (fault->sent_used == 0) {
        if (fault->failures_used > 0 || fault->state == STATE_LOST)
            return 0;
        if (fault->state == STATE_SILENT)
            return wait_for_deadline(fault, deadline_ns);
    }
    err = fault->wrap.inner->ops->wait(fault->wrap.inner, deadline_ns);
    rpmi_wrap_sync_stats(&fault->wrap);
    return err;
}

static int fault_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct fault *fault = fault_of(link);

    if (fault->sent_used == 0) {
        if (fault->failures_used > 0 || fault->state == STATE_LOST)
            return 1;
        if (fault->state == STATE_SILENT)
            return 0;
    }
    return rpmi_wrap_arm(link, by_ns);
}

static int fault_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct fault *fault = fault_of(link);
    struct rpmi_link *inner = fault->wrap.inner;
    int err;

    if (fault->state == STATE_SILENT)
        return wait_for_deadline(fault, deadline_ns);
    if (fault->state == STATE_LOST)
        return rpmi_fail(RPM_E_LOST, "fault: link lost");
    if (++fault->calls != fault->call_at || fault->kind == KIND_REPEAT) {
        err = inner->ops->call(inner, call, reply, deadline_ns);
        rpmi_wrap_sync_stats(&fault->wrap);
        copy_loss(fault);
        return err;
    }
    if (fault->kind == KIND_REFUSE) {
        memset(reply, 0, sizeof(*reply));
        reply->status = RPM_E_DENIED;
        return 0;
    }
    if (fault->kind == KIND_TIMEOUT) {
        fault->state = STATE_SILENT;
        return wait_for_deadline(fault, deadline_ns);
    }
    if (fault->kind == KIND_UNACKED) {
        struct rpmi_reply unseen;

        (void)inner->ops->call(inner, call, &unseen, deadline_ns);
    }
    link->lost = RPM_E_LOST;
    return lose(fault, "link lost during a call");
}

static int fault_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct fault *fault = fault_of(link);
    struct rpmi_link *inner = fault->wrap.inner;
    int err;

    if (fault->dials > 0) {
        fault->dials--;
        if (fault->state == STATE_WORKING)
            (void)lose(fault, "link lost by a failed dial");
        return rpmi_fail(RPM_E_REFUSED, "fault: dial refused");
    }
    err = inner->ops->reconnect(inner, deadline_ns);
    rpmi_wrap_sync(&fault->wrap);
    fault->sent_used = 0;
    fault->failures_used = 0;
    fault->silent_used = 0;
    if (err == 0)
        fault->state = STATE_WORKING;
    return err;
}

static const void *fault_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    return fault_of(link)->state == STATE_WORKING ? rpmi_wrap_peek(link, key, offset, len) : NULL;
}

static void fault_close(struct rpmi_link *link)
{
    struct fault *fault = fault_of(link);

    rpmi_free(fault->sent);
    rpmi_free(fault->failures);
    rpmi_wrap_close(link);
}

static const struct rpmi_transport_ops fault_ops = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "fault",
    .connect = rpmi_wrap_connect,
    .reconnect = fault_reconnect,
    .post = fault_post,
    .poll = fault_poll,
    .wait = fault_wait,
    .watch = rpmi_wrap_watch,
    .arm = fault_arm,
    .call = fault_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = fault_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = fault_close,
};

static int kind_parse(const struct rpmi_url *url, enum fault_kind *kind)
{
    const char *text = rpmi_url_get(url, "fault_kind", "lost");

    for (int k = 0; k < KINDS; k++) {
        if (strcmp(kind_names[k], text) == 0) {
            *kind = (enum fault_kind)k;
            return 0;
        }
    }
    return rpmi_fail(RPM_E_INVAL, "fault_kind=%s; it is lost, unacked, timeout, refuse or repeat",
                     text);
}

static int parse(const struct rpmi_url *url, struct fault *want)
{
    uint64_t at;
    uint64_t seed;
    int err = kind_parse(url, &want->kind);

    if (err == 0)
        err = rpmi_wrap_number(url, "fault_at", 0, &at);
    if (err == 0)
        err = rpmi_wrap_number(url, "fault_every", 0, &want->every);
    if (err == 0)
        err = rpmi_wrap_number(url, "fault_seed", 1, &seed);
    if (err == 0)
        err = rpmi_wrap_number(url, "fault_call", 0, &want->call_at);
    if (err == 0)
        err = rpmi_wrap_number(url, "fault_dials", 0, &want->dials);
    if (err != 0)
        return err;
    if (want->every > UINT32_MAX)
        return rpmi_fail(RPM_E_INVAL, "fault_every=%llu, maximum %u",
                         (unsigned long long)want->every, UINT32_MAX);
    rpmi_rng_seed(&want->rng, seed);
    schedule(want);
    if (at != 0)
        want->next_at = at;
    return 0;
}

static int fault_open(const struct rpmi_url *url, struct rpmi_link *inner, struct rpmi_link **outer)
{
    struct fault want = { .room = inner->depth > 0 ? inner->depth : RPMI_DEPTH_DEFAULT };
    struct fault *fault;
    int err = parse(url, &want);

    if (err != 0)
        return err;
    want.sent = rpmi_alloc(want.room * sizeof(*want.sent), RPMI_LINE_BYTES);
    want.failures = rpmi_alloc(want.room * sizeof(*want.failures), RPMI_LINE_BYTES);
    fault = rpmi_alloc(sizeof(*fault), RPMI_LINE_BYTES);
    if (want.sent == NULL || want.failures == NULL || fault == NULL) {
        rpmi_free(want.sent);
        rpmi_free(want.failures);
        rpmi_free(fault);
        return RPM_E_NOMEM;
    }
    *fault = want;
    rpmi_wrap_init(&fault->wrap, &fault_ops, inner);
    *outer = &fault->wrap.link;
    return 0;
}

static const char *const fault_keys[] = { "fault_at",    "fault_every", "fault_seed", "fault_call",
                                          "fault_dials", "fault_kind",  NULL };

const struct rpmi_wrapper rpmi_wrap_fault = { "fault", fault_keys, fault_open };
