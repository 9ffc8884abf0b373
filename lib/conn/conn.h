/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn.h: a connection: one link, shared by the logs and regions opened on it. Each of them is an
 * owner: it posts ops through the connection, which counts credits, delivers each completion to the
 * owner of its op, and has helpers that block.
 *
 * Invariants
 *   every op on the link holds one credit until a later or its own completion is reaped
 *   the throttle holds a post back only while a completion is outstanding
 *   an op's id contains its owner's slot, by which the connection finds the owner of a completion
 *   an owner leaves only when no op of it is outstanding: the next owner of its slot would take the
 *   completion for its own
 *   after a loss each owner's lost() is called once, and nothing is posted until a reconnect
 *   an owner holds operations back only while a completion is outstanding after which it can post
 *     them
 *
 * Threads: one. Tests: tests/unit/conn/
 */
#ifndef RPMI_CONN_H
#define RPMI_CONN_H

#include "conn/backoff.h"
#include "conn/credit.h"
#include "conn/throttle.h"
#include "plan/plan.h"
#include "transport/transport.h"

#include <librpm/objects.h>

#define RPMI_BOUNCE_BYTES (256u << 10) /* read buffer of a connection */
#define RPMI_OWNER_SEQ_BITS 56u
#define RPMI_POST_DONE 1      /* a result of rpmi_conn_post() */
#define RPMI_CREDITS_SPARE 2u /* not for posts: a nudge, and a wait in the middle of a post */

struct rpmi_owner {
    uint8_t slot;       /* index in conn->owners */
    bool lost_reported; /* lost() was called, or the owner joined a lost connection */
    uint32_t due;       /* completions of its ops that are outstanding */
    /* Has the owner a completion for the user to poll? NULL: never. */
    bool (*has_completion)(struct rpmi_owner *owner);
    /* The op that the owner posted with @seq has ended, and so have all before it. */
    void (*complete)(struct rpmi_owner *owner, uint64_t seq, int status);
    /* The link is lost: no outstanding op will complete any more. */
    void (*lost)(struct rpmi_owner *owner, int status);
    /* Post the operations held back, if the owner's conditions are met; @blocked: the caller is
     * about to wait, so that no further operation can share the flush. rpmi_conn_pump() and
     * rpmi_conn_wait() call it while @holds, never in the middle of another post. True: an op was
     * posted. */
    bool (*release)(struct rpmi_owner *owner, bool blocked);
    bool holds; /* set by rpmi_conn_holds() */
};

/* For a user with an event loop: an epoll set of the link's descriptors and a timer. */
struct rpmi_events {
    int epoll_fd; /* -1: the user has not called rpm_conn_fd() */
    int timer_fd;
    uint64_t timer_ns; /* when it expires, 0: not set */
    uint64_t ended;    /* completions when last checked */
    uint64_t since_ns; /* no op has completed since then, 0: none was outstanding */
};

/* An outstanding completion: how many credits it gives back. */
struct rpmi_due {
    uint32_t credits;
};

struct rpm_conn {
    struct rpmi_link *link;
    struct rpmi_credit credit;
    uint32_t unthrottled; /* with at most so many ops outstanding, a post needs no admit() */
    uint32_t unsignaled;  /* ops posted since the last signaled one */
    struct rpmi_due *due; /* ring of depth: signaled ops in order */
    uint32_t due_first;
    uint32_t due_count;
    uint64_t ended;      /* completions so far */
    uint64_t generation; /* number of reconnects; the keys of an earlier generation are void */
    uint64_t timeout_ns;
    uint64_t payload_bytes;
    uint32_t hints;
    uint32_t method;
    uint32_t owners_open;
    uint32_t holding; /* number of owners with @holds */
    struct rpmi_owner *owners[RPMI_OWNERS_MAX + 1];
    struct rpmi_owner self; /* slot 0: blocking helpers and nudges */
    uint64_t self_seq;      /* last one posted */
    uint64_t self_done;     /* last one completed */
    int self_status;
    struct rpmi_throttle throttle;
    struct rpmi_backoff backoff;
    struct rpmi_events events;
    bool throttled;
    bool gathers;          /* only rpm_conn_turn() and blocking calls pump, see RPM_PACE_GATHER */
    bool eager;            /* no back-off between attempts to take a lock */
    unsigned char *bounce; /* RPMI_BOUNCE_BYTES of staging memory */
    unsigned char *word;   /* one line of staging memory, in parts: enum rpmi_word */
};

/* Offsets of results in that line. Byte 0 receives the unused byte that the READ of a seal fetches:
 * seals of held appends may be posted, and complete, while a call waits for a result. */
enum rpmi_word { RPMI_WORD_ATOMIC = 16, RPMI_WORD_CLAIM = 32 };

/* Derive the options of the link from those of the connection. RPM_E_INVAL, RPM_E_OPTS. */
int rpmi_conn_link_opts(const struct rpm_conn_opts *opts, struct rpmi_link_opts *link);

/* A connection over @link, which it owns from now on; on failure the link is closed. RPM_E_INVAL
 * (hints, method), RPM_E_NOCAP, RPM_E_NOMEM. */
