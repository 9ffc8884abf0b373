/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport.h: the interface that a transport provider implements: a table of operations on a link,
 * which is one open connection of that transport. Users see <librpm/conn.h> instead.
 *
 * Order: ops of one link execute in the order posted, as on one RC queue pair: a READ sees and
 * pushes every earlier WRITE; a WRITE is not held back by an earlier READ or FLUSH unless FENCED.
 * Completions are reported in order. A successful op that is not SIGNALED is not reported. After
 * the first failed op every later one fails with RPM_E_LOST and the link is lost, except that
 * RPM_E_FENCED, RPM_E_DENIED and RPM_E_RANGE on shm:, tcp: and unix: fail only the ops of that
 * post.
 */
#ifndef RPMI_TRANSPORT_H
#define RPMI_TRANSPORT_H

#include "base/url.h"
#include "transport/op.h"
#include "wire/call.h"

#include <librpm/conn.h>
#include <librpm/stats.h>
#include <stdbool.h>
#include <stdint.h>

struct rpmi_link;
struct rpmi_agent; /* wrap/agent.h */

enum rpmi_link_flag {
    /*
     * post() carries out WRITE, READ, DRAIN, PERSIST, CAS, FAA and STEPS before it returns: the
     * link queues no completions, the return value of post() is the outcome, and post() borrows all
     * memory only until it returns. Without this flag body and into must be in staging memory, and
     * the caller must not touch them until the completion.
     */
    RPMI_LINK_COMPLETES_ON_POST = 1,
    RPMI_LINK_STEPS = 2,   /* the link has STEPS: a list is carried out as one op */
    RPMI_LINK_COUNTS = 4,  /* the link counts messages and bytes itself; else its user counts ops */
    RPMI_LINK_WATCH = 8,   /* a list may begin with a WATCH: the server holds it */
    RPMI_LINK_SUM = 16,    /* a list may have SUMs */
    RPMI_LINK_CARRY = 32,  /* a list may have CARRYs, and the server knows of declared agents */
    RPMI_LINK_COMPARE = 64 /* a list may have COMPAREs */
};

/*
 * A fast path for WRITE ... WRITE, DRAIN to one key, and for a lone READ or CAS, on a link that
 * completes on post: a few nanoseconds each, because enter() checks the conditions of all of them
 * once. Between enter() and leave() the caller uses the link for nothing else. Offsets count from
 * the start of the key's object and, with lengths, stay within what was entered: that is asserted.
 * Bodies are borrowed until return.
 */
struct rpmi_fast_path {
    /* Check that the key may write to the first @bytes of its object, and enter the guarded section
     * of its claim. 0: leave() must follow. An error: nothing has happened, and post() of the same
     * ops returns the reason. @alone: one short write follows, which should drain as soon as
     * possible. @cached: see RPMI_OP_CACHED. */
    int (*enter)(struct rpmi_link *link, uint32_t key, uint64_t bytes, bool alone, bool cached);
    /* Write three words, a body, zeros up to @len. */
    void (*frame)(struct rpmi_link *link, uint64_t offset, const uint64_t head[3], const void *body,
                  uint64_t body_bytes, uint64_t len);
    /* Write a body, zeros up to @len. */
    void (*body)(struct rpmi_link *link, uint64_t offset, const void *body, uint64_t body_bytes,
                 uint64_t len);
    void (*leave)(struct rpmi_link *link);
    /* Called by a reader that waits at the tail of the log of @key: counts it in the log's header
     * (wire/guard.h), where the writer checks whether its newest lines are read at once. */
    void (*follow)(struct rpmi_link *link, uint32_t key);
    /* One READ, one CAS, without enter(). An error: nothing has happened, and post() of the same op
     * returns the reason. */
    int (*read)(struct rpmi_link *link, uint32_t key, uint64_t offset, void *into, uint64_t len);
    int (*swap)(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t expect,
                uint64_t desired, uint64_t *found);
};

struct rpmi_link_opts {
    uint64_t timeout_us;
    uint32_t depth;
    uint64_t staging_bytes;
    const char *secret; /* may be NULL; borrowed until return */
    bool gathers;       /* the link may hold posted ops back until the next poll or wait */
};

