/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_link.h: the state of a link with an agent: what the user waits for, and what the server's
 * link owes. order_post.c puts entries in, order.c takes them out.
 *
 * Invariants
 *   an entry leaves only when no completion of the server's link refers to it any more
 *   sent[] has an entry for each completion that the server's link owes, in order
 */
#ifndef RPMI_WRAP_ORDER_LINK_H
#define RPMI_WRAP_ORDER_LINK_H

#include "base/assert.h"
#include "transport/wrap/agent.h"
#include "transport/wrap/order.h"
#include "transport/wrap/wrap.h"

#define RPMI_ORDER_PIECES 2u /* of one ORDER: a ring has one end */

enum rpmi_order_wants {
    RPMI_WANTS_USER = 1,    /* report it */
    RPMI_WANTS_WRITTEN = 2, /* the WRITEs in front of an ORDER */
    RPMI_WANTS_PERSISTED = 3
};

/* A completion that the server's link owes. */
struct rpmi_order_sent {
    enum rpmi_order_wants wants;
    uint32_t pending; /* index of its entry */
};

/* An op whose completion the user expects. */
struct rpmi_order_entry {
    uint64_t id;
    bool is_order;
    bool done;
    int status;
    /* of an ORDER: */
    bool written;    /* its WRITEs have completed */
    bool persisting; /* a PERSIST is on its way instead */
    uint32_t pieces;
    struct rpmi_op piece[RPMI_ORDER_PIECES];
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t posted_ns;
};

struct rpmi_order {
    struct rpmi_wrap wrap;
    struct rpmi_agent agent;
    uint32_t room; /* entries of both rings */
    uint32_t first;
    uint32_t used;
    struct rpmi_order_entry *pending;
    uint32_t sent_first;
    uint32_t sent_used;
    struct rpmi_order_sent *sent;
    uint32_t unsignaled;  /* ops posted to the server's link since its last signaled one */
    uint64_t patience_ns; /* with an ORDER */
    uint64_t idle_ns;     /* how long the next wait for an event of the device model is */
    uint64_t pause_ns;    /* between the last two questions about the same records */
    uint64_t again_ns;    /* not before this ask again about the same records */
    uint64_t asked_sum;   /* of the LSNs in the last question: another one, if it differs */
    int epoll_fd;         /* of both links; -1: one of them has no descriptors */
    void *word;           /* a byte of staging memory, for a READ whose result is not used */
    uint32_t turns;       /* in which nothing waited for the agent, since it was last looked at */
    bool failed;          /* an op has failed: what completes behind it means nothing any more */
    struct rpmi_op ops[RPMI_BATCH_OPS_MAX];
};

static inline struct rpmi_order *rpmi_order_of(struct rpmi_link *link)
{
    struct rpmi_order *order = (struct rpmi_order *)(void *)link;

    RPM_ASSERT(order->used <= order->room && order->sent_used <= order->room);
    return order;
}

static inline struct rpmi_order_entry *rpmi_order_entry(struct rpmi_order *order, uint32_t i)
{
    RPM_ASSERT(i < order->used);
    return &order->pending[(order->first + i) % order->room];
}

/* Post ops of the user. How many were taken, or an error of the server's link. */
int rpmi_order_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n);

/* Have a PERSIST do what the ORDER in entry @i is for, if the server's link has room. */
void rpmi_order_persist(struct rpmi_order *order, uint32_t i);

#endif
