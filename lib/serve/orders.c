/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orders.c: in an agent's own server, hold a client's list of PROVEs, steps that ask which records
 * of a log are whole, and CARRYs, which have records (FORMAT.md section 12), until the agent's
 * thread has the answer for it.
 *
 * Invariants
 *   an order has one owner at a time: the engine while it is NEW or DONE, the agent while TAKEN
 *   the list is copied when it is handed over: the client may change its memory afterwards
 *
 * Tests: tests/unit/serve/orders_test.cpp
 */
#include "serve/orders.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "serve/serve.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int rpmi_orders_open(struct rpm_server *server)
{
    struct rpmi_orders *orders;

    RPM_ASSERT(server->orders == NULL && rpmi_serve_is_idle(server));
    orders = rpmi_alloc(sizeof(*orders) + server->clients_max * sizeof(orders->order[0]),
                        RPMI_LINE_BYTES);
    if (orders == NULL)
        return RPM_E_NOMEM;
    orders->n = server->clients_max;
    orders->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (orders->event_fd < 0) {
        int err = rpmi_fail(RPM_E_IO, "cannot open an eventfd: %s", strerror(errno));

        rpmi_free(orders);
        return err;
    }
    server->orders = orders;
    return 0;
}

static struct rpmi_held_order *find(struct rpmi_orders *orders, uint32_t client)
{
    for (uint32_t i = 0; i < orders->n; i++)
        if (orders->order[i].state != RPMI_ORDER_FREE && orders->order[i].client == client)
            return &orders->order[i];
    return NULL;
}

/* Is it a valid list of PROVEs, and of CARRYs besides? @count, @proves: how many steps and PROVEs
 * there are. */
static bool is_order(const void *list, uint64_t bytes, uint32_t *count, uint32_t *proves)
{
    struct rpmi_steps steps;
    struct rpmi_step step;
    int more;

    *count = *proves = 0;
    if (bytes > RPMI_STEPS_BYTES)
        return false;
    rpmi_steps_begin(&steps, list, (uint32_t)bytes);
    while ((more = rpmi_steps_next(&steps, &step)) > 0) {
        if (step.kind != RPMI_STEP_PROVE && step.kind != RPMI_STEP_CARRY)
            return false;
        *proves += step.kind == RPMI_STEP_PROVE;
    }
    *count = steps.taken;
    return more == 0 && *proves > 0;
}

bool rpmi_orders_want(const struct rpm_server *server, uint32_t client, const struct rpmi_op *op)
{
    uint32_t steps;
    uint32_t proves;

    if (server->orders == NULL)
        return false;
    return find(server->orders, client) != NULL ||
           is_order(op->body, op->body_bytes, &steps, &proves);
}

static int hand_over(struct rpmi_orders *orders, uint32_t client, const struct rpmi_op *op)
{
    struct rpmi_held_order *order = NULL;
    uint64_t one = 1;

    for (uint32_t i = 0; i < orders->n && order == NULL; i++)
        if (orders->order[i].state == RPMI_ORDER_FREE)
            order = &orders->order[i];
    if (order == NULL)
        return RPM_E_BUSY; /* the agent still has orders of clients that have left */
    memcpy(order->list, op->body, op->body_bytes);
    if (rpmi_steps_check(order->list, op->body_bytes, op->len) != 0)
        return RPM_E_PROTO;
    if (!is_order(order->list, op->body_bytes, &order->steps, &order->proves) ||
        order->steps > RPMI_ORDER_STEPS)
        return RPM_E_PROTO; /* the client has changed its memory meanwhile, or no agent takes it */
    order->client = client;
    order->bytes = (uint32_t)op->body_bytes;
    order->answer_bytes = (uint32_t)op->len;
    order->state = RPMI_ORDER_NEW;
    if (write(orders->event_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN); /* it is readable already */
    return RPMI_HELD;
}

int rpmi_orders_do(struct rpm_server *server, uint32_t client, const struct rpmi_op *op)
{
    struct rpmi_held_order *order = find(server->orders, client);
    int status;

    RPM_ASSERT(client != 0 && rpmi_serve_has_lock(server));
    if (order == NULL)
        return hand_over(server->orders, client, op);
    if (order->state != RPMI_ORDER_DONE)
        return RPMI_HELD;
    order->state = RPMI_ORDER_FREE;
    if (order->answer_bytes != op->len)
        return RPM_E_PROTO; /* another request than the one that was held */
    status = order->status;
    if (status == 0)
        memcpy(op->into, order->answer, order->answer_bytes);
    return status;
}

void rpmi_orders_forget(struct rpm_server *server, uint32_t client)
{
    struct rpmi_held_order *order;

    if (server->orders == NULL)
        return;
    RPM_ASSERT(rpmi_serve_has_lock(server));
    order = find(server->orders, client);
    if (order == NULL)
        return;
    order->client = 0;
    if (order->state != RPMI_ORDER_TAKEN)
        order->state = RPMI_ORDER_FREE;
}

struct rpmi_held_order *rpmi_orders_take(struct rpm_server *server, uint32_t steps_max,
                                         uint32_t bytes_max)
{
    struct rpmi_orders *orders = server->orders;
    struct rpmi_held_order *taken = NULL;

    rpmi_serve_lock(server);
    for (uint32_t i = 0; i < orders->n && taken == NULL; i++) {
        struct rpmi_held_order *order = &orders->order[(orders->next + i) % orders->n];

        if (order->state != RPMI_ORDER_NEW || order->steps > steps_max || order->bytes > bytes_max)
            continue;
        order->state = RPMI_ORDER_TAKEN;
        orders->next = (orders->next + i + 1) % orders->n; /* each client has its turn */
        taken = order;
    }
    rpmi_serve_unlock(server);
    return taken;
}

void rpmi_orders_answer(struct rpm_server *server, struct rpmi_held_order *order, int status)
{
    uint64_t one = 1;

    RPM_ASSERT(status <= 0);
    rpmi_serve_lock(server);
    RPM_ASSERT(order->state == RPMI_ORDER_TAKEN);
    order->status = status;
    order->state = order->client != 0 ? RPMI_ORDER_DONE : RPMI_ORDER_FREE;
    __atomic_fetch_add(&server->orders->answered, 1, __ATOMIC_RELEASE);
    rpmi_serve_unlock(server);
    if (write(server->engine_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
}
