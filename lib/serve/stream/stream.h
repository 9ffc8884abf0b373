/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h: the server's side of tcp: and unix:. The control thread accepts connections, makes
 * handshakes, serves calls and ends sessions; the engine receives requests and sends answers.
 *
 * Invariants
 *   a session belongs to the control thread until it is LIVE, to the engine until it is DEAD, then
 *   to the control thread again; only its owner touches its buffers, and only the control thread
 *   closes its socket
 *   no thread ever waits on a client's socket, and the buffers of a client have fixed sizes
 *   an answer to a request of a batch is sent only after the batch's fence
 */
#ifndef RPMI_SERVE_STREAM_H
#define RPMI_SERVE_STREAM_H

#include "serve/admission.h"
#include "serve/listener.h"
#include "serve/serve.h"
#include "transport/stream/name.h"
#include "transport/stream/pipe.h"
#include "wire/stream.h"

#define RPMI_STREAM_SOCKETS 4u
#define RPMI_STREAM_TAKE_BYTES (128u << 10) /* receive buffer of a client */
#define RPMI_STREAM_OUT_BYTES (64u << 10)   /* send buffer of a client */
/* Room that the send buffer always keeps: for a count, a failed msync and a reply. */
#define RPMI_STREAM_RESERVE (3u * RPMI_ANSWER_BYTES + RPMI_REPLY_BYTES)

enum rpmi_stream_session_state {
    RPMI_STREAM_SESSION_FREE = 0,
    RPMI_STREAM_SESSION_HANDSHAKE = 1,
    RPMI_STREAM_SESSION_LIVE = 2, /* the client is accepted; the engine owns the session */
    RPMI_STREAM_SESSION_DEAD = 3  /* the engine has ended it; the control thread frees it */
};

enum rpmi_handshake_step {
    RPMI_HANDSHAKE_TLS = 0,
    RPMI_HANDSHAKE_HELLO = 1,
    RPMI_HANDSHAKE_AUTH = 2
};

/* The request that the engine is carrying out, in one pass or several. */
struct rpmi_stream_current {
    struct rpmi_request request;
    bool active;         /* false: the next header was not read yet */
    uint64_t carried;    /* bytes of its length that were carried out */
    uint32_t body_taken; /* bytes of its body that were taken from the receive buffer */
};

struct rpmi_stream_session {
    struct rpmi_session base;
    uint32_t state; /* enum rpmi_stream_session_state; atomic */
    struct rpmi_pipe pipe;

    /* During the handshake. */
    enum rpmi_handshake_step step;
    uint32_t got; /* bytes received of the next message */
    uint64_t handshake_by_ns;
    struct rpmi_transcript transcript;

    /* The engine's. */
    unsigned char *in; /* receive buffer; [in_from, in_end) is not carried out yet */
    uint32_t in_from;
    uint32_t in_end;
    bool todo;         /* there is something to carry out */
    bool send_blocked; /* the socket takes no more answers: nothing is carried out until it does */
    bool tls_pending;  /* OpenSSL has bytes that epoll does not report */
    bool taken;        /* requests of it are in this batch */
    bool held;         /* its request waits for an agent's answer, or for a word */
    struct rpmi_stream_current current;
    uint64_t skip;          /* bytes of a failed request to skip, some not received yet */
    int32_t post_status;    /* the error of an earlier request of the same post; 0: none */
    uint64_t next;          /* number of the next request */
    uint64_t done_sent;     /* requests that the client was told are done */
    uint64_t first_durable; /* first request of this batch that promises durability, plus 1 */
    unsigned char *out;     /* send buffer; [out_from, out_end) is not sent yet */
    uint32_t out_from;
    uint32_t out_end;
    uint32_t watched;    /* epoll events that the engine watches */
    uint64_t stalled_ns; /* when the socket began to take no answers, 0: it takes them; atomic */
};

