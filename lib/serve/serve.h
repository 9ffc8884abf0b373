/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h: a running server. The control thread makes handshakes and answers control messages,
 * the engine carries out what clients ask for through rings and listeners. Both use one service,
 * each under the server's lock.
 *
 * Invariants
 *   a session's ring is unmapped by the engine only (or at close), so it never vanishes in use
 *   no request of a client is carried out after its detach: the state is looked at under the lock
 */
#ifndef RPMI_SERVE_H
#define RPMI_SERVE_H

#include "pool/service.h"
#include "region/media.h"
#include "serve/admission.h"
#include "serve/listener.h"
#include "transport/shm/liveness.h"
#include "transport/shm/ring.h"
#include "wire/hello.h"
#include "wire/steps.h"

#include <librpm/server.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#define RPMI_ACCEPT_PAUSE_MS 100        /* between tries while no descriptors are left */
#define RPMI_HANDSHAKE_NS 2000000000ull /* from the connection to the end of the handshake */
#define RPMI_ADMISSION_SPARE 16u /* sessions beyond clients_max, for unauthenticated clients */
#define RPMI_LISTENERS_MAX 8u    /* addresses besides shm: */
#define RPMI_PASS_OPS 64u        /* requests taken from one ring before the next has its turn */

enum rpmi_ring_state { RPMI_RING_FREE = 0, RPMI_RING_LIVE = 1, RPMI_RING_CLOSED = 2 };

struct rpmi_serve_ring {
    uint32_t state; /* enum rpmi_ring_state; atomic */
    uint32_t client;
    struct rpmi_ring ring;
    uint64_t next;          /* request to carry out */
    uint64_t failures;      /* our own count: a client can overwrite the shared one */
    int32_t post_status;    /* why an earlier request of the same post failed; 0: none did */
    uint64_t carried;       /* bytes of the next request that were carried out already */
    struct rpmi_slot whole; /* that request, while carried is not 0 */
    int fd;
    int notify_fd;
    int sock; /* a duplicate of the session's: the engine sends events on it */
};

/* What an epoll event of the control thread is about; a lower tag is the number of a session. */
enum {
    RPMI_TAG_LISTEN = 1 << 30,
    RPMI_TAG_STOP,
    RPMI_TAG_KICK,
    RPMI_TAG_LISTENERS, /* plus the number of the listener */
};

/* What a pass took from one ring. */
struct rpmi_take {
    uint64_t first;
    uint32_t n;
    uint64_t durable; /* bit i: request first + i promised durability */
};

_Static_assert(RPMI_PASS_OPS <= 64, "a bit for each");

/* A claim on a log that a direct session holds, or held until a newer claim fenced it. */
struct rpmi_shm_claim {
    uint64_t header_offset; /* 0: none */
    uint32_t epoch;
};

struct rpmi_shm_session {
    int sock; /* -1: free session */
    int pidfd;
    pid_t pid;
    uid_t uid;
    uint32_t client; /* 0: in its handshake */
    uint32_t keys;   /* granted and not given back */
    uint64_t handshake_by_ns;
    struct rpmi_serve_ring *ring; /* NULL: direct */
    struct rpmi_shm_claim claim[RPMI_KEYS_MAX];
};

/* A log whose fenced writer did not stop in time. */
struct rpmi_stuck {
    uint64_t header_offset; /* 0: free */
    uint64_t deadline_ns;   /* of the claim that waited for it */
};

struct rpmi_serve_stats {
    uint64_t clients;
    uint64_t accepted;
    uint64_t refused;
    uint64_t died;
    uint64_t calls;
    uint64_t ops;
    uint64_t bytes;
    uint64_t rejected;
    uint64_t locks_freed;
};

/* A Unix socket that the server listens at, and the file lock by which it owns the name. */
struct rpmi_sock_name {
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int listen_fd; /* -1: none */
    int lock_fd;
    bool taken; /* the lock is ours */
};

