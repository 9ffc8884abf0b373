/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h: struct rpm_server: a pool, the service over it, and the listeners at whose addresses
 * clients connect. The control thread makes handshakes and answers calls; the engine thread carries
 * out requests. Both use the one service, each under the server's lock.
 *
 * Invariant: no request of a client is carried out after its detach: the engine reads the state of
 * a session under the lock.
 */
#ifndef RPMI_SERVE_H
#define RPMI_SERVE_H

#include "pmem/media.h"
#include "pool/service.h"
#include "serve/listener.h"
#include "serve/orders.h"
#include "serve/request.h"
#include "serve/watches.h"
#include "wire/hello.h"
#include "wire/steps.h"

#include <librpm/server.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/un.h>

#define RPMI_ACCEPT_PAUSE_MS 100        /* between tries while no descriptors are left */
#define RPMI_HANDSHAKE_NS 2000000000ull /* from the connection to the end of the handshake */
#define RPMI_ADMISSION_SPARE 16u /* sessions beyond clients_max, for unauthenticated clients */
#define RPMI_LISTENERS_MAX 9u    /* addresses: one of shm: and eight others */
#define RPMI_AGENTS_BYTES 1024u  /* of the names of declared agents */
#define RPMI_PASS_OPS 64u        /* requests taken from one ring before the next ring is served */

/* A log whose fenced writer did not leave its guarded section in time (fence.c). */
struct rpmi_stuck {
    uint64_t header_offset;
    uint64_t deadline_ns; /* until which the first claim waited for that writer */
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
    uint64_t carried;
};

/* A Unix socket at which the server listens, and the file lock by which it owns the name. */
struct rpmi_sock_name {
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int listen_fd; /* -1: none */
    int lock_fd;
    bool taken; /* this server holds the lock */
};

