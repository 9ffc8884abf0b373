/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h: the client side of verbs:. A link has one reliable queue pair, one completion queue and
 * registered staging memory. The NICs carry out WRITE, READ, FLUSH and atomics by themselves; for
 * the other ops the client sends a message to the server CPU. An RPC request is such a message, or
 * a WRITE with immediate data.
 *
 * Invariants
 *   requests in the send queue <= its length: each is counted when posted and when finished
 *   outstanding messages and WRITEs with immediate data <= receives that the server posted
 *   the client posts a receive again before it uses the credits that the message gave back
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
#define RPMI_SLOT_BYTES 512u   /* for each request: a head, a message's front, a small write */
#define RPMI_CALL_SLOT_BYTES 256u
#define RPMI_RECEIVE_ID (1ull << 63) /* in the id of a completion: it is of a receive */

_Static_assert(RPMI_RPC_BYTES + RPMI_LINE_BYTES <= RPMI_SLOT_BYTES, "a message's front fits");

/* How the link is set up: options of the URL. */
struct rpmi_verbs_opts {
    struct rpmi_endpoint to;
    char from[RPMI_HOST_BYTES]; /* client's address: picks device, port, GID; "": the route's */
    uint32_t retries;      /* of an unacknowledged packet, 0..7; 7: without end on some devices */
    uint32_t rnr_retries;  /* of a SEND that finds no receive */
    uint32_t ack_timeout;  /* 4.096 us << n; 0: the device's */
    uint32_t inline_bytes; /* at most so many are copied into a request */
    uint32_t spin_us;      /* poll this long before sleeping; RPMI_VERBS_SPIN_AUTO: by the length of
                           recent waits */
    bool thread_domain;    /* ask the provider for a doorbell of this thread's own */
};

/* The last COPY that was taken; it may need more messages than there was room for. */
struct rpmi_unsent_copy {
    struct rpmi_op op;
    uint64_t at;   /* bytes of head and body that were sent */
    bool all_sent; /* all messages were sent */
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
    int refused; /* 0; else the op was not posted for this reason, which is reported once the ops
                    before it have ended */
};

struct rpmi_verbs {
    struct rpmi_link link;
    struct rpmi_verbs_opts opts;
    struct rpmi_watch watch;
    char secret[RPMI_SECRET_BYTES];
    struct rpmi_transcript transcript;

    /* Of one connection. */
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct rpmi_qp qp;
    struct ibv_td *td;
    struct ibv_pd *parent; /* a thread domain's, or NULL */
    struct rpmi_grant_key key[RPMI_KEYS_MAX];
    bool fenced[RPMI_KEYS_MAX]; /* a fenced message came: a newer writer claimed the log */
    uint32_t credits;           /* messages that may be outstanding */
    uint32_t messages_out;      /* messages that are */

    /* Of its device. */
    struct rpmi_nic nic;
    struct ibv_pd *pd;
    struct ibv_mr *stage_mr;
    struct ibv_mr *own_mr;

    struct rpmi_stage stage;
    unsigned char *own; /* the link's registered buffers: zeros, call, slots, receives */
    unsigned char *call_slot;
    unsigned char *slots;
    unsigned char *receives;
    uint64_t own_bytes;
    uint32_t receives_n;

    /* Counters of this connection. Request i uses slot i modulo send_wrs. */
    uint32_t send_wrs;
    uint64_t posted;     /* requests posted */
    uint64_t finished;   /* of those, finished */
    uint64_t unsignaled; /* requests since the last signaled one */
    uint64_t rpcs;       /* RPC requests posted */
    uint64_t rpcs_done;  /* of those, done: the last count that the server sent */
    int rpc_status;      /* of the last one that was done */
    uint32_t lists_out;  /* STEPS whose answer has not come */

    uint64_t by_opcode[16];       /* successful completions, by enum ibv_wc_opcode */
    struct rpmi_verbs_sent *sent; /* ring of link.depth */
    uint64_t sent_tail;
    uint64_t sent_head; /* ops before it were reported, or need no report */
    struct rpmi_unsent_copy unsent;
    uint64_t fence_rpc;        /* a FENCED op waits until so many RPC requests are done */
    bool op_waits;             /* the last post ended at an op that found no room */
    struct rpmi_op waiting_op; /* that op; its pointers are not valid any more */

    bool broken;           /* the queue pair failed: unfinished requests will not finish */
    uint64_t broken_wr;    /* the request at which it failed */
    int broken_status;     /* of that request; all later ones get RPM_E_LOST */
    bool failure_reported; /* broken_status was reported, for one op */
    bool refusing;         /* an op was refused: no later one is taken */

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
/* Disconnect, and release all that dial created. Safe at any stage of a dial. */
void rpmi_verbs_disconnect(struct rpmi_verbs *verbs);

/* handshake.c: from an established queue pair to an accept message. */
int rpmi_verbs_handshake(struct rpmi_verbs *verbs, uint64_t deadline_ns,
                         struct rpmi_accept *accepted);

/* memory.c: the link's own buffers and staging memory, and their registration. */
int rpmi_verbs_memory_open(struct rpmi_verbs *verbs, uint32_t depth, uint64_t staging_bytes);
void rpmi_verbs_memory_close(struct rpmi_verbs *verbs);
int rpmi_verbs_memory_register(struct rpmi_verbs *verbs);
/* Post receive @i. RPM_E_LOST. */
int rpmi_verbs_receive(struct rpmi_verbs *verbs, uint32_t i);

/* collect.c: handle all completions in the queue. */
void rpmi_verbs_collect(struct rpmi_verbs *verbs);
/* Record that the queue pair failed, at which request and why. */
void rpmi_verbs_break(struct rpmi_verbs *verbs, uint64_t wr, int status);

/* post.c */
int rpmi_verbs_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
/* Would post() now accept the op that it last refused for lack of room? wait() must return then,
 * even if no ended op is to be reported. */
bool rpmi_verbs_room_came(const struct rpmi_verbs *verbs);
/* A message of @len bytes from @bytes: an auth message or a call. RPM_E_LOST, RPM_E_BUSY: no
 * room. */
int rpmi_verbs_send(struct rpmi_verbs *verbs, const void *bytes, uint32_t len);

/* Handle all completions in the queue, and use the room that they made; poll() reports the ops that
 * have ended by them. */
void rpmi_verbs_drain(struct rpmi_verbs *verbs);

/* reap.c */
int rpmi_verbs_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_verbs_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_verbs_arm(struct rpmi_link *link, uint64_t *by_ns);
/* Wait until @*flag, the queue pair breaks or time is up. 0, RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_verbs_wait_flag(struct rpmi_verbs *verbs, const bool *flag, uint64_t deadline_ns);

#endif
