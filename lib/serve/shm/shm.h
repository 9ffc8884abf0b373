/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h: the server's end of shm:, for processes on its own machine. A direct client maps the pool
 * itself and only sends calls; a ring client posts requests in memory that it shares with the
 * engine. The control thread accepts, makes the handshake, serves calls and ends sessions.
 *
 * Invariants
 *   while the engine runs, only the engine unmaps a ring, so that no ring is unmapped in use
 *   a ring is closed before its client is detached: no request is carried out after the detach
 */
#ifndef RPMI_SERVE_SHM_H
#define RPMI_SERVE_SHM_H

#include "serve/admission.h"
#include "serve/listener.h"
#include "serve/serve.h"
#include "transport/shm/liveness.h"
#include "wire/hello.h"
#include "wire/ring.h"

#include <sys/types.h>

enum rpmi_ring_state {
    RPMI_RING_FREE = 0,
    RPMI_RING_LIVE = 1,  /* its client is attached; the engine carries out its requests */
    RPMI_RING_CLOSED = 2 /* its client has left; the engine frees it */
};

/* The requests that a pass of the engine took from one ring. */
struct rpmi_take {
    uint64_t first;   /* number of the first */
    uint32_t n;       /* requests taken */
    uint64_t durable; /* bit i: the answer to request first + i promises durability */
};

_Static_assert(RPMI_PASS_OPS <= 64, "a bit for each");

struct rpmi_serve_ring {
    uint32_t state; /* enum rpmi_ring_state; atomic */
    uint32_t client;
    struct rpmi_ring ring;
    uint64_t next;          /* number of the next request to carry out */
    uint64_t failures;      /* the server's own count: a client can overwrite the shared one */
    int32_t post_status;    /* why an earlier request of the same post failed; 0: none did */
    uint64_t carried;       /* bytes of the next request that were carried out already */
    struct rpmi_slot whole; /* that request, while carried is not 0 or held */
    bool held;              /* the next request waits for an agent's answer */
    uint64_t answered;      /* orders answered when it was tried last */
    int fd;
    int notify_fd;
    int sock; /* a duplicate of the session's socket: the engine sends events on it */
    struct rpmi_take take;
};

/* A claim on a log that a direct session holds, or held until a newer claim fenced it. */
struct rpmi_shm_claim {
    uint64_t header_offset; /* 0: none */
    uint32_t epoch;
};

struct rpmi_shm_session {
    struct rpmi_session base; /* its client is 0 during the handshake */
    int sock;                 /* -1: free session */
    int pidfd;
    pid_t pid;
    uid_t uid;
    uint64_t handshake_by_ns;
    struct rpmi_serve_ring *ring; /* NULL: direct */
    struct rpmi_shm_claim claim[RPMI_KEYS_MAX];
};

struct rpmi_shm_listener {
    struct rpmi_listener base;
    struct rpmi_sock_name name;
    struct rpmi_liveness *liveness; /* mapped by every client */
    int liveness_fd;
    uint64_t accept_again_ns; /* no descriptor was left: accept again at this time; 0: now */
    struct rpmi_shm_session *session;
    uint32_t sessions;
    struct rpmi_admission admission; /* the sessions whose client has sent no valid hello yet */
    struct rpmi_serve_ring *ring;
    uint32_t rings;
    uint32_t rings_high; /* rings from this index on are free; atomic */
};

static inline struct rpmi_shm_listener *rpmi_shm_listener_of(struct rpmi_listener *listener)
{
    return (struct rpmi_shm_listener *)(void *)listener;
}

/* accept.c: start, or while no descriptor is left stop, to watch the listening socket; accept a
 * connection. */
int rpmi_shm_watch(struct rpmi_shm_listener *listener, bool on);
void rpmi_shm_accept(struct rpmi_shm_listener *listener);
/* A message from a client that has not finished its handshake. False: drop the session. */
bool rpmi_shm_handshake(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session,
                        const void *bytes, size_t len);
void rpmi_shm_drop(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session);

/* sessions.c: operations of struct rpmi_listener_ops. */
void rpmi_shm_begin(struct rpmi_listener *base);
int rpmi_shm_turn(struct rpmi_listener *base);
void rpmi_shm_end(struct rpmi_listener *base);
bool rpmi_shm_kill_writer(struct rpmi_listener *base, uint64_t header_offset, uint32_t slot);

/* rings.c: by the control thread. */
int rpmi_serve_ring_open(struct rpmi_shm_listener *listener, const struct rpmi_hello *hello,
                         int sock, struct rpmi_serve_ring **ring);
void rpmi_serve_ring_close(struct rpmi_shm_listener *listener, struct rpmi_serve_ring *ring);
/* Unmap a closed ring: by the engine, or by the control thread while no engine runs. */
void rpmi_serve_ring_retire(struct rpmi_serve_ring *ring);

/* requests.c: operations of struct rpmi_listener_ops. */
void rpmi_shm_engine_begin(struct rpmi_listener *base, uint32_t cpu);
bool rpmi_shm_ready(struct rpmi_listener *base);
bool rpmi_shm_may_spin(struct rpmi_listener *base, uint32_t cpu);
bool rpmi_shm_arm(struct rpmi_listener *base);
void rpmi_shm_disarm(struct rpmi_listener *base);
void rpmi_shm_take(struct rpmi_listener *base, struct rpmi_batch *batch);
void rpmi_shm_answer(struct rpmi_listener *base, const struct rpmi_batch *batch);

#endif
