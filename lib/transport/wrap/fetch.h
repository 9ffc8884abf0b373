/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.h: read the decisions of an agent (wire/decision.h) from its region, by one READ on the
 * agent's link at a time, which goes on while other operations do. Lists of PROVEs use the same
 * link: a completion that the other side of it polls is kept for whom it is meant.
 *
 * Invariants
 *   one READ is outstanding at a time, for one log; of another log none is sent until it has ended
 *   what a READ brought is returned once, to the log it was sent for, or dropped for another log
 *
 * Tests: tests/unit/transport/wrap/fetch_test.cpp
 */
#ifndef RPMI_WRAP_FETCH_H
#define RPMI_WRAP_FETCH_H

#include "transport/op.h"
#include "wire/decision.h"

#include <stdbool.h>
#include <stdint.h>

/* A READ that takes longer says that the agent is gone. */
#define RPMI_FETCH_LOST_NS 1000000000ull

struct rpmi_agent;

/* Embedded in struct rpmi_agent. */
struct rpmi_fetch {
    bool wanted;         /* the region is opened with each connection */
    uint32_t key;        /* of the region; 0: this agent has none */
    unsigned char *set;  /* staging memory of the agent's link, a set of lines; NULL: none yet */
    unsigned char *word; /* a line of staging memory, for a word that asks */
    uint64_t log_id;     /* that the READ was sent for */
    bool sent;           /* it is outstanding */
    bool come;           /* what it brought was not taken yet */
    uint64_t sent_ns;
    bool kept; /* a completion of a list was polled, and not taken yet */
    struct rpmi_done list;
};

enum rpmi_fetched {
    RPMI_FETCH_IDLE = 0,    /* none was sent for this log, or it has failed */
    RPMI_FETCH_SENT = 1,    /* it is on its way */
    RPMI_FETCH_LOST = 2,    /* it will not come on this connection */
    RPMI_FETCH_NOTHING = 3, /* the agent has no line of this log that is whole */
    RPMI_FETCH_LINE = 4
};

/* A log is to be trimmed by decisions: open the region, now and after each dial. An agent without
 * one, as an older librpm has, stays without. */
void rpmi_fetch_want(struct rpmi_agent *agent);
/* The link was dialled. Blocks for at most @timeout_us, if the region is wanted. */
void rpmi_fetch_dialled(struct rpmi_agent *agent, uint64_t timeout_us);
/* The link was closed. */
void rpmi_fetch_hang_up(struct rpmi_agent *agent);

/* Send a READ for a log, unless one is outstanding or there is no region. @ask: 0, or another value
 * than the last time, which asks the agent to decide. */
void rpmi_fetch_send(struct rpmi_agent *agent, uint64_t log_id, uint64_t ask, uint64_t now_ns);

/* Take what a READ brought for this log. RPMI_FETCH_LINE: @found, of the agent's run @run. */
enum rpmi_fetched rpmi_fetch_take(struct rpmi_agent *agent, uint64_t log_id, uint64_t now_ns,
                                  struct rpmi_decision *found, uint32_t *run);

/* As poll() of the agent's link, for completions of lists alone. */
int rpmi_fetch_poll(struct rpmi_agent *agent, struct rpmi_done *done);

#endif
