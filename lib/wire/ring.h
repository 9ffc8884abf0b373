/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.h: the memory that a ring client and the server's engine share: requests of the client, the
 * engine's cumulative count of completions, and the bytes that requests refer to.
 *
 * Invariants
 *   slot i % slots holds request i; it is complete when its turn is the low half of i + 1
 *   done <= requests posted; a slot is reused only after its request is done
 *   the server trusts nothing in this memory: it copies a slot, then checks the copy
 *
 * Format: FORMAT.md, section 8.   Tests: tests/unit/serve/shm/ring_test.cpp
 */
#ifndef RPMI_RING_H
#define RPMI_RING_H

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"

#include <stdint.h>

#define RPMI_SLOT_INLINE 28u /* a frame's header fits in the request itself */
#define RPMI_SLOT_LAST                                                                             \
    128u /* in flags: ends a post; a failed request fails the rest of its
                                post */

struct rpmi_slot {
    uint32_t turn; /* stored last */
    uint8_t kind;  /* enum rpmi_op_kind */
    uint8_t flags; /* enum rpmi_op_flag, RPMI_SLOT_LAST */
    uint16_t head_bytes;
    uint64_t offset; /* STEPS: in staging memory, of the answer */
    uint64_t len;
    uint32_t key;
    uint32_t body; /* offset in staging memory of the body, or of the result */
    uint32_t body_bytes;
    unsigned char
        head[RPMI_SLOT_INLINE]; /* or, if longer, in rpmi_ring.heads; CAS, FAA: operands */
};

_Static_assert(sizeof(struct rpmi_slot) == RPMI_LINE_BYTES, "a request is one cache line");
_Static_assert(2 * sizeof(uint64_t) <= RPMI_SLOT_INLINE, "operands fit");

/* How the server wakes a client that waits for completions. */
enum rpmi_waits {
    RPMI_WAITS_NOT = 0,
    RPMI_WAITS_FUTEX = 1, /* it sleeps on done */
    RPMI_WAITS_EVENT = 2  /* by a message on the socket, once: the server sets it back to 0 first */
};

#define RPMI_EVENT_BYTES 1u /* that message, whose bytes have no meaning */

struct rpmi_ring_head {
    /* Stored by the server. */
    uint64_t done;     /* requests carried out; its low half is the futex that a client waits on */
    uint64_t failures; /* number of those that failed; their errors are in the statuses */
    uint64_t fill[6];
    /* Stored by the client. */
    uint32_t waits; /* enum rpmi_waits */
    uint32_t
        fences;   /* 1: no membarrier reaches the client, so the server must fence before it reads
                     waits */
    uint32_t cpu; /* to which the client's thread is bound, plus 1; 0: several */
    uint32_t fill_client[13];
};

_Static_assert(sizeof(struct rpmi_ring_head) == 2 * RPMI_LINE_BYTES, "a line each way");

/* Addresses in the memory file, by its geometry. */
struct rpmi_ring {
    struct rpmi_ring_head *head; /* at 0 */
    struct rpmi_slot *slot;      /* at 4096 */
    unsigned char *heads;        /* a line for each slot */
    int32_t *status;             /* of each slot: 0, or why its request failed */
    unsigned char *staging;      /* at a page */
    uint32_t slots;              /* power of two */
    uint64_t staging_bytes;
    uint64_t bytes; /* of all of it */
};

/* The bytes of a ring's memory. */
static inline uint64_t rpmi_ring_bytes(uint32_t slots, uint64_t staging_bytes)
{
    uint64_t each = sizeof(struct rpmi_slot) + RPMI_LINE_BYTES + sizeof(int32_t);

    return rpmi_align_up(RPMI_PAGE_BYTES + slots * each, RPMI_PAGE_BYTES) +
           rpmi_align_up(staging_bytes, RPMI_PAGE_BYTES);
}

/* Compute the addresses of the ring at @base. */
static inline void rpmi_ring_layout(struct rpmi_ring *ring, unsigned char *base, uint32_t slots,
                                    uint64_t staging_bytes)
{
    uint64_t at = RPMI_PAGE_BYTES;

    ring->slots = slots;
    ring->staging_bytes = staging_bytes;
    ring->head = (struct rpmi_ring_head *)(void *)base;
    ring->slot = (struct rpmi_slot *)(void *)(base + at);
    at += (uint64_t)slots * sizeof(struct rpmi_slot);
    ring->heads = base + at;
    at += (uint64_t)slots * RPMI_LINE_BYTES;
    ring->status = (int32_t *)(void *)(base + at);
    at = rpmi_align_up(at + (uint64_t)slots * sizeof(int32_t), RPMI_PAGE_BYTES);
    ring->staging = base + at;
    ring->bytes = rpmi_ring_bytes(slots, staging_bytes);
    RPM_ASSERT(ring->bytes == at + rpmi_align_up(staging_bytes, RPMI_PAGE_BYTES));
}

/* Smallest power of two that is at least @depth. */
static inline uint32_t rpmi_ring_slots(uint32_t depth)
{
    uint32_t slots = 2;

    while (slots < depth && slots < RPMI_DEPTH_MAX)
        slots *= 2;
    return slots;
}

#endif