struct rpm_server {
    struct rpmi_media pool;
    struct rpmi_media dram;
    struct rpmi_service *service;
    pthread_mutex_t lock; /* over service */
    uint32_t wanted;      /* the control thread waits for the lock: the engine lets it go first */
    struct rpmi_liveness *liveness;
    int liveness_fd;
    struct rpmi_sock_name name; /* of shm: */
    int guard_fd; /* the pool file opened again: whether a guard slot's lock is held */
    int stop_fd;
    int kick_fd; /* wakes the engine for housekeeping */
    int epoll_fd;
    int engine_epoll_fd;
    uint32_t stopping;
    uint32_t engine_runs; /* changes under the lock */
    uint32_t flags;
    uint32_t clients_max;
    uint32_t socket_mode;
    uint32_t server_epoch;
    uint64_t fence_ns;
    struct rpmi_stuck stuck[RPMI_POOL_ENTRIES];
    uint64_t accept_again_ns; /* no descriptors left: try again then; 0: now */
    char secret[RPMI_SECRET_BYTES];
    struct rpm_facts facts;
    uint32_t ddio;        /* enum rpm_answer: as the operator declared it, 0: not declared */
    const char *tls_cert; /* of listeners that are asked to encrypt; borrowed until open returns */
    bool tls_shown;       /* at least one address uses the certificate */
    const char *tls_key;
    struct rpmi_serve_stats stats; /* atomic, relaxed */
    struct rpmi_shm_session *sessions;
    uint32_t sessions_max;
    struct rpmi_admission admission; /* those of them that are in their handshake */
    struct rpmi_serve_ring *rings;
    struct rpmi_take *takes; /* of the engine's pass, one for each ring */
    uint32_t rings_max;
    unsigned char list[RPMI_STEPS_BYTES]; /* the engine's: of steps, being carried out */
    struct rpmi_step steps[RPMI_STEPS_MAX];
    uint32_t rings_high; /* no ring in use from here on; atomic */
    struct rpmi_listener *listeners[RPMI_LISTENERS_MAX];
    uint32_t listeners_n; /* fixed before either loop runs */
};

static inline void rpmi_count(uint64_t *counter, uint64_t add)
{
    __atomic_fetch_add(counter, add, __ATOMIC_RELAXED);
}

/* A counter that only one thread adds to: no locked instruction. */
static inline void rpmi_count_own(uint64_t *counter, uint64_t add)
{
    __atomic_store_n(counter, *counter + add, __ATOMIC_RELAXED);
}

/* The lock over the service, taken ahead of the engine: for the control thread. */
void rpmi_serve_lock(struct rpm_server *server);
void rpmi_serve_unlock(struct rpm_server *server);

/* listeners.c: listen at every address of a list separated by blanks. After an error
 * rpmi_listeners_close() and rpmi_sock_name_drop() close what was opened before it. */
int rpmi_listeners_open(struct rpm_server *server, const char *list);
int rpmi_listeners_turn(struct rpm_server *server, int wait_ms);
bool rpmi_listeners_ready(const struct rpm_server *server);
bool rpmi_listeners_arm(const struct rpm_server *server); /* True: requests are there already */
void rpmi_listeners_close(struct rpm_server *server);

/* listen.c: take the name and listen. RPM_E_OWNED, RPM_E_INVAL, RPM_E_DENIED, RPM_E_IO. */
int rpmi_serve_listen(struct rpm_server *server, const struct rpmi_url *url);
/* The same for any Unix socket, with @name->path set and no descriptors. */
int rpmi_sock_name_listen(struct rpmi_sock_name *name, int type, uint32_t mode);
void rpmi_sock_name_drop(struct rpmi_sock_name *name);

/* accept.c */
void rpmi_serve_accept(struct rpm_server *server);
/* A message from a client that has not finished its handshake. False: drop the session. */
bool rpmi_serve_handshake(struct rpm_server *server, struct rpmi_shm_session *session,
                          const void *bytes, size_t len);
void rpmi_serve_drop(struct rpm_server *server, struct rpmi_shm_session *session);

/* rings.c */
int rpmi_serve_ring_open(struct rpm_server *server, const struct rpmi_hello *hello, int sock,
                         struct rpmi_serve_ring **ring);
void rpmi_serve_ring_close(struct rpm_server *server, struct rpmi_serve_ring *ring);
/* Unmap a closed ring: by the engine, or by the control thread while no engine runs. */
void rpmi_serve_ring_retire(struct rpmi_serve_ring *ring);

/* fence.c: the quiesce and vacate hooks of the service; @context is the server. */
int rpmi_serve_quiesce(void *context, uint64_t header_offset);
int rpmi_serve_vacate(void *context, uint64_t offset, uint64_t bytes);
/* server.c: the breathe hook of the service: lets the engine have the lock for a moment. */
void rpmi_serve_breathe(void *context);

/* execute.c: has a ring or a listener something to carry out? Then one pass over all of them. */
bool rpmi_serve_ready(const struct rpm_server *server);
void rpmi_serve_pass(struct rpm_server *server);

#endif
