/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h: the server's side of verbs:. Each client has a protection domain, a queue pair and a
 * completion queue of its own, and for each of its keys a registration to read and one to write.
 * The NIC carries out reads, writes, atomics and FLUSH by itself. The engine receives messages; it
 * carries out RPC requests, and hands auth messages and calls to the control thread.
 *
 * Invariants
 *   the memory of a key is registered for its client only, and deregistered before its close is
 *     answered
 *   no write of a client arrives after its state is CLOSED: its queue pair was put into the error
 *     state before
 *   only the engine polls completion queues, and never again after it has set LEFT
 *   the control thread makes and destroys queues without the server's lock: a device may take long
 *   for both
 */
#ifndef RPMI_SERVE_VERBS_H
#define RPMI_SERVE_VERBS_H

#include "serve/admission.h"
#include "serve/listener.h"
#include "serve/serve.h"
#include "transport/verbs/nic.h"
#include "wire/message.h"

#include <stdbool.h>

#define RPMI_NICS_MAX 8u
#define RPMI_VERBS_RECEIVES                                                                        \
    64u /* messages and WRITEs with immediate data that a client may have outstanding */
#define RPMI_VERBS_DONES 32u                   /* done messages outstanding */
#define RPMI_VERBS_RESULTS RPMI_VERBS_RECEIVES /* answers to lists of steps, not sent yet */
#define RPMI_VERBS_SENDS (RPMI_VERBS_DONES + 8u)
#define RPMI_VERBS_WCS 16u
#define RPMI_VERBS_FENCED 4u /* fenced messages outstanding */

/* A device through which clients connected. */
struct rpmi_serve_nic {
    struct rpmi_nic nic;
    struct ibv_comp_channel *channel; /* of all completion queues on it */
    struct rpm_facts facts;           /* the facts sent to clients behind it */
    bool writes;                      /* the device can write to the pool */
    bool flushes;                     /* native FLUSH to persistence works on the pool */
};

/* The control thread changes the state, except that a running engine changes CLOSED to LEFT, after
 * which it does not access the session any more. */
enum rpmi_verbs_session_state {
    RPMI_VERBS_SESSION_FREE = 0,
    RPMI_VERBS_SESSION_HANDSHAKE = 1,
    RPMI_VERBS_SESSION_LIVE = 2,
    RPMI_VERBS_SESSION_CLOSED = 3,
    RPMI_VERBS_SESSION_LEFT = 4
};

struct rpmi_verbs_session {
    struct rpmi_session base;
    uint32_t state; /* enum rpmi_verbs_session_state; atomic */
    uint32_t gone;  /* the engine saw its queue pair fail; atomic */
    uint32_t sends; /* outstanding; atomic */
    struct rdma_cm_id *id;
    struct rpmi_serve_nic *nic;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct rpmi_qp qp;
    struct ibv_mr *buffers_mr;
    unsigned char *buffers; /* receives, done messages, answer, fenced messages, results */
    uint64_t handshake_by_ns;
    bool refused;         /* the client was refused; the session ends when it disconnects */
    uint64_t probe_at_ns; /* when to check next whether the client's machine answers */
    struct rpmi_transcript transcript;

    /* Used by the control thread. */
    struct ibv_mr *read_mr[RPMI_KEYS_MAX];
    struct ibv_mr *write_mr[RPMI_KEYS_MAX];
    uint64_t claimed[RPMI_KEYS_MAX]; /* header of the log by whose claim the key writes; 0: none */

    /* Used by the engine. */
    uint64_t rpcs;          /* RPC requests carried out */
    uint64_t rpcs_reported; /* of those, counted by a message that was sent */
    uint64_t dones_sent;    /* done messages sent */
    uint64_t first_durable; /* first RPC request of this batch that promises durability; 0: none */
    int status;             /* of the last RPC request: none is carried out after a failure */
    uint64_t results;       /* answers to lists of steps made */
    uint64_t results_sent;  /* of those, sent */
    bool unfinished;        /* op is too long for one pass: the next pass continues it */
    struct rpmi_op op;      /* the current RPC request */
    uint64_t carried;       /* bytes of it that were carried out */
    bool held;              /* unfinished, because it waits for an agent's answer */
    uint64_t answered;      /* orders answered when it was tried last */
    struct ibv_wc wc[RPMI_VERBS_WCS]; /* polled, not handled yet */
    uint32_t wc_n;
    uint32_t wc_at;
};

struct rpmi_verbs_listener {
    struct rpmi_listener base;
    struct rdma_event_channel *events;
    struct rdma_cm_id *listen_id;
    int control_notify_fd; /* the engine has something for the control thread */
    int engine_notify_fd;  /* the control thread has something for the engine */
    struct rpmi_serve_nic nics[RPMI_NICS_MAX];
    uint32_t nics_n; /* atomic: grows only */
    struct rpmi_verbs_session *sessions;
    uint32_t sessions_n;
    struct rpmi_admission admission; /* the sessions whose client has not authenticated yet */
};

static inline struct rpmi_verbs_listener *rpmi_verbs_listener_of(struct rpmi_listener *listener)
{
    return (struct rpmi_verbs_listener *)(void *)listener;
}

