/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests.c: the engine's part of a pass over the rings: carry out the waiting requests of each,
 * and after the batch's fence answer them.
 *
 * Invariants
 *   a request is copied out of shared memory before it is checked, and only the copy is used
 *   an answer is stored after the fence (or msync) that it promises
 *   a pass spends a bounded time on one ring: long requests are carried out in parts
 *
 * Tests: tests/unit/serve/shm/ring_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/shm/shm.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "serve/request.h"
#include "transport/membarrier.h"
#include "transport/op.h"
#include "transport/shm/sock.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASS_BYTES (1u << 20) /* of one ring in one pass: a fraction of a millisecond */

/* Convert a request to the op that access.c carries out. Head and body stay in shared memory: a
 * client that overwrites them meanwhile changes only its own data. */
static inline int op_of(const struct rpmi_serve_ring *ring, const struct rpmi_slot *slot,
                        uint32_t index, struct rpmi_op *op)
{
    bool fetches = slot->kind == RPMI_OP_READ;
    bool atomic = slot->kind == RPMI_OP_CAS || slot->kind == RPMI_OP_FAA;
    bool steps = slot->kind == RPMI_OP_STEPS;
    uint64_t staged = fetches ? slot->len : atomic ? sizeof(uint64_t) : slot->body_bytes;

    /* The request is a copy, which the client cannot change after this check. */
    RPM_ASSERT_SLOW((uintptr_t)slot - (uintptr_t)ring->ring.head >= ring->ring.bytes);
    if (RPMI_UNLIKELY(!rpmi_in_bounds(slot->body, staged, ring->ring.staging_bytes)))
        return RPM_E_RANGE;
    /* The answer to a list has its own range in staging memory. */
    if (RPMI_UNLIKELY(steps && !rpmi_in_bounds(slot->offset, slot->len, ring->ring.staging_bytes)))
        return RPM_E_RANGE;
    op->kind = slot->kind;
    op->flags = slot->flags;
    op->head_bytes = slot->head_bytes;
    op->key = slot->key;
    op->offset = slot->offset;
    op->len = slot->len;
    op->head = slot->head_bytes > RPMI_SLOT_INLINE
                   ? ring->ring.heads + (uint64_t)index * RPMI_LINE_BYTES
                   : slot->head;
    op->body = ring->ring.staging + slot->body;
    op->body_bytes = slot->body_bytes;
    op->into = ring->ring.staging + (steps ? slot->offset : slot->body);
    memcpy(&op->expect, slot->head, sizeof(op->expect));
    memcpy(&op->operand, slot->head + sizeof(op->expect), sizeof(op->operand));
    return 0;
}

/* The next part of a request, at most @room bytes. */
static inline struct rpmi_part next_part(const struct rpmi_serve_ring *ring,
                                         const struct rpmi_slot *slot, uint64_t room)
{
    struct rpmi_part part = { .from = ring->carried, .len = slot->len - ring->carried };

    RPM_ASSERT(ring->carried <= slot->len); /* of the copy that was checked */
    if (RPMI_UNLIKELY(part.len > room))
        part.len = room;
    return part;
}

/* Carry out a request, or its next part; after a failed request the rest of its post fails too. 0,
 * the error of the request, or 1: parts of it are left for the next pass. */
static int carry_out(struct rpm_server *server, struct rpmi_serve_ring *ring,
                     const struct rpmi_slot *slot, uint32_t index, uint64_t *room,
                     struct rpmi_batch *batch)
{
    int status = ring->post_status;

