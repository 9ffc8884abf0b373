/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_link.h: the state of a link with an agent: what the user waits for, and what the server's
 * link owes. order_post.c puts entries in, order.c takes them out, order_choose.c says who fulfils
 * an ORDER.
 *
 * Invariants
 *   an entry leaves only when no completion of the server's link refers to it any more
 *   sent[] has an entry for each completion that the server's link owes, in order
 */
#ifndef RPMI_WRAP_ORDER_LINK_H
#define RPMI_WRAP_ORDER_LINK_H

#include "base/assert.h"
#include "base/select.h"
#include "transport/wrap/agent.h"
#include "transport/wrap/order.h"
#include "transport/wrap/wrap.h"

#include <string.h>

#define RPMI_ORDER_PIECES 2u  /* of one ORDER: a ring has one end */
#define RPMI_CARRY_WRITES 64u /* WRITEs that agents are carrying, of all entries */

enum rpmi_order_wants {
    RPMI_WANTS_USER = 1,    /* report it */
    RPMI_WANTS_WRITTEN = 2, /* the WRITEs in front of an ORDER */
    RPMI_WANTS_PERSISTED = 3
};

/* Who fulfils an ORDER, as an alternative of rpmi_select. */
enum rpmi_order_way {
    RPMI_WAY_AGENT = 0,
    RPMI_WAY_SERVER = 1, /* by COPY, or by PERSIST */
    RPMI_WAYS = 2
};

struct rpmi_order_choice {
    struct rpmi_pick pick; /* of an enum rpmi_order_way */
    bool away;             /* the server, because the agent cannot be asked */
    bool probe;            /* the server, and ask the agent too: rpmi_order_probe() */
};

/* A completion that the server's link owes. */
struct rpmi_order_sent {
    enum rpmi_order_wants wants;
    uint32_t pending; /* index of its entry */
};

/* An op whose completion the user expects. */
struct rpmi_order_entry {
    uint64_t id;
    bool is_order; /* which the agent fulfils, or should have */
    bool done;
    int status;
    bool measured; /* its time is counted when it ends, for pick */
    bool probed;   /* the agent is asked too, though the server fulfils it */
    struct rpmi_pick pick;
    uint64_t posted_ns;
    /* of an ORDER: */
    bool written;    /* its WRITEs have completed, or the agent is to carry them */
    bool persisting; /* a PERSIST is on its way instead */
    uint32_t pieces;
    struct rpmi_op piece[RPMI_ORDER_PIECES];
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t patience_ns;
    uint64_t asked_ns;     /* 0: not yet */
    uint64_t certified_ns; /* 0: not yet */
    /* of a CARRY whose WRITEs were not posted (carry.h): */
    bool carried;
    bool handed;        /* the agent was sent them, or they are written without it */
    uint32_t writes;    /* in the ring of carried WRITEs */
    uint32_t rewritten; /* of these, posted after all */
};

/* A question to the agent about records that the server makes durable. Nothing waits for the
 * answer: it says how long the agent takes. */
struct rpmi_order_probe {
    bool active;
    uint64_t bytes;
    struct rpmi_pick pick;
    struct rpmi_ask ask;
    uint64_t posted_ns;
    uint64_t served_ns; /* how long the server took; 0: it has not ended */
    uint64_t looked_ns; /* when the answer was not there yet */
    uint64_t again_ns;  /* not before this ask again, because the WRITEs had not arrived */
};