static inline uint32_t rpmi_verbs_session_state(const struct rpmi_verbs_session *session)
{
    return __atomic_load_n(&session->state, __ATOMIC_ACQUIRE);
}

/* nics.c: the entry of a device. At its first use it is probed: its capabilities, and how it can
 * access the pool. RPM_E_NOCAP (it cannot), RPM_E_NOMEM, RPM_E_LIMIT, RPM_E_IO. */
int rpmi_serve_nic_of(struct rpmi_verbs_listener *listener, struct ibv_context *verbs,
                      struct rpmi_serve_nic **nic);

/* session.c; by the control thread. */
/* A connection request: accept or refuse @id, which this function owns in either case. */
void rpmi_verbs_session_admit(struct rpmi_verbs_listener *listener, struct rdma_cm_id *id,
                              const struct rdma_conn_param *param);
/* Serve the message that the engine handed over. */
void rpmi_verbs_session_serve(struct rpmi_verbs_listener *listener,
                              struct rpmi_verbs_session *session);
/* End the session: the client has left, or the server disconnects it. */
void rpmi_verbs_session_leave(struct rpmi_verbs_listener *listener,
                              struct rpmi_verbs_session *session);
/* If it is time, check whether the client's machine still answers. */
void rpmi_verbs_session_probe(struct rpmi_verbs_session *session);
/* Free sessions that the engine has left, a few at a time. True: there are more. */
bool rpmi_verbs_sessions_retire(struct rpmi_verbs_listener *listener);
/* The listener closes, and no loop runs: free all sessions. */
void rpmi_verbs_end_sessions(struct rpmi_verbs_listener *listener);

/* regions.c; by the control thread. */
/* Register the memory that @key opens. RPM_E_NOMEM, RPM_E_TOOBIG, RPM_E_NOCAP. */
int rpmi_regions_grant(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                       uint32_t key, struct rpmi_grant_key *grant);
/* False: the device failed to deregister it. */
bool rpmi_regions_drop(struct rpmi_verbs_session *session, uint32_t key);
void rpmi_regions_drop_all(struct rpmi_verbs_session *session);
int rpmi_regions_quiesce(struct rpmi_listener *listener, uint64_t header_offset);

/* messages.c; by the engine. */
bool rpmi_messages_ready(struct rpmi_listener *listener);
bool rpmi_messages_arm(struct rpmi_listener *listener);
void rpmi_messages_take(struct rpmi_listener *listener, struct rpmi_batch *batch);
void rpmi_messages_answer(struct rpmi_listener *listener, const struct rpmi_batch *batch);
/* Called by both threads: post receive @i; send a message that is in the session's buffers. */
bool rpmi_msg_receive(struct rpmi_verbs_session *session, uint32_t i);
bool rpmi_msg_send(struct rpmi_verbs_session *session, unsigned char *message, uint32_t len);
/* Make an eventfd readable. */
void rpmi_notify(int fd);

static inline unsigned char *rpmi_verbs_receive_at(const struct rpmi_verbs_session *session,
                                                   uint32_t i)
{
    return session->buffers + (uint64_t)i * RPMI_MSG_TO_SERVER;
}

static inline unsigned char *rpmi_verbs_done_at(const struct rpmi_verbs_session *session,
                                                uint64_t i)
{
    return session->buffers + (uint64_t)RPMI_VERBS_RECEIVES * RPMI_MSG_TO_SERVER +
           i % RPMI_VERBS_DONES * RPMI_LINE_BYTES;
}

static inline unsigned char *rpmi_verbs_answer_at(const struct rpmi_verbs_session *session)
{
    return session->buffers + (uint64_t)RPMI_VERBS_RECEIVES * RPMI_MSG_TO_SERVER +
           (uint64_t)RPMI_VERBS_DONES * RPMI_LINE_BYTES;
}

static inline unsigned char *rpmi_verbs_fenced_at(const struct rpmi_verbs_session *session,
                                                  uint32_t key)
{
    return rpmi_verbs_answer_at(session) + RPMI_MSG_TO_CLIENT + key % RPMI_VERBS_FENCED * 16u;
}

/* The address of result @i. Its memory is used again only after the client has received it: until
 * then its RPC request is outstanding, and the client has at most RPMI_VERBS_RESULTS of those. */
static inline unsigned char *rpmi_verbs_result_at(const struct rpmi_verbs_session *session,
                                                  uint64_t i)
{
    return rpmi_verbs_fenced_at(session, 0) + RPMI_VERBS_FENCED * 16u +
           i % RPMI_VERBS_RESULTS * RPMI_MSG_TO_CLIENT;
}

#define RPMI_VERBS_BUFFERS                                                                         \
    (RPMI_VERBS_RECEIVES * (uint64_t)RPMI_MSG_TO_SERVER +                                          \
     RPMI_VERBS_DONES * (uint64_t)RPMI_LINE_BYTES + RPMI_MSG_TO_CLIENT + RPMI_VERBS_FENCED * 16u + \
     RPMI_VERBS_RESULTS * (uint64_t)RPMI_MSG_TO_CLIENT)

#endif