    if (RPMI_LIKELY(status == 0)) {
        struct rpmi_part part = next_part(ring, slot, *room);
        struct rpmi_op op;

        status = op_of(ring, slot, index, &op);
        if (RPMI_LIKELY(status == 0))
            status = rpmi_request_do(server, ring->client, &op, &part, batch);
        ring->held = status == RPMI_HELD;
        if (RPMI_UNLIKELY(ring->held)) {
            ring->answered = rpmi_orders_answered(server->orders);
            ring->whole = *slot;
            return 1;
        }
        *room -= part.len;
        if (RPMI_UNLIKELY(status == 0 && part.from + part.len < slot->len) &&
            rpmi_request_in_parts(slot->kind)) {
            RPM_ASSERT(part.len > 0); /* each pass advances */
            ring->carried += part.len;
            ring->whole = *slot;
            return 1;
        }
    }
    ring->carried = 0;
    ring->post_status = (slot->flags & RPMI_SLOT_LAST) != 0 ? 0 : status;
    return status;
}

static inline bool slot_ready(const struct rpm_server *server, const struct rpmi_serve_ring *ring)
{
    const struct rpmi_slot *slot = &ring->ring.slot[ring->next & (ring->ring.slots - 1)];

    if (RPMI_UNLIKELY(ring->held) && !rpmi_serve_may_retry(server, ring->client, ring->answered))
        return false;
    return __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) == (uint32_t)(ring->next + 1);
}

static void fail_request(struct rpmi_serve_ring *ring, uint64_t request, int status)
{
    RPM_ASSERT(status < 0);
    __atomic_store_n(&ring->ring.status[request & (ring->ring.slots - 1)], status,
                     __ATOMIC_RELAXED);
    ring->failures++;
    __atomic_store_n(&ring->ring.head->failures, ring->failures, __ATOMIC_RELAXED);
}

static void take_from(struct rpm_server *server, struct rpmi_serve_ring *ring,
                      struct rpmi_batch *batch)
{
    struct rpmi_take *take = &ring->take;
    uint64_t room = PASS_BYTES; /* a head is never cut: the loop ends when less than one is left */
    uint64_t summed = batch->summed;

    RPM_ASSERT(ring->client != 0);
    RPM_ASSERT(take->n == 0); /* the requests of the last pass were answered */
    take->first = ring->next;
    take->n = 0;
    take->durable = 0;
    while (take->n < RPMI_PASS_OPS && room >= RPMI_LINE_BYTES &&
           rpmi_batch_may_take(batch, summed) && slot_ready(server, ring)) {
        uint32_t index = (uint32_t)ring->next & (ring->ring.slots - 1);
        struct rpmi_slot slot = ring->ring.slot[index];
        int status;

        /* Keeps the compiler from reading the shared original again instead of the copy. */
        __asm__ volatile("" : "+m"(slot));
        if (RPMI_UNLIKELY(ring->carried != 0 || ring->held))
            slot = ring->whole; /* the copy that was checked when the request began */
        status = carry_out(server, ring, &slot, index, &room, batch);
        if (RPMI_UNLIKELY(status > 0))
            return;
        if (RPMI_UNLIKELY(status != 0)) {
            fail_request(ring, ring->next, status);
            rpmi_count_own(&server->stats.rejected, 1);
        } else if (rpmi_request_promises(slot.kind, slot.flags)) {
            take->durable |= 1ull << take->n;
        }
        take->n++;
        ring->next++;
    }
}

/* A client that has asked for an event gets one event, which it receives before it asks again. If
 * the socket is full, an event is in it already. */
