/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upstream.c: gather orders in a list, and part its answer.
 *
 * Tests: tests/unit/agent/upstream_test.cpp
 */
#include "agent/upstream.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/wrap/carry.h"
#include "wire/certificate.h"

#include <string.h>

#define STAGING (1u << 20)

static void count(uint64_t *counter, uint64_t add)
{
    __atomic_fetch_add(counter, add, __ATOMIC_RELAXED);
}

static void hang_up(struct rpmi_upstream *upstream)
{
    if (upstream->link != NULL)
        upstream->link->ops->close(upstream->link);
    upstream->link = NULL;
}

int rpmi_upstream_dial(struct rpmi_upstream *upstream)
{
    const struct rpmi_link_opts opts = {
        .timeout_us = upstream->timeout_us,
        .depth = RPMI_DEPTH_DEFAULT,
        .staging_bytes = STAGING,
        .secret = upstream->secret,
    };
    uint64_t begun_ns = rpmi_clock_ns();
    struct rpmi_link *link;
    int err;

    RPM_ASSERT(upstream->link == NULL && upstream->taken == 0);
    err = rpmi_link_open(upstream->url, &opts, &link);
    if (err != 0)
        return err;
    upstream->link = link;
    if ((link->flags & RPMI_LINK_STEPS) == 0 || (link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0)
        err = rpmi_fail(RPM_E_NOCAP,
                        "%s: this connection has the pool mapped, but only the server CPU "
                        "certifies records; connect with mode=ring",
                        upstream->url);
    upstream->list = link->ops->stage(link, RPMI_STEPS_BYTES);
    upstream->answer = link->ops->stage(link, RPMI_STEPS_BYTES);
    if (err == 0 && (upstream->list == NULL || upstream->answer == NULL))
        err = RPM_E_NOMEM;
    if (err == 0 && upstream->name[0] != '\0')
        err = rpmi_carry_enrol(link, upstream->name, upstream->timeout_us);
    if (err == 0)
        err = link->ops->watch(link, upstream->epoll_fd);
    if (err != 0) {
        hang_up(upstream);
        return err;
    }
    count(&upstream->stats.dials, 1);
    __atomic_store_n(&upstream->stats.setup_ns, rpmi_clock_ns() - begun_ns, __ATOMIC_RELAXED);
    upstream->retry_ns = RPMI_UPSTREAM_RETRY_NS;
    return 0;
}

static void forget_list(struct rpmi_upstream *upstream)
{
    upstream->taken = upstream->steps = upstream->proves = upstream->bytes = 0;
    upstream->sent = false;
}

/* Tell a client that none of its records is certified. */
static void refuse(struct rpmi_upstream *upstream, struct rpmi_held_order *order, int status)
{
    unsigned char *to = order->answer + RPMI_STEPS_ANSWER_HEAD;

    for (uint32_t i = 0; i < order->proves; i++)
        rpmi_certificate_refuse(to + (uint64_t)i * RPMI_CERTIFICATE_BYTES, status);
    rpmi_steps_answer_put(order->answer, order->steps);
    rpmi_orders_answer(upstream->front, order, 0);
    count(&upstream->stats.failed, 1);
}

/* The server is away: refuse what was sent to it, and dial it again later. */
static void lose(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    rpmi_diag(RPM_DIAG_WARNING, "the server %s is away; orders are refused until it is back: %s",
              upstream->url, rpm_last_error());
    for (uint32_t i = 0; i < upstream->taken; i++)
        refuse(upstream, upstream->order[i], RPM_E_LOST);
    forget_list(upstream);
    hang_up(upstream);
    upstream->dial_at_ns = now_ns + upstream->retry_ns;
}

/* Part the answer among the orders, in the order in which their PROVEs were sent. */
static void part(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    const unsigned char *from = upstream->answer + RPMI_STEPS_ANSWER_HEAD;

    for (uint32_t i = 0; i < upstream->taken; i++) {
        struct rpmi_held_order *order = upstream->order[i];
        uint32_t bytes = order->proves * RPMI_CERTIFICATE_BYTES;

        RPM_ASSERT(RPMI_STEPS_ANSWER_HEAD + bytes == order->answer_bytes);
        memcpy(order->answer + RPMI_STEPS_ANSWER_HEAD, from, bytes);
        rpmi_steps_answer_put(order->answer, order->steps);
        from += bytes;
        rpmi_orders_answer(upstream->front, order, 0);
    }
    count(&upstream->stats.hold_ns, upstream->sent_ns - upstream->begun_ns);
    count(&upstream->stats.execute_ns, now_ns - upstream->sent_ns);
    count(&upstream->stats.orders, upstream->taken);
    count(&upstream->stats.carried, upstream->steps - upstream->proves);
    upstream->expected = upstream->taken;
    forget_list(upstream);
}

/* Take the answer, if it is there. A link that is lost is noticed here, also an idle one. */
static bool take_answer(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    struct rpmi_done done;
    uint32_t carried = 0;
    int n;

    n = upstream->link->ops->poll(upstream->link, &done, 1);
    if (n == 0 && upstream->link->lost == 0)
        return false;
    if (n == 1 && done.status == 0 && upstream->sent &&
        rpmi_steps_answer_get(upstream->answer, upstream->steps, &carried) == 0 &&
        carried == upstream->steps)
        part(upstream, now_ns);
    else
        lose(upstream, now_ns);
    return true;
}

/* The server would not take a list with CARRYs of an agent that is none that it declares. */
static bool may_send(const struct rpmi_upstream *upstream, const struct rpmi_held_order *order)
{
    return order->steps == order->proves || upstream->name[0] != '\0';
}

/* Add the orders that wait to the list, as long as they fit. True: it got any. */
static bool gather(struct rpmi_upstream *upstream)
{
    struct rpmi_held_order *order;
    uint32_t before = upstream->taken;

    while (upstream->taken < RPMI_UPSTREAM_STEPS &&
           (order = rpmi_orders_take(upstream->front, RPMI_UPSTREAM_STEPS - upstream->steps,
                                     RPMI_STEPS_BYTES - upstream->bytes)) != NULL) {
        if (!may_send(upstream, order)) {
            refuse(upstream, order, RPM_E_NOCAP);
            continue;
        }
        RPM_ASSERT(upstream->bytes + order->bytes <= RPMI_STEPS_BYTES);
        memcpy(upstream->list + upstream->bytes, order->list, order->bytes);
        upstream->bytes += order->bytes;
        upstream->order[upstream->taken++] = order;
        upstream->steps += order->steps;
        upstream->proves += order->proves;
    }
    return upstream->taken > before;
}

/* Is it worth while to wait for further orders before the list is sent? */
static bool is_held(const struct rpmi_upstream *upstream, uint64_t now_ns)
{
    return upstream->holds && upstream->taken < upstream->expected &&
           now_ns < upstream->begun_ns + RPMI_UPSTREAM_HOLD_NS;
}

static bool send_list(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    struct rpmi_op op = {
        .kind = RPMI_OP_STEPS,
        .flags = RPMI_OP_SIGNALED | RPMI_OP_DURABLE,
        .body = upstream->list,
        .into = upstream->answer,
    };
    bool gathered;

    if (upstream->sent)
        return false;
    if (upstream->taken == 0)
        upstream->begun_ns = now_ns;
    gathered = gather(upstream);
    if (upstream->taken == 0 || is_held(upstream, now_ns))
        return gathered;
    op.body_bytes = upstream->bytes;
    op.len = RPMI_STEPS_ANSWER_HEAD + (uint64_t)upstream->proves * RPMI_CERTIFICATE_BYTES;
    upstream->sent = true;
    upstream->sent_ns = now_ns;
    if (upstream->link->ops->post(upstream->link, &op, 1) == 1)
        count(&upstream->stats.lists, 1);
    else
        lose(upstream, now_ns);
    return true;
}

static bool refuse_all(struct rpmi_upstream *upstream)
{
    struct rpmi_held_order *order;
    bool any = false;

    while ((order = rpmi_orders_take(upstream->front, RPMI_STEPS_MAX, RPMI_STEPS_BYTES)) != NULL) {
        refuse(upstream, order, RPM_E_LOST);
        any = true;
    }
    return any;
}

static bool dial_again(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    if (now_ns < upstream->dial_at_ns)
        return false;
    if (rpmi_upstream_dial(upstream) == 0) {
        rpmi_diag(RPM_DIAG_NOTICE, "connected to %s again", upstream->url);
        return true;
    }
    upstream->retry_ns *= 2;
    if (upstream->retry_ns > RPMI_UPSTREAM_RETRY_MAX_NS)
        upstream->retry_ns = RPMI_UPSTREAM_RETRY_MAX_NS;
    upstream->dial_at_ns = now_ns + upstream->retry_ns;
    return false;
}

bool rpmi_upstream_turn(struct rpmi_upstream *upstream, uint64_t now_ns)
{
    bool any;

    if (upstream->link == NULL && !dial_again(upstream, now_ns))
        return refuse_all(upstream);
    any = take_answer(upstream, now_ns);
    if (upstream->link == NULL)
        return true;
    return send_list(upstream, now_ns) || any;
}

int rpmi_upstream_arm(struct rpmi_upstream *upstream, uint64_t *by_ns)
{
    if (upstream->link == NULL) {
        *by_ns = upstream->dial_at_ns < *by_ns ? upstream->dial_at_ns : *by_ns;
        return 0;
    }
    return upstream->link->ops->arm(upstream->link, by_ns);
}

void rpmi_upstream_close(struct rpmi_upstream *upstream)
{
    upstream->taken = 0; /* the front, and its clients with it, end as well */
    hang_up(upstream);
}
