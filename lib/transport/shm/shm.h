/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h: the client side of shm:. A link has one socket for control messages; a direct link has the
 * server's memory mapped, a ring link has memory that it shares with the server's engine.
 */
#ifndef RPMI_SHM_H
#define RPMI_SHM_H

#include "pmem/cpu_copy.h"
#include "transport/shm/liveness.h"
#include "transport/shm/sock.h"
#include "transport/sock_path.h"
#include "transport/stage.h"
#include "transport/transport.h"
#include "transport/watch.h"
#include "wire/guard.h"
#include "wire/hello.h"
#include "wire/ring.h"
#include "wire/steps.h"

#include <librpm/facts.h>
#include <stdbool.h>

struct rpmi_shm_key {
    unsigned char *base; /* NULL: no such key */
    uint64_t bytes;
    uint32_t rights;          /* enum rpmi_right */
    uint32_t guarded_bytes;   /* of a log: of its header, what only the server writes */
    struct rpmi_guard *guard; /* of a claimed log, or of the one whose claim guards a region */
    uint64_t epoch;           /* of that claim; 0: it has ended */
    uint64_t lock_at; /* byte of the pool file that is locked for this key's claim; 0: none */
};

struct rpmi_direct {
    struct rpmi_mapping *pool_mapping; /* of what the server lends; see mapping.h */
    struct rpmi_mapping *dram_mapping;
    unsigned char *pool;
    unsigned char *dram;
    uint64_t pool_bytes;
    uint64_t dram_bytes;
    int lock_fd;     /* the pool file, opened here: its locks end with this process */
    bool past_cache; /* the domain is ADR: bytes have to leave the caches */
    const struct rpmi_shm_key *entered; /* by the fast path, between enter() and leave() */
    uint64_t entered_bytes;
    rpmi_frame_fn *put_frame;
    uint64_t follow_seen;  /* the guard's count of waiting readers when last checked */
    uint32_t follow_turns; /* lone writes until the next check */
    bool followed;         /* a reader waits at the tail */
    bool entered_cached;   /* H4 off */
    __attribute__((aligned(RPMI_LINE_BYTES))) unsigned char scratch[RPMI_LINE_BYTES];
    struct rpmi_shm_key key[RPMI_KEYS_MAX];
    struct rpmi_step steps[RPMI_STEPS_MAX]; /* of the list that is being carried out */
};

struct rpmi_sent {
    uint64_t id;
    bool signaled;
};

/* The client's side of a ring; the shared memory is struct rpmi_ring (wire/ring.h). */
struct rpmi_ring_client {
    struct rpmi_ring ring;
    uint64_t posted;
    uint64_t reaped;
    uint64_t done;     /* the server's count, as last read and checked */
    uint64_t failures; /* seen so far */
    bool broken;       /* a request failed with an error that ends the link: later ones are lost */
    uint32_t cpu;      /* to which this thread is bound, plus 1; 0: several */
    int notify_fd;
    struct rpmi_sent *sent; /* one for each slot */
};

struct rpmi_shm {
    struct rpmi_link link;
    const struct rpmi_liveness *liveness;
    int sock;
    struct rpmi_watch watch;
    bool membarrier;         /* client and server use membarrier instead of fences */
    bool same_user;          /* the server must run as this user or as root */
    uint32_t mode;           /* enum rpmi_mode granted */
    struct rpmi_hello hello; /* repeated at a reconnect */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct rpmi_stage stage;
    struct rpmi_direct direct;
    struct rpmi_ring_client ring;
};

static inline struct rpmi_shm *rpmi_shm_of(struct rpmi_link *link)
{
    return (struct rpmi_shm *)(void *)link;
}

/* dial.c: an accept message and the descriptors that came with it. */
struct rpmi_grant {
    int sock;
    struct rpmi_accept accepted;
    int fds[RPMI_FDS];
};

/* Connect and make the handshake. RPM_E_REFUSED, RPM_E_DENIED, RPM_E_TIMEDOUT, RPM_E_LOST,
 * RPM_E_PROTO, RPM_E_VERSION, or the status of the server's refusal. Owns nothing on failure. */
int rpmi_shm_dial(const struct rpmi_shm *shm, uint64_t deadline_ns, struct rpmi_grant *grant);

/* Close the descriptors that attach did not take over. */
void rpmi_grant_drop(struct rpmi_grant *grant);

/* ask.c: send a call and receive its answer. RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_PROTO: the caller
 * ends the link. */
int rpmi_shm_ask(struct rpmi_shm *shm, const struct rpmi_call *call, struct rpmi_reply *reply,
                 uint64_t deadline_ns);

/* direct.c */
int rpmi_direct_attach(struct rpmi_shm *shm, struct rpmi_grant *grant);
void rpmi_direct_detach(struct rpmi_shm *shm);
int rpmi_direct_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
extern const struct rpmi_fast_path rpmi_direct_fast_path;
const void *rpmi_direct_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len);

/* direct_key.c: record the keys that an answer grants or ends. RPM_E_PROTO, RPM_E_LOST,
 * RPM_E_TIMEDOUT. */
int rpmi_direct_learn(struct rpmi_shm *shm, const struct rpmi_call *call,
                      const struct rpmi_reply *reply, uint64_t deadline_ns);

/* ring.c */
int rpmi_ring_attach(struct rpmi_shm *shm, struct rpmi_grant *grant);
void rpmi_ring_detach(struct rpmi_shm *shm);
int rpmi_ring_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
int rpmi_ring_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_ring_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_ring_arm(struct rpmi_link *link, uint64_t *by_ns);

/* loss.c: mark the link lost, and say in the last error how the server ended. Returns
 * RPM_E_LOST. */
int rpmi_shm_lose(struct rpmi_shm *shm);
/* Receive the events that arrived on the socket. False: the server closed it. */
bool rpmi_shm_take_events(struct rpmi_shm *shm);

#endif