struct rpm_server {
    struct rpmi_media pool;
    struct rpmi_media dram;
    struct rpmi_service *service;
    pthread_mutex_t lock; /* over service */
    uint32_t wanted;      /* threads that wait for the lock in rpmi_serve_lock(): before the engine
                             takes it, it waits until there are none */
    /* Threads, as pthread_self() names them; 0: none. Atomic. */
    uintptr_t lock_holder;    /* the one that holds the lock */
    uintptr_t engine_thread;  /* the one in rpm_server_engine() */
    uintptr_t control_thread; /* the one in rpm_server_run() */
    int guard_fd; /* the pool file opened again: to test whether a guard slot's lock is held */
    int stop_fd;
    int engine_notify_fd; /* the control thread wakes the engine, which then frees closed rings */
    int epoll_fd;
    int engine_epoll_fd;
    uint32_t stopping;
    uint32_t engine_runs; /* 1: rpm_server_engine() runs; changes under the lock */
    uint32_t flags;
    uint32_t clients_max;
    uint32_t socket_mode;
    uint32_t server_epoch;
    uint64_t fence_ns;
    struct rpmi_stuck stuck[RPMI_POOL_ENTRIES_MAX]; /* stuck_n, of different logs */
    uint32_t stuck_n;
    char secret[RPMI_SECRET_BYTES];
    char agents[RPMI_AGENTS_BYTES];
    struct rpm_facts facts;
    uint32_t ddio;        /* enum rpm_answer: as the operator declared it, 0: not declared */
    const char *tls_cert; /* of addresses with tls=on; borrowed until open returns */
    bool tls_used;        /* at least one address uses the certificate */
    const char *tls_key;
    struct rpmi_serve_stats stats;        /* atomic, relaxed */
    unsigned char list[RPMI_STEPS_BYTES]; /* the engine's copy of the list of steps that it carries
                                             out */
    struct rpmi_step steps[RPMI_STEPS_MAX];
    struct rpmi_orders *orders; /* NULL: the server proves by itself */
    struct rpmi_watches *watches;
    uint32_t storing; /* clients that store without the engine; atomic */
    struct rpmi_pending_proof proofs[RPMI_PROOFS_MAX]; /* of the engine's batch */
    struct rpmi_listener *listeners[RPMI_LISTENERS_MAX];
    uint32_t listeners_n; /* fixed before either loop runs */
    bool polls_sockets;   /* a listener's ready() may make a system call */
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

/* Take the lock over the service; the engine waits for the caller, which is the control thread. */
void rpmi_serve_lock(struct rpm_server *server);
void rpmi_serve_unlock(struct rpm_server *server);

static inline bool rpmi_is_this_thread(const uintptr_t *thread)
{
    return __atomic_load_n(thread, __ATOMIC_RELAXED) == (uintptr_t)pthread_self();
}

/* For assertions: does this thread hold the lock? May it do the work of a loop? While the loop
 * runs, only its own thread may. */
static inline bool rpmi_serve_has_lock(const struct rpm_server *server)
{
    return rpmi_is_this_thread(&server->lock_holder);
}

static inline bool rpmi_serve_is_engine(const struct rpm_server *server)
{
    return __atomic_load_n(&server->engine_thread, __ATOMIC_RELAXED) == 0 ||
           rpmi_is_this_thread(&server->engine_thread);
}

static inline bool rpmi_serve_is_control(const struct rpm_server *server)
{
    return __atomic_load_n(&server->control_thread, __ATOMIC_RELAXED) == 0 ||
           rpmi_is_this_thread(&server->control_thread);
}

/* Neither loop runs, so this thread may free what they use. */
static inline bool rpmi_serve_is_idle(const struct rpm_server *server)
{
    return __atomic_load_n(&server->engine_thread, __ATOMIC_RELAXED) == 0 &&
           __atomic_load_n(&server->control_thread, __ATOMIC_RELAXED) == 0;
}

/* Can a request of @client that is held be tried again? @answered: rpmi_orders_answered() when it
 * was tried. */
static inline bool rpmi_serve_may_retry(const struct rpm_server *server, uint32_t client,
                                        uint64_t answered)
{
    return rpmi_orders_moved(server->orders, answered) ||
           rpmi_watches_is_due(server->watches, client);
}

/* listeners.c: listen at every address of a list separated by blanks. After an error
 * rpmi_listeners_close() closes what was opened before it. The others call an operation of struct
 * rpmi_listener_ops at each listener. */
int rpmi_listeners_open(struct rpm_server *server, const char *list);
void rpmi_listeners_begin(struct rpm_server *server);
int rpmi_listeners_turn(struct rpm_server *server);
void rpmi_listeners_end(struct rpm_server *server);
int rpmi_listeners_quiesce(struct rpm_server *server, uint64_t header_offset);
/* True: the process that holds the guard slot was killed. */
bool rpmi_listeners_kill_writer(struct rpm_server *server, uint64_t header_offset, uint32_t slot);
void rpmi_listeners_engine_begin(struct rpm_server *server, uint32_t cpu);
bool rpmi_listeners_ready(const struct rpm_server *server);
/* May the engine, bound to @cpu (0: to none), spin? Not if every client is bound to that CPU too:
 * the engine would keep them from running. */
bool rpmi_listeners_may_spin(const struct rpm_server *server, uint32_t cpu);
bool rpmi_listeners_arm(const struct rpm_server *server); /* True: requests are there already */
void rpmi_listeners_disarm(const struct rpm_server *server);
void rpmi_listeners_close(struct rpm_server *server);

/* sock_name.c: take @name->path, with no descriptors yet, and listen there. RPM_E_OWNED,
 * RPM_E_INVAL, RPM_E_DENIED, RPM_E_IO. */
int rpmi_sock_name_listen(struct rpmi_sock_name *name, int type, uint32_t mode);
void rpmi_sock_name_drop(struct rpmi_sock_name *name);

/* fence.c: the quiesce and vacate hooks of the service; @context is the server. */
int rpmi_serve_quiesce(void *context, uint64_t header_offset);
int rpmi_serve_vacate(void *context, uint64_t offset, uint64_t bytes);
/* server.c: the yield hook of the service: releases the lock for a moment, for the engine. */
void rpmi_serve_yield(void *context);

/* engine.c: one pass over all listeners. */
void rpmi_serve_pass(struct rpm_server *server);

#endif
