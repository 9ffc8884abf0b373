/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orders.h: lists of PROVEs and CARRYs that a server hands to an agent instead of carrying them out
 * itself.
 * The engine holds such a list: it leaves it, serves other clients, and tries it again after an
 * answer has come. A client has one list held at a time, because the requests of a connection are
 * carried out in order.
 *
 * Threads: the engine and the agent's thread, each under the server's lock.
 * Tests: tests/unit/serve/orders_test.cpp
 */
#ifndef RPMI_SERVE_ORDERS_H
#define RPMI_SERVE_ORDERS_H

#include "base/mem.h"
#include "transport/op.h"
#include "wire/certificate.h"
#include "wire/steps.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct rpm_server;

/* Steps of a list: the results of as many PROVEs must fit in an answer. */
#define RPMI_ORDER_STEPS                                                                           \
    ((RPMI_STEPS_BYTES - RPMI_STEPS_ANSWER_HEAD) / (uint32_t)RPMI_CERTIFICATE_BYTES)

#define RPMI_HELD 1 /* the result of a request that is to be tried again later */

enum rpmi_order_state {
    RPMI_ORDER_FREE = 0,
    RPMI_ORDER_NEW = 1,   /* for the agent to take */
    RPMI_ORDER_TAKEN = 2, /* by the agent */
    RPMI_ORDER_DONE = 3   /* answered, for the client to fetch */
};

struct rpmi_held_order {
    uint32_t state;  /* enum rpmi_order_state */
    uint32_t client; /* 0: the client has left, the answer is dropped */
    int32_t status;  /* DONE: 0, or why there is no answer */
    uint32_t bytes;  /* of the list */
    uint32_t answer_bytes;
    uint32_t steps;
    uint32_t proves; /* of these steps; the others are CARRYs */
    unsigned char list[RPMI_STEPS_BYTES];
    unsigned char answer[RPMI_STEPS_BYTES];
};

struct rpmi_orders {
    int event_fd;      /* readable: there is a NEW order */
    uint64_t answered; /* orders answered so far; atomic: a held request is tried after it grew */
    uint32_t n;        /* as many as clients */
    uint32_t next;     /* where the agent looks first */
    struct rpmi_held_order order[];
};

/* From now on lists of PROVEs and CARRYs alone are handed to an agent. Before the loops run.
 * RPM_E_NOMEM, RPM_E_IO. */
int rpmi_orders_open(struct rpm_server *server);

/* Safe on NULL; sets it to NULL. */
static inline void rpmi_orders_close(struct rpmi_orders **orders)
{
    if (*orders != NULL)
        (void)close((*orders)->event_fd);
    rpmi_free(*orders);
    *orders = NULL;
}

/* The engine: does the agent carry this list out, or does the server itself? */
bool rpmi_orders_want(const struct rpm_server *server, uint32_t client, const struct rpmi_op *op);

/* The engine: hand the list over, or fetch its answer. 0, RPMI_HELD, RPM_E_PROTO (no valid list),
 * RPM_E_BUSY (no room), or the status that the agent gave. */
int rpmi_orders_do(struct rpm_server *server, uint32_t client, const struct rpmi_op *op);

/* Can a held request have got its answer since @answered was read? */
static inline bool rpmi_orders_moved(const struct rpmi_orders *orders, uint64_t answered)
{
    return orders != NULL && __atomic_load_n(&orders->answered, __ATOMIC_ACQUIRE) != answered;
}

static inline uint64_t rpmi_orders_answered(const struct rpmi_orders *orders)
{
    return orders == NULL ? 0 : __atomic_load_n(&orders->answered, __ATOMIC_ACQUIRE);
}

/* The client has left: its order, if the agent has it, is answered in vain. */
void rpmi_orders_forget(struct rpm_server *server, uint32_t client);

/* The agent's thread. Take an order, of at most @steps_max steps and @bytes_max bytes; NULL: there
 * is none. It stays the agent's until rpmi_orders_answer(). */
struct rpmi_held_order *rpmi_orders_take(struct rpm_server *server, uint32_t steps_max,
                                         uint32_t bytes_max);
/* Answer it: 0 and order->answer filled in, or @status. The engine is woken. */
void rpmi_orders_answer(struct rpm_server *server, struct rpmi_held_order *order, int status);

#endif
