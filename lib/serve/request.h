/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.h: requests of clients to the server CPU for accesses to memory, of every kind of
 * listener: the service checks a request, the engine carries it out, and makes it durable by the
 * end of a batch.
 *
 * A batch is the set of requests that the engine takes in one pass, from all clients: one drain for
 * all of them, then the answers. Bytes that are checked have been copied to the server's private
 * memory; bytes that the client can still change are only copied.
 *
 * Tests: tests/unit/serve/request_test.cpp, tests/conform/transport_test.cpp
 */
#ifndef RPMI_SERVE_REQUEST_H
#define RPMI_SERVE_REQUEST_H

#include "pool/service.h"
#include "transport/op.h"

#include <stdbool.h>
#include <stdint.h>

struct rpm_server;

#define RPMI_DIRTY_MAX 64u

struct rpmi_dirty {
    uint64_t first; /* whole pages */
    uint64_t end;
};

struct rpmi_batch {
    bool unfenced; /* stores past the caches, or flushes, since the last fence */
    uint32_t dirty_n;
    int msync_status;                        /* result of msync for the durable requests of this
                                                batch */
    struct rpmi_dirty dirty[RPMI_DIRTY_MAX]; /* ranges to msync before the answers */
};

/* The bytes of a request that this batch carries out: [from, from + len) of its length. */
struct rpmi_part {
    uint64_t from;
    uint64_t len;
};

/*
 * Carry out @part of @op for @client; the caller holds the server's lock and has checked that head,
 * body and into have room for what @op says. A head is not cut: it lies in the first part. WRITE,
 * COPY, READ and PERSIST can be cut, CAS, FAA and STEPS cannot. 0, or RPM_E_FENCED, RPM_E_DENIED,
 * RPM_E_RANGE, RPM_E_NOCAP, RPM_E_PROTO.
 */
int rpmi_request_do(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                    const struct rpmi_part *part, struct rpmi_batch *batch);

/* On a @span that the service allowed: read its bytes into @into, an aligned word by one load;
 * change an aligned word of DRAM and return its old value. */
void rpmi_request_load(struct rpm_server *server, const struct rpmi_span *span, void *into,
                       uint64_t len);
uint64_t rpmi_request_change(struct rpm_server *server, const struct rpmi_span *span,
                             const struct rpmi_op *op);

/* steps.c: the same for a STEPS; its client may be able to change the body meanwhile. */
int rpmi_request_steps(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                       struct rpmi_batch *batch);

/* Does a success of this request promise that bytes are durable? */
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
    batch->dirty_n = 0;
    batch->msync_status = 0;
}

/* The drain: fence what the batch stored. Under the lock. */
void rpmi_batch_fence(struct rpmi_batch *batch);

/* The slow part of making durable, msync: without the lock. Afterwards msync_status is valid. */
void rpmi_batch_sync(struct rpm_server *server, struct rpmi_batch *batch);

#endif
