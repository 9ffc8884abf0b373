/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delay.c: "wrap=delay,delay_ns=N": deliver every completion and every answer N nanoseconds later,
 * as over a longer wire. It uses the link's clock, so it works in the device model too.
 *
 * Invariants
 *   completions keep their order; each is held until its own time
 *   a loss is reported only after every completion held back
 *
 * Tests: tests/unit/transport/wrap/delay_test.cpp
 */
#include "base/assert.h"
#include "base/mem.h"
#include "transport/wrap/wrap.h"

#define DELAY_DEFAULT_NS 10000u /* a round trip over a few switches */

struct held {
    struct rpmi_done done;
    uint64_t due_ns;
};

struct delay {
    struct rpmi_wrap wrap;
    uint64_t delay_ns;
    uint32_t first; /* oldest held */
    uint32_t used;
    uint32_t room;
    int ended;          /* the last result of the inner poll, if negative */
    uint64_t polled_ns; /* when this link was polled last */
    struct held *held;
};

static struct delay *delay_of(struct rpmi_link *link)
{
    struct delay *delay = (struct delay *)(void *)link;

    RPM_ASSERT(delay->used <= delay->room);
    return delay;
}

/* Wait until @until_ns, at most until @deadline_ns. False: the deadline came first. */
static bool wait_until(struct rpmi_link *link, uint64_t until_ns, uint64_t deadline_ns)
{
    uint64_t now_ns = rpmi_wrap_now_ns(link);

    while (now_ns < until_ns) {
        uint64_t stop_ns = until_ns < deadline_ns ? until_ns : deadline_ns;

        if (now_ns >= deadline_ns)
            return false;
        rpmi_wrap_pause(link, stop_ns - now_ns);
        now_ns = rpmi_wrap_now_ns(link);
    }
    return true;
}

static int delay_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct delay *delay = delay_of(link);
    int taken = rpmi_wrap_post(link, ops, n);

    if ((link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0 && taken > 0)
        wait_until(link, rpmi_wrap_now_ns(link) + delay->delay_ns, UINT64_MAX);
    return taken;
}

/* Move the inner link's completions into the queue. The outer link must not be marked lost before
 * poll() has reported the completion with the reason, which may still be in the queue. */
static void delay_pull(struct delay *delay)
{
    struct rpmi_link *link = &delay->wrap.link;
    bool given_up = link->lost != 0;

    while (delay->used < delay->room && delay->ended == 0) {
        struct held *slot = &delay->held[(delay->first + delay->used) % delay->room];
        int got = rpmi_wrap_poll(link, &slot->done, 1);

        if (got == 0)
            break;
        if (got < 0) {
            delay->ended = got;
            break;
        }
        slot->due_ns = rpmi_wrap_now_ns(link) + delay->delay_ns;
        delay->used++;
    }
    if (delay->used > 0 && !given_up)
        link->lost = 0;
}

static int delay_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct delay *delay = delay_of(link);
    uint64_t now_ns;
    uint32_t count = 0;

    delay_pull(delay);
    now_ns = rpmi_wrap_now_ns(link);
    if (delay->ended != 0 && delay->used > 0 && delay->polled_ns == now_ns) {
        /* The clock is that of the device model, and no event is left that would advance it. */
        (void)wait_until(link, delay->held[delay->first].due_ns, UINT64_MAX);
        now_ns = rpmi_wrap_now_ns(link);
    }
    delay->polled_ns = now_ns;
    while (count < n && delay->used > 0 && delay->held[delay->first].due_ns <= now_ns) {
        done[count++] = delay->held[delay->first].done;
        delay->first = (delay->first + 1) % delay->room;
        delay->used--;
    }
    if (delay->used == 0 && delay->wrap.inner->lost != 0)
        link->lost = delay->wrap.inner->lost;
    if (count == 0 && delay->used == 0 && delay->ended != 0)
        return delay->ended;
    return (int)count;
}

static int delay_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct delay *delay = delay_of(link);

    while (delay->used == 0 && delay->ended == 0) {
        int err = rpmi_wrap_wait(link, deadline_ns);

        if (err != 0)
            return err;
        delay_pull(delay);
    }
    if (delay->used == 0)
        return 0;
    return wait_until(link, delay->held[delay->first].due_ns, deadline_ns) ? 0 : RPM_E_TIMEDOUT;
}

/* A held completion is due by the clock; only when none is held, arm the inner link. */
static int delay_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct delay *delay = delay_of(link);

    delay_pull(delay);
    if (delay->used == 0 && delay->ended == 0) {
        if (rpmi_wrap_arm(link, by_ns) == 0)
            return 0;
        delay_pull(delay);
    }
    if (delay->used == 0)
        return 1; /* the loss, or an event without a completion */
    if (delay->held[delay->first].due_ns <= rpmi_wrap_now_ns(link))
        return 1;
    if (delay->held[delay->first].due_ns < *by_ns)
        *by_ns = delay->held[delay->first].due_ns;
    return 0;
}

static int delay_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct delay *delay = delay_of(link);
    int err = rpmi_wrap_call(link, call, reply, deadline_ns);

    if (err == 0 && !wait_until(link, rpmi_wrap_now_ns(link) + delay->delay_ns, deadline_ns))
        return RPM_E_TIMEDOUT;
    return err;
}

static int delay_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct delay *delay = delay_of(link);

    delay->first = 0;
    delay->used = 0;
    delay->ended = 0;
    delay->polled_ns = 0;
    return rpmi_wrap_reconnect(link, deadline_ns);
}

static void delay_close(struct rpmi_link *link)
{
    rpmi_free(delay_of(link)->held);
    rpmi_wrap_close(link);
}

static const struct rpmi_transport_ops delay_ops = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "delay",
    .connect = rpmi_wrap_connect,
    .reconnect = delay_reconnect,
    .post = delay_post,
    .poll = delay_poll,
    .wait = delay_wait,
    .watch = rpmi_wrap_watch,
    .arm = delay_arm,
    .call = delay_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = rpmi_wrap_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = delay_close,
};

static int delay_open(const struct rpmi_url *url, struct rpmi_link *inner, struct rpmi_link **outer)
{
    struct delay *delay;
    uint64_t delay_ns;
    int err = rpmi_wrap_number(url, "delay_ns", DELAY_DEFAULT_NS, &delay_ns);

    if (err != 0)
        return err;
    delay = rpmi_alloc(sizeof(*delay), RPMI_LINE_BYTES);
    if (delay == NULL)
        return RPM_E_NOMEM;
    delay->room = inner->depth > 0 ? inner->depth : RPMI_DEPTH_DEFAULT;
    delay->held = rpmi_alloc(delay->room * sizeof(*delay->held), RPMI_LINE_BYTES);
    if (delay->held == NULL) {
        rpmi_free(delay);
        return RPM_E_NOMEM;
    }
    delay->delay_ns = delay_ns;
    rpmi_wrap_init(&delay->wrap, &delay_ops, inner);
    *outer = &delay->wrap.link;
    return 0;
}

static const char *const delay_keys[] = { "delay_ns", NULL };

const struct rpmi_wrapper rpmi_wrap_delay = { "delay", delay_keys, delay_open };