struct rpmi_stream_listener {
    struct rpmi_listener base;
    struct rpmi_stream_name name;
    struct ssl_ctx_st *tls_ctx; /* NULL: no TLS */
    int listen_fd[RPMI_STREAM_SOCKETS];
    uint32_t listen_fds;
    struct rpmi_sock_name local; /* of a Unix socket */
    bool open_to_all;            /* other machines can reach the address */
    int control_notify_fd;       /* engine to control thread */
    int engine_notify_fd;        /* control thread to engine */
    uint64_t accept_again_ns;    /* no descriptor was left: accept again at this time; 0: now */
    struct rpmi_stream_session *session;
    uint32_t sessions;
    struct rpmi_admission admission; /* the sessions whose client has not authenticated yet */
    unsigned char *buffers;
    uint32_t high;    /* sessions from this index on are free; atomic */
    uint32_t live;    /* sessions in state LIVE; atomic */
    uint32_t notices; /* notifications sent to the engine; atomic */

    /* The engine's. */
    uint32_t notices_seen;
    uint32_t turns;       /* of the engine, see rpmi_stream_poll_sockets() */
    uint32_t todo;        /* sessions with something to carry out */
    bool holds;           /* a session is held */
    uint64_t answered;    /* orders answered when held sessions were last tried */
    uint64_t fired;       /* and watches fired */
    uint32_t tls_pending; /* sessions with tls_pending */
    uint32_t last;        /* the session from which bytes were received last */
};

static inline struct rpmi_stream_listener *rpmi_stream_listener_of(struct rpmi_listener *listener)
{
    return (struct rpmi_stream_listener *)(void *)listener;
}

static inline uint32_t rpmi_stream_session_state(const struct rpmi_stream_session *session)
{
    return __atomic_load_n(&session->state, __ATOMIC_ACQUIRE);
}

/* listen.c: RPM_E_INVAL, RPM_E_OWNED, RPM_E_DENIED, RPM_E_IO. */
int rpmi_stream_listen(struct rpmi_stream_listener *listener);
void rpmi_stream_unlisten(struct rpmi_stream_listener *listener);

/* handshake.c: continue a handshake. 1: the client is accepted, 0: a message has not arrived whole
 * yet, or the error for which the connection is to be closed. */
int rpmi_stream_handshake(struct rpmi_stream_listener *listener,
                          struct rpmi_stream_session *session);

/* sessions.c: watch the sockets and the eventfd; the control thread's turn; the end of all
 * clients. */
int rpmi_stream_watch(struct rpmi_stream_listener *listener);
int rpmi_stream_turn(struct rpmi_listener *listener);
void rpmi_stream_end_sessions(struct rpmi_stream_listener *listener);
/* Notify the engine, which then checks the sessions. */
void rpmi_stream_notify_engine(struct rpmi_stream_listener *listener);

/* take.c */
void rpmi_stream_take(struct rpmi_listener *listener, struct rpmi_batch *batch);

/* May a session that is held be tried again? */
static inline bool rpmi_stream_may_retry(const struct rpmi_stream_listener *listener)
{
    const struct rpm_server *server = listener->base.server;

    return listener->holds && (rpmi_orders_moved(server->orders, listener->answered) ||
                               server->watches->fired != listener->fired);
}

/* answer.c */
void rpmi_stream_answer(struct rpmi_listener *listener, const struct rpmi_batch *batch);
void rpmi_stream_session_queue(struct rpmi_stream_session *session, uint8_t kind, uint32_t value,
                               uint64_t request);
/* Handle notifications; at every 16th call poll the sockets: receive, and continue sending. */
void rpmi_stream_poll_sockets(struct rpmi_stream_listener *listener);
/* Set whether there is something to carry out for this client. */
void rpmi_stream_set_todo(struct rpmi_stream_listener *listener,
                          struct rpmi_stream_session *session, bool todo);
/* The engine is done with this client: the control thread frees the session. */
void rpmi_stream_session_end(struct rpmi_stream_listener *listener,
                             struct rpmi_stream_session *session);

#endif
