/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h: the client side of verbs: one reliable queue pair, one completion queue, registered
 * staging memory. Ops of the NIC do not need the server CPU; messages do.
 *
 * Invariants
 *   requests in the send queue <= its length: each is counted when posted and when finished
 *   outstanding messages and WRITEs with immediate data <= receives that the server posted
 *   a receive of ours is posted again before the room that its message frees is used
 */
#ifndef RPMI_VERBS_H
#define RPMI_VERBS_H

#include "base/endpoint.h"
#include "base/limits.h"
#include "transport/stage.h"
#include "transport/transport.h"
#include "transport/verbs/nic.h"
#include "transport/watch.h"
#include "wire/handshake.h"
#include "wire/message.h"

#include <stdbool.h>

#define RPMI_VERBS_SPIN_AUTO UINT32_MAX
#define RPMI_CHAIN_MAX 64u     /* requests behind one doorbell */
#define RPMI_ZEROS_BYTES 4096u /* that one request can end with */
#define RPMI_MESSAGES_MAX 64u  /* under way, asked for */
#define RPMI_SLOT_BYTES 512u   /* for each request: a head, a message's front, a small write */
#define RPMI_CALL_SLOT_BYTES 256u
#define RPMI_RECEIVE_ID (1ull << 63) /* in the id of a completion: it is of a receive */

_Static_assert(RPMI_RPC_BYTES + RPMI_LINE_BYTES <= RPMI_SLOT_BYTES, "a message's front fits");

/* How the link is set up: options of the URL. */
struct rpmi_verbs_opts {
    struct rpmi_endpoint to;
    char from[RPMI_HOST_BYTES]; /* client's address: picks device, port, GID; "": the route's */
    uint32_t retries;           /* of an unacknowledged packet, 0..7; 7: for ever on some */
    uint32_t rnr_retries;       /* of a SEND that finds no receive */
    uint32_t ack_timeout;       /* 4.096 us << n; 0: the device's */
    uint32_t inline_bytes;      /* at most so many are copied into a request */
    uint32_t spin_us;   /* poll this long before sleeping; RPMI_VERBS_SPIN_AUTO: by the length of
                           recent waits */
    bool thread_domain; /* ask the provider for a doorbell of our own */
};

/* A COPY of which not all messages are posted yet. */
struct rpmi_rest {
    struct rpmi_op op;
    uint64_t at; /* bytes of head and body that were sent */
    bool whole;  /* all messages were sent */
};

/* An outstanding op. */
struct rpmi_verbs_sent {
    uint64_t id;
    uint64_t wr;   /* number of its last request */
    uint64_t rpc;  /* number of its last RPC request, 0: the NIC alone */
    void *into;    /* STEPS: memory for the answer */
    uint32_t want; /* STEPS: bytes of the answer that is to come */
    uint32_t key;
    uint8_t kind;
    bool signaled;
    int refused; /* never posted, and why: reported once the ops before it have ended */
};

struct rpmi_verbs {
    struct rpmi_link link;
    struct rpmi_verbs_opts opts;
    struct rpmi_watch watch;
    char secret[RPMI_SECRET_BYTES];
    struct rpmi_transcript transcript;

    /* of one connection */
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct rpmi_qp qp;
    struct ibv_td *td;
    struct ibv_pd *parent; /* a thread domain's, or NULL */
    struct rpmi_grant_key key[RPMI_KEYS_MAX];
    bool fenced[RPMI_KEYS_MAX]; /* the server said that a newer writer claimed the log */
    uint32_t credits;           /* that may be under way */
    uint32_t messages_out;

    /* of its device */
    struct rpmi_nic nic;
    struct ibv_pd *pd;
    struct ibv_mr *stage_mr;
    struct ibv_mr *own_mr;

    struct rpmi_stage stage;
    unsigned char *own; /* zeros, call, slots, receives; registered */
    unsigned char *call_slot;
    unsigned char *slots;
    unsigned char *receives;
    uint64_t own_bytes;
    uint32_t receives_n;