/* A WRITE that the agent is to carry, kept for the case that it does not. */
struct rpmi_carried_write {
    struct rpmi_op op;
    unsigned char head[RPMI_LINE_BYTES];
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
    uint32_t unsignaled; /* ops posted to the server's link since its last signaled one */
    bool split;          /* of an ORDER's pieces the first has been posted as a PERSIST */
    struct rpmi_select select;
    struct rpmi_order_probe probe;
    uint64_t limit_ns;                     /* of every time that an ORDER waits for */
    uint64_t mean_ns[RPMI_SELECT_CLASSES]; /* what the agent took lately; 0: not measured */
    uint64_t trouble_ns;  /* since when it has fulfilled nothing in time; 0: it has */
    uint64_t look_ns;     /* not before this look for an answer that nothing waits for */
    uint64_t idle_ns;     /* how long the next wait for an event of the device model is */
    uint64_t pause_ns;    /* between the last two questions about the same records */
    uint64_t again_ns;    /* not before this ask again about the same records */
    uint64_t asked_sum;   /* of the LSNs in the last question: another one, if it differs */
    int epoll_fd;         /* of both links; -1: one of them has no descriptors */
    void *word;           /* a byte of staging memory, for a READ whose result is not used */
    uint32_t turns;       /* in which nothing waited for the agent, since it was last looked at */
    bool failed;          /* an op has failed: what completes behind it means nothing any more */
    bool carries;         /* the server declares the agent */
    uint32_t carry_first; /* the carried WRITEs of all entries, in their order */
    uint32_t carry_used;
    struct rpmi_carried_write carry[RPMI_CARRY_WRITES];
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

/* An entry for an op that the user wants reported; its index in pending[]. */
static inline uint32_t rpmi_order_expect(struct rpmi_order *order, const struct rpmi_op *op)
{
    uint32_t at = (order->first + order->used) % order->room;

    RPM_ASSERT(order->used < order->room);
    order->used++;
    memset(&order->pending[at], 0, sizeof(order->pending[at]));
    order->pending[at].id = op->id;
    return at;
}

/* What an ORDER of these pieces, of which the last one is signaled, waits for. */
static inline void rpmi_order_set(struct rpmi_order_entry *entry, const struct rpmi_op *ops,
                                  uint32_t pieces, uint64_t now_ns)
{
    RPM_ASSERT(pieces > 0 && pieces <= RPMI_ORDER_PIECES);
    entry->is_order = true;
    entry->pieces = pieces;
    for (uint32_t i = 0; i < pieces; i++)
        entry->piece[i] = ops[i];
    entry->first_lsn = ops[0].expect;
    entry->end_lsn = ops[pieces - 1].operand;
    entry->posted_ns = now_ns;
    RPM_ASSERT(entry->first_lsn < entry->end_lsn);
}

/* The pieces of an ORDER, of which the last one is signaled. Their number. */
static inline uint32_t rpmi_order_pieces(const struct rpmi_op *ops, uint32_t n)
{
    uint32_t pieces = 1;

    while (pieces < n && (ops[pieces - 1].flags & RPMI_OP_SIGNALED) == 0)
        pieces++;
    RPM_ASSERT(pieces <= RPMI_ORDER_PIECES && (ops[pieces - 1].flags & RPMI_OP_SIGNALED) != 0);
    return pieces;
}

/* Post ops of the user. How many were taken, or an error of the server's link. */
int rpmi_order_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t n);

/* Have a PERSIST do what the ORDER in entry @i is for, if the server's link has room. */
void rpmi_order_persist(struct rpmi_order *order, uint32_t i);

static inline uint64_t rpmi_order_bytes(const struct rpmi_op *pieces, uint32_t n)
{
    return pieces[0].len + (n > 1 ? pieces[1].len : 0);
}

/* The level that an ORDER brings records to, by the agent or the server. */
static inline enum rpm_level rpmi_order_level(const struct rpmi_order *order)
{
    return order->wrap.link.facts.domain == RPM_DOMAIN_NONE ? RPM_VISIBLE : RPM_DURABLE;
}

/* order_choose.c: after the facts are known; again after a reconnect, when nothing is under way. */
void rpmi_order_choose_begin(struct rpmi_order *order);

/* Who fulfils an ORDER of @n pieces. The pick must be ended. */
struct rpmi_order_choice rpmi_order_choose(struct rpmi_order *order, const struct rpmi_op *pieces,
                                           uint32_t n);

/* The agent is asked about what entry @at of the ring does. */
void rpmi_order_probe(struct rpmi_order *order, const struct rpmi_op *pieces, uint32_t n,
                      uint32_t at);

/* Look whether the probe has been answered; with nothing else to ask, ask again. */
void rpmi_order_probe_turn(struct rpmi_order *order, bool may_ask);

/* The pick of an entry ends: it has been fulfilled; the agent has kept it waiting for longer than
 * its patience; or it was not asked. Nothing happens if it has ended before. */
void rpmi_order_measure(struct rpmi_order *order, struct rpmi_order_entry *entry);
void rpmi_order_late(struct rpmi_order *order, struct rpmi_order_entry *entry, uint64_t now_ns);
void rpmi_order_unmeasure(struct rpmi_order *order, struct rpmi_order_entry *entry);

/* Is the agent to be left alone for now? */
bool rpmi_order_is_away(struct rpmi_order *order, uint64_t now_ns);

/* How long an ORDER waits; how long an agent may fulfil nothing before it is left alone; and how
 * long a post may block to dial it. */
uint64_t rpmi_order_patience_ns(const struct rpmi_order *order, uint32_t size_class);
uint64_t rpmi_order_give_up_ns(const struct rpmi_order *order);
uint64_t rpmi_order_dial_ns(const struct rpmi_order *order);

#endif
