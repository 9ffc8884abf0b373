/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upstream.h: an agent's connection to the server: the orders of many clients go there as one list,
 * and each gets its part of the answer. While a list is outstanding, orders wait, and the next list
 * has all of them: the busier the server, the more orders share a list. An agent that spins also
 * holds a list for a few microseconds that has fewer orders than the one before: the clients whose
 * orders were answered together soon have the next ones.
 *
 * Tests: tests/unit/agent/upstream_test.cpp
 */
#ifndef RPMI_AGENT_UPSTREAM_H
#define RPMI_AGENT_UPSTREAM_H

#include "serve/orders.h"
#include "transport/transport.h"
#include "wire/hello.h"

#define RPMI_UPSTREAM_RETRY_NS 100000000ull /* after a failed dial; doubles */
#define RPMI_UPSTREAM_RETRY_MAX_NS 10000000000ull
#define RPMI_UPSTREAM_HOLD_NS 20000ull /* how long a list may wait for further orders */
#define RPMI_UPSTREAM_STEPS RPMI_ORDER_STEPS

struct rpmi_upstream_stats {
    uint64_t orders;
    uint64_t lists;
    uint64_t failed;
    uint64_t dials;
    uint64_t carried;
    uint64_t setup_ns;   /* how long the last connect to the server took */
    uint64_t hold_ns;    /* sum over the lists answered: from the first order until it was sent, */
    uint64_t execute_ns; /* and from then until its answer */
};

struct rpmi_upstream {
    struct rpm_server *front; /* whose orders these are */
    char url[RPMI_URL_BYTES_MAX];
    char secret[RPMI_SECRET_BYTES];
    char name[RPM_NAME_MAX + 1]; /* of a declared agent, which carries records; "": it does not */
    uint64_t timeout_us;
    int epoll_fd;           /* watches the link */
    struct rpmi_link *link; /* NULL: to be dialled */
    unsigned char *list;    /* staging memory of the link */
    unsigned char *answer;
    uint32_t taken; /* orders in the list that is held or outstanding; 0: there is none */
    uint32_t steps;
    uint32_t proves;   /* of these; the others are CARRYs */
    uint32_t bytes;    /* of that list */
    bool sent;         /* it is outstanding */
    bool holds;        /* lists may be held */
    uint32_t expected; /* orders in the list before */
    uint64_t begun_ns; /* when that list got its first order */
    uint64_t sent_ns;  /* when it was sent */
    struct rpmi_held_order *order[RPMI_UPSTREAM_STEPS];
    uint64_t retry_ns;
    uint64_t dial_at_ns;
    struct rpmi_upstream_stats stats; /* atomic, relaxed */
};

/* Dial the server, and say which declared agent this is. The errors of rpm_conn_open(),
 * RPM_E_NOCAP (it has its pool mapped, or knows no agents), RPM_E_DENIED (it declares no such
 * agent). */
int rpmi_upstream_dial(struct rpmi_upstream *upstream);
void rpmi_upstream_close(struct rpmi_upstream *upstream);

/* Do what can be done now. True: something was done. */
bool rpmi_upstream_turn(struct rpmi_upstream *upstream, uint64_t now_ns);

/* Arm the link's descriptors for the answer. 1: it is there already. @by_ns: lowered to when a turn
 * is due without an event. */
int rpmi_upstream_arm(struct rpmi_upstream *upstream, uint64_t *by_ns);

#endif