    /* counters of this connection; a request's number is its place modulo send_wrs */
    uint32_t send_wrs;
    uint64_t posted;     /* requests */
    uint64_t finished;   /* of those */
    uint64_t unsignaled; /* since the last one that will be reported */
    uint64_t rpcs;       /* asked for */
    uint64_t rpcs_done;
    int rpc_status;     /* of the last one that was done */
    uint32_t lists_out; /* STEPS whose answer has not come */

    uint64_t by_opcode[16];       /* completions of ours that went well, by enum ibv_wc_opcode */
    struct rpmi_verbs_sent *sent; /* ring of link.depth */
    uint64_t sent_tail;
    uint64_t sent_head; /* ops before it were reported, or need no report */
    struct rpmi_rest rest;
    uint64_t fence_rpc;    /* a FENCED op waits until so many RPC requests are done */
    bool wants;            /* the last post ended at an op that found no room */
    struct rpmi_op wanted; /* that op; its pointers are not valid any more */

    bool broken; /* the queue pair failed: requests that are not finished never will be */
    uint64_t broken_wr;
    int broken_status; /* of that request; of all later ones RPM_E_LOST */
    bool told_failure; /* an op was given the reason */
    bool refusing;     /* an op was refused: nothing is taken any more */

    bool asking; /* an auth message or a call has no answer yet */
    bool accepted;
    bool replied;
    unsigned char answer[RPMI_MSG_TO_CLIENT]; /* an accept message or a reply */

    uint64_t usual_ns; /* length of recent waits */
    struct rpmi_wr chain[RPMI_CHAIN_MAX];
};

static inline struct rpmi_verbs *rpmi_verbs_of(struct rpmi_link *link)
{
    return (struct rpmi_verbs *)(void *)link;
}

/* dial.c: a connection to the server, up to the accept message. Owns nothing on failure.
 * RPM_E_REFUSED, RPM_E_TIMEDOUT, RPM_E_DENIED, RPM_E_VERSION, RPM_E_PROTO, RPM_E_LOST, RPM_E_NOCAP,
 * RPM_E_NOMEM, or what the server says. */
int rpmi_verbs_dial(struct rpmi_verbs *verbs, uint64_t deadline_ns, struct rpmi_accept *accepted);
/* Release all that dial made. Safe at any stage of it. */
void rpmi_verbs_hang_up(struct rpmi_verbs *verbs);

/* handshake.c: from an established queue pair to an accept message. */
int rpmi_verbs_handshake(struct rpmi_verbs *verbs, uint64_t deadline_ns,
                         struct rpmi_accept *accepted);

/* memory.c: buffers of our own and staging memory, and their registration. */
int rpmi_verbs_memory_open(struct rpmi_verbs *verbs, uint32_t depth, uint64_t staging_bytes);
void rpmi_verbs_memory_close(struct rpmi_verbs *verbs);
int rpmi_verbs_memory_register(struct rpmi_verbs *verbs);
/* Post receive @i. RPM_E_LOST. */
int rpmi_verbs_receive(struct rpmi_verbs *verbs, uint32_t i);

/* post.c */
int rpmi_verbs_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
/* Is there room by now for the op that found none? wait() must return then, even if no op that
 * ended is to be reported. */
bool rpmi_verbs_room_came(const struct rpmi_verbs *verbs);
/* Room came free: go on with a COPY that was begun. */
void rpmi_verbs_continue(struct rpmi_verbs *verbs);
/* A message of @len bytes from @bytes: an auth message or a call. RPM_E_LOST, RPM_E_BUSY: no
 * room. */
int rpmi_verbs_send(struct rpmi_verbs *verbs, const void *bytes, uint32_t len);

/* reap.c */
int rpmi_verbs_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_verbs_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_verbs_arm(struct rpmi_link *link, uint64_t *by_ns);
/* Take in what the completion queue holds; nothing is reported yet. */
void rpmi_verbs_drain(struct rpmi_verbs *verbs);
/* Wait until @*flag, the queue pair breaks or time is up. 0, RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_verbs_wait_flag(struct rpmi_verbs *verbs, const bool *flag, uint64_t deadline_ns);
/* Record that the queue pair failed, at which request and why. */
void rpmi_verbs_break(struct rpmi_verbs *verbs, uint64_t wr, int status);

#endif