static void wake(struct rpmi_serve_ring *ring, uint32_t waits)
{
    struct rpmi_ring_head *head = ring->ring.head;
    unsigned char event[RPMI_EVENT_BYTES] = { 0 };

    if (waits != RPMI_WAITS_EVENT)
        (void)syscall(SYS_futex, (uint32_t *)(void *)&head->done, FUTEX_WAKE, 1, NULL, NULL, 0);
    else if (__atomic_compare_exchange_n(&head->waits, &waits, RPMI_WAITS_NOT, false,
                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        (void)!send(ring->sock, event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(struct rpmi_serve_ring *ring, int msync_status)
{
    const struct rpmi_take *take = &ring->take;
    struct rpmi_ring_head *head = ring->ring.head;
    uint32_t waits;

    RPM_ASSERT(take->first + take->n == ring->next);
    if (RPMI_UNLIKELY(msync_status != 0))
        for (uint32_t i = 0; i < take->n; i++)
            if ((take->durable >> i & 1) != 0)
                fail_request(ring, take->first + i, msync_status);
    __atomic_store_n(&head->done, ring->next, __ATOMIC_RELEASE);
    if (__atomic_load_n(&head->fences, __ATOMIC_RELAXED) != 0)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else
        __asm__ volatile("" ::: "memory");
    waits = __atomic_load_n(&head->waits, __ATOMIC_RELAXED);
    if (RPMI_UNLIKELY(waits != RPMI_WAITS_NOT))
        wake(ring, waits);
}

void rpmi_shm_engine_begin(struct rpmi_listener *base, uint32_t cpu)
{
    __atomic_store_n(&rpmi_shm_listener_of(base)->liveness->engine_cpu, cpu, __ATOMIC_RELAXED);
}

bool rpmi_shm_ready(struct rpmi_listener *base)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->rings_high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        const struct rpmi_serve_ring *ring = &listener->ring[i];
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

        if (state == RPMI_RING_CLOSED ||
            (state == RPMI_RING_LIVE && slot_ready(base->server, ring)))
            return true;
    }
    return false;
}

bool rpmi_shm_may_spin(struct rpmi_listener *base, uint32_t cpu)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->rings_high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        const struct rpmi_serve_ring *ring = &listener->ring[i];

        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == RPMI_RING_LIVE &&
            __atomic_load_n(&ring->ring.head->cpu, __ATOMIC_RELAXED) != cpu)
            return true;
    }
    return false;
}

/* The engine sets engine_sleeps, orders that store against every client's (by a membarrier), and
 * then looks for requests once more. A client stores its request, then reads engine_sleeps. So
 * either the engine sees the request, or the client sees it asleep and wakes it. A client whose
 * ring begins after the check of rings_high gets the ring later, so it reads engine_sleeps as 1. */
bool rpmi_shm_arm(struct rpmi_listener *base)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);

    __atomic_store_n(&listener->liveness->engine_sleeps, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&listener->rings_high, __ATOMIC_SEQ_CST) != 0)
        (void)rpmi_membarrier_all();
    return false;
}

void rpmi_shm_disarm(struct rpmi_listener *base)
{
    __atomic_store_n(&rpmi_shm_listener_of(base)->liveness->engine_sleeps, 0, __ATOMIC_RELAXED);
}

void rpmi_shm_take(struct rpmi_listener *base, struct rpmi_batch *batch)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->rings_high, __ATOMIC_ACQUIRE);

    /* Only the engine unmaps a ring; and no client is detached while its requests are taken. */
    RPM_ASSERT(rpmi_serve_is_engine(base->server) && rpmi_serve_has_lock(base->server));
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_serve_ring *ring = &listener->ring[i];
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

        if (state == RPMI_RING_CLOSED)
            rpmi_serve_ring_retire(ring);
        else if (state == RPMI_RING_LIVE)
            take_from(base->server, ring, batch);
    }
}

/* Rings may have changed since rpmi_shm_take() ran. A ring that was opened since then has no taken
 * requests to answer. A ring that was closed since then is still mapped, because only the engine
 * unmaps rings. */
void rpmi_shm_answer(struct rpmi_listener *base, const struct rpmi_batch *batch)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->rings_high, __ATOMIC_ACQUIRE);
    uint64_t ops = 0;

    RPM_ASSERT(high <= listener->rings);
    RPM_ASSERT(rpmi_serve_is_engine(base->server)); /* or a ring could be unmapped meanwhile */
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_serve_ring *ring = &listener->ring[i];

        if (ring->take.n == 0)
            continue;
        ops += ring->take.n;
        answer(ring, batch->msync_status);
        ring->take.n = 0;
    }
    rpmi_count_own(&base->server->stats.ops, ops);
}
