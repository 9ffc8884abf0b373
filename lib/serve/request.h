/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.h: requests for accesses to memory, which the server CPU carries out for clients of every
 * kind of listener: the service checks a request, the engine carries it out, and makes it durable
 * by the end of a batch.
 *
 * A batch is the set of requests that the engine takes in one pass, from all clients: one fence for
 * all of them, then the answers. The engine checks only bytes that it has copied to private memory;
 * it copies bytes that a client can still change, such as a body in shared memory, unchecked.
 *
 * Tests: tests/unit/serve/access_test.cpp, tests/conform/transport_test.cpp
 */
#ifndef RPMI_SERVE_REQUEST_H
#define RPMI_SERVE_REQUEST_H

#include "pool/service.h"
#include "transport/op.h"

#include <stdbool.h>
#include <stdint.h>

struct rpm_server;

/* The kinds of steps that the engine carries out, as an accept message says them. */
#define RPMI_SERVE_STEPS                                                                           \
    (1u << RPMI_STEP_READ | 1u << RPMI_STEP_WRITE | 1u << RPMI_STEP_CAS | 1u << RPMI_STEP_FAA |    \
     1u << RPMI_STEP_PROVE | 1u << RPMI_STEP_WATCH | 1u << RPMI_STEP_SUM | 1u << RPMI_STEP_CARRY | \
     1u << RPMI_STEP_COMPARE)

#define RPMI_DIRTY_MAX 64u
#define RPMI_PROOFS_MAX 64u
#define RPMI_PROOFS_BYTES (1u << 20) /* a batch reads no further record than this for them */
#define RPMI_PASS_SUMS (1u << 20)    /* bytes summed or compared for a client in a pass: 0.1 ms */

struct rpmi_dirty {
    uint64_t first; /* whole pages */
    uint64_t end;
};

/* A certificate that is made when the batch is durable, and where it is to be written. */
struct rpmi_pending_proof {
    struct rpmi_proof proof;
    void *at; /* in the memory of an answer, which is sent later */
};

struct rpmi_batch {
    bool unfenced; /* stores past the caches, or flushes, since the last fence */
    bool changed;  /* a request has changed memory */
    uint32_t dirty_n;
    int msync_status;                        /* result of msync for the durable requests of this
                                                batch */
    struct rpmi_dirty dirty[RPMI_DIRTY_MAX]; /* ranges to msync before the answers */
    uint32_t proofs_n;                       /* certificates to make, in server->proofs */
    uint64_t proofs_bytes; /* of the records in them, which were read under the lock */
    uint64_t summed;       /* bytes, for SUMs and COMPAREs */
};

/* The bytes of a request that this batch carries out: [from, from + len) of the request's @len. A
 * request that is too long for one pass is carried out in several parts. */
struct rpmi_part {
    uint64_t from;
    uint64_t len;
};

/*
 * Carry out @part of @op for @client. The caller holds the server's lock and has checked that head,
 * body and into have room for what @op says. The first part contains the whole head. WRITE, COPY,
 * READ and PERSIST can be carried out in parts, CAS and FAA cannot. 0, or RPM_E_FENCED,
 * RPM_E_DENIED, RPM_E_RANGE, RPM_E_NOCAP.
 */
int rpmi_request_access(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                        const struct rpmi_part *part, struct rpmi_batch *batch);

/* On a @span that the service allowed: read its bytes into @into, an aligned word by one load;
 * return the checksum of its bytes as they are, which clients may change meanwhile, or where they
 * differ from those of another span; change an aligned word of DRAM and return its old value. */
void rpmi_request_load(struct rpm_server *server, const struct rpmi_span *span, void *into,
                       uint64_t len);
uint64_t rpmi_request_sum(struct rpm_server *server, const struct rpmi_span *span, uint64_t len,
                          uint64_t seed);
uint64_t rpmi_request_compare(struct rpm_server *server, const struct rpmi_span *span,
                              const struct rpmi_span *other, uint64_t len);
/* Store the bytes of a CARRY. Its list has them durable by a PROVE. */
void rpmi_request_carry(struct rpm_server *server, const struct rpmi_span *span,
                        const struct rpmi_step *step, struct rpmi_batch *batch);
uint64_t rpmi_request_change(struct rpm_server *server, const struct rpmi_span *span,
                             const struct rpmi_op *op);

/* steps.c: carry out a list of steps, whole. The client may be able to change the body meanwhile.
 * As rpmi_request_access(), or RPM_E_PROTO. */
int rpmi_request_steps(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                       struct rpmi_batch *batch);

/* Carry out a request of any kind. RPMI_HELD (orders.h): nothing has happened yet, and the same
 * request is to be tried again once rpmi_serve_may_retry() says so. */
static inline int rpmi_request_do(struct rpm_server *server, uint32_t client,
                                  const struct rpmi_op *op, const struct rpmi_part *part,
                                  struct rpmi_batch *batch)
{
    if (op->kind == RPMI_OP_STEPS)
        return rpmi_request_steps(server, client, op, batch);
    return rpmi_request_access(server, client, op, part, batch);
}

/* Does the answer to this request promise that bytes are durable? */
static inline bool rpmi_request_promises(uint8_t kind, uint8_t flags)
{
    return kind == RPMI_OP_PERSIST || (flags & RPMI_OP_DURABLE) != 0;
}

static inline bool rpmi_request_in_parts(uint8_t kind)
{
    return kind == RPMI_OP_WRITE || kind == RPMI_OP_COPY || kind == RPMI_OP_READ ||
           kind == RPMI_OP_PERSIST;
}

static inline void rpmi_batch_begin(struct rpmi_batch *batch)
{
    batch->unfenced = false;
    batch->changed = false;
    batch->dirty_n = 0;
    batch->msync_status = 0;
    batch->proofs_n = 0;
    batch->proofs_bytes = 0;
    batch->summed = 0;
}

/* May a pass take a further request of a client? @before: batch->summed before the first one. */
static inline bool rpmi_batch_may_take(const struct rpmi_batch *batch, uint64_t before)
{
    return batch->summed - before < RPMI_PASS_SUMS;
}

/* Fence the stores and flushes of the batch. Under the lock. */
void rpmi_batch_fence(struct rpmi_batch *batch);

/* Have a range of the pool in its persistence domain by the end of the batch. */
void rpmi_batch_persist(struct rpm_server *server, struct rpmi_batch *batch,
                        const struct rpmi_span *span, uint64_t len);

/* msync the dirty ranges, set msync_status, and make the certificates, or none if that failed.
 * Without the lock, because it is slow. */
void rpmi_batch_sync(struct rpm_server *server, struct rpmi_batch *batch);

#endif