struct rpmi_transport_ops {
    size_t size;        /* sizeof this table */
    const char *scheme; /* "sim", "shm", "tcp" */

    /* Open a link. Blocks up to timeout_us. Owns nothing on failure. */
    int (*connect)(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                   struct rpmi_link **link);

    /* Connect again after a loss. Outstanding ops are dropped, every key becomes void, staging
     * memory keeps its address. Blocks at most until @deadline_ns on the link's clock. */
    int (*reconnect)(struct rpmi_link *link, uint64_t deadline_ns);

    /* Queue @n ops in order. Returns how many were taken, 0..n (0: full, poll first), or an error:
     * then none was taken, or (COMPLETES_ON_POST) it is the status of the first op that failed.
     * Never blocks. */
    int (*post)(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);

    /* Reap up to @n completions. Returns the count, 0 when idle, RPM_E_LOST once the link is lost
     * and every completion was reaped. Never blocks; the device model processes one event. */
    int (*poll)(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);

    /* Wait until poll() has something to report, or there is room for the ops that post() last did
     * not take. 0, or RPM_E_TIMEDOUT. */
    int (*wait)(struct rpmi_link *link, uint64_t deadline_ns);

    /* For an event loop; called at most once. From now on, after every reconnect too, the link
     * keeps its descriptors that become readable at an event in the epoll set @epoll_fd, which is
     * the caller's and stays open until the link is closed. RPM_E_NOCAP: the link has no such
     * descriptor. RPM_E_NOMEM. */
    int (*watch)(struct rpmi_link *link, int epoll_fd);

    /* After watch(). 1: poll() has something to report. 0: call poll() when the epoll set becomes
     * readable, or at the time @by_ns, which arm() only ever lowers. Any later call on the link may
     * consume the event: then arm again. Never blocks. */
    int (*arm)(struct rpmi_link *link, uint64_t *by_ns);

    /* Send a control message and wait for the answer. The answer's status is in @reply; the return
     * value says whether there is an answer: 0, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_PROTO. */
    int (*call)(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                uint64_t deadline_ns);

    /* Memory that ops may refer to, cache-line aligned. Setup only. NULL: no room left. */
    void *(*stage)(struct rpmi_link *link, uint64_t bytes);
    void (*unstage)(struct rpmi_link *link, void *ptr);

    /* The address of remote memory in this process, valid until the link is lost or closed. NULL:
     * the memory is not mapped. */
    const void *(*peek)(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len);

    /* The clock of deadlines: real, or that of the device model. */
    uint64_t (*now_ns)(struct rpmi_link *link);

    /* Let time pass, at most @ns: real sleep, or model events. */
    void (*pause)(struct rpmi_link *link, uint64_t ns);

    /* Close. Every op not yet reaped is lost. */
    void (*close)(struct rpmi_link *link);
};

/* Embedded first in every provider's own struct; filled in by connect. */
struct rpmi_link {
    const struct rpmi_transport_ops *ops;
    struct rpm_facts facts;                 /* exchanged at connect, methods included */
    uint32_t flags;                         /* enum rpmi_link_flag */
    const struct rpmi_fast_path *fast_path; /* NULL: use post(); wrappers have none */
    uint32_t depth;                         /* ops outstanding at most */
    uint32_t client;                        /* id of this client at the server */
    uint32_t server_epoch;
    struct rpmi_agent *agent;    /* beside the server; NULL: none */
    int lost;                    /* 0, or why the link is lost */
    struct rpm_conn_stats stats; /* kept by the link's user; by the link: sleeps, with
                                    an agent what became of orders, and, with RPMI_LINK_COUNTS,
                                    messages and bytes */
};

/*
 * Open a link by URL: find the provider, connect, add the wrappers that the URL asks for
 * ("wrap=trace+count+..."). RPM_E_INVAL for an unknown scheme or wrapper.
 */
int rpmi_link_open(const char *url, const struct rpmi_link_opts *opts, struct rpmi_link **link);

/* default_ops.c: fill every missing op with one that returns RPM_E_NOCAP (or NULL, or nothing). */
void rpmi_transport_complete(struct rpmi_transport_ops *ops);

#endif