int rpmi_conn_wrap(struct rpmi_link *link, const struct rpm_conn_opts *opts,
                   struct rpm_conn **conn);

static inline struct rpmi_link *rpmi_conn_link(struct rpm_conn *conn)
{
    return conn->link;
}

static inline bool rpmi_conn_is_synchronous(const struct rpm_conn *conn)
{
    return (conn->link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0;
}

/* The deadline of a blocking call that starts now. */
uint64_t rpmi_conn_deadline(struct rpm_conn *conn);

/* Add @owner, whose callbacks are set, to the connection. RPM_E_LIMIT. */
int rpmi_conn_join(struct rpm_conn *conn, struct rpmi_owner *owner);
void rpmi_conn_leave(struct rpm_conn *conn, struct rpmi_owner *owner);

/* Wait until no op of @owner is outstanding, so that it may leave and the link uses its staging
 * memory no more; or until the link is lost. */
void rpmi_conn_drain(struct rpm_conn *conn, struct rpmi_owner *owner);

/* Wait until no op of any owner is outstanding, so that none is carried out with a key that a call
 * closes next; or until the link is lost, as it is with RPM_E_TIMEDOUT at the deadline of a
 * blocking call. */
void rpmi_conn_drain_all(struct rpm_conn *conn);

/*
 * Post @n ops (1..RPMI_BATCH_OPS_MAX) for @owner; SIGNALED and failed ones complete with @seq (the
 * connection's own are numbered when posted). Either all ops are taken, or none and RPM_E_BUSY is
 * returned. Waits only where an op says WAIT. 0: a completion will follow. RPMI_POST_DONE: the link
 * completes on post, all ops are done, and no completion follows. RPM_E_LOST, and on such a link
 * the error of the op.
 */
int rpmi_conn_post(struct rpm_conn *conn, struct rpmi_owner *owner, struct rpmi_op *ops, uint32_t n,
                   uint64_t seq);

/* Set whether @owner holds operations back, which its release() is to post. */
static inline void rpmi_conn_holds(struct rpm_conn *conn, struct rpmi_owner *owner, bool holds)
{
    if (RPMI_LIKELY(owner->holds == holds))
        return;
    RPM_ASSERT(!holds || owner->release != NULL);
    owner->holds = holds;
    conn->holding += holds ? 1 : (uint32_t)-1;
}

/* Reap and hand out completions, then let owners post the operations they hold back. 0, or the
 * reason the link is lost. Does not block. */
int rpmi_conn_pump(struct rpm_conn *conn);

/* Pump in a call with another purpose, such as rpm_log_poll(), unless the connection gathers. */
void rpmi_conn_pump_unless_gathers(struct rpm_conn *conn);

/* Post the operations held back, wait for a completion, then pump. 0, RPM_E_TIMEDOUT (the link is
 * then lost), or the reason of the loss. */
int rpmi_conn_wait(struct rpm_conn *conn, uint64_t deadline_ns);

/* As rpmi_conn_wait(), for a caller with its own time limit: RPM_E_BUSY if nothing completed by
 * @until_ns. After timeout_ns without a completion it closes the connection, as an event loop
 * does. */
int rpmi_conn_wait_until(struct rpm_conn *conn, uint64_t until_ns);

/* When to close the connection unless an op completes before; UINT64_MAX: none is outstanding. */
uint64_t rpmi_conn_silent_until(struct rpm_conn *conn, uint64_t now);

/* Close the connection: the link is lost with RPM_E_TIMEDOUT, and every owner's lost() is called.
 * Returns RPM_E_TIMEDOUT. */
int rpmi_conn_time_out(struct rpm_conn *conn);

/* events.c */
void rpmi_events_init(struct rpmi_events *events);
void rpmi_events_close(struct rpmi_events *events);

/* Wait for @ns, at most until @deadline_ns. */
void rpmi_conn_pause(struct rpm_conn *conn, uint64_t ns, uint64_t deadline_ns);

/* Post the ops and wait for the last one, which this function signals. */
int rpmi_conn_exec(struct rpm_conn *conn, struct rpmi_op *ops, uint32_t n);

/* Read remote memory into @into, which may be any memory: the bounce buffer is used if the link
 * needs it. */
int rpmi_conn_read(struct rpm_conn *conn, uint32_t key, uint64_t offset, void *into, uint64_t len);

/* Bring ranges to the plan's level and wait. */
int rpmi_conn_persist(struct rpm_conn *conn, const struct rpmi_plan *plan, uint32_t key,
                      const struct rpmi_range *ranges, uint32_t n);

/* Send a control message and wait for the reply. The reply's status if that is an error, with its
 * text as this thread's last error; or the error of the link. */
int rpmi_conn_call(struct rpm_conn *conn, const struct rpmi_call *call, struct rpmi_reply *reply);

/* Close a key at the server. Does nothing if the link is lost, because its keys ended with it. */
void rpmi_conn_drop_key(struct rpm_conn *conn, uint32_t key);

/* The request for a plan on this connection (plan/plan.h). @method: 0: the connection's. */
struct rpm_request rpmi_conn_request(const struct rpm_conn *conn, enum rpm_request_kind kind,
                                     uint32_t level, uint32_t method);

#endif
