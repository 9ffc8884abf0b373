/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * execute.c: carry out what rings ask for. One pass takes what is there from every ring, drains
 * once, and then answers: the more clients, the fewer drains each.
 *
 * Invariants
 *   a request is copied out of shared memory before it is judged, and only the copy is used
 *   every access is judged by the service, under its lock, at the moment it is made
 *   an answer is stored after the drain (or msync) that it promises
 *   a pass spends a bounded time on one ring: long requests are carried out in parts
 *   what the lock protects is visible to all before it is let go: a claimer that waits for it will
 *   see every store of the writer it fences
 *
 * Tests: tests/unit/serve/ring_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "region/cpu_copy.h"
#include "transport/op.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRTY_MAX 64u
#define PASS_BYTES (1u << 20) /* of one ring in one pass: a fraction of a millisecond */
#define LOCK_NAP_NS 20000u

struct dirty {
    uint64_t first; /* whole pages */
    uint64_t end;
};

/* The part of a request's bytes that this pass carries out. */
struct part {
    uint64_t from;
    uint64_t len;
};

/* One pass. */
struct batch {
    bool unfenced; /* stores past the caches, or flushes, since the last fence */
    uint32_t dirty_n;
    int msync_status;
    struct dirty dirty[DIRTY_MAX]; /* to be msynced before the answers */
};

static void sync_dirty(struct rpm_server *server, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->dirty_n; i++) {
        uint64_t end = batch->dirty[i].end < server->pool.mem.bytes ? batch->dirty[i].end
                                                                    : server->pool.mem.bytes;
        int err =
            rpmi_mem_persist(&server->pool.mem, batch->dirty[i].first, end - batch->dirty[i].first);

        if (err != 0)
            batch->msync_status = err;
    }
    batch->dirty_n = 0;
}

static void add_dirty(struct rpm_server *server, struct batch *batch, uint64_t offset, uint64_t len)
{
    struct dirty add = {
        .first = rpmi_align_down(offset, RPMI_PAGE_BYTES),
        .end = rpmi_align_up(offset + len, RPMI_PAGE_BYTES),
    };

    for (uint32_t i = 0; i < batch->dirty_n; i++) {
        struct dirty *have = &batch->dirty[i];

        if (add.first > have->end || add.end < have->first)
            continue;
        have->first = add.first < have->first ? add.first : have->first;
        have->end = add.end > have->end ? add.end : have->end;
        return;
    }
    if (batch->dirty_n == DIRTY_MAX)
        sync_dirty(server, batch);
    batch->dirty[batch->dirty_n++] = add;
}

/* Bring a range of the pool to its domain by the end of this pass. */
static void make_durable(struct rpm_server *server, struct batch *batch,
                         const struct rpmi_span *span, uint64_t len)
{
    if (span->area != RPMI_AREA_POOL || len == 0)
        return;
    if (server->pool.facts.domain == RPM_DOMAIN_MSYNC) {
        add_dirty(server, batch, span->offset, len);
    } else if (server->pool.facts.domain == RPM_DOMAIN_ADR) {
        rpmi_cpu_flush(server->pool.base + span->offset, len);
        batch->unfenced = true;
    }
}

/* Head and body of the part; what is left of it is zeros. */
static void put_part(const struct rpmi_serve_ring *ring, const struct rpmi_slot *slot,
                     uint32_t index, const struct part *part, unsigned char *to,
                     rpmi_write_fn *write)
{
    const unsigned char *head = slot->head;
    size_t head_bytes = part->from == 0 ? slot->head_bytes : 0;
    uint64_t skip = part->from == 0 ? 0 : part->from - slot->head_bytes;
    uint64_t body_bytes = skip < slot->body_bytes ? slot->body_bytes - skip : 0;
    const unsigned char *body = ring->ring.staging + slot->body + (body_bytes != 0 ? skip : 0);

    RPM_ASSERT(head_bytes <= part->len && part->from + part->len <= slot->len);
    if (body_bytes > part->len - head_bytes)
        body_bytes = part->len - head_bytes;
    if (slot->head_bytes > RPMI_SLOT_INLINE)
        head = ring->ring.heads + (uint64_t)index * RPMI_LINE_BYTES;
    write(to, head, head_bytes, body, body_bytes, part->len);
}

static inline rpmi_write_fn *past_cache_by(const struct rpmi_slot *slot)
{
    return (slot->flags & RPMI_OP_CACHED) != 0 ? rpmi_cpu.back_write : rpmi_cpu.nt_write;
}

static int do_write(struct rpm_server *server, const struct rpmi_serve_ring *ring,
                    const struct rpmi_slot *slot, uint32_t index, const struct part *part,
                    struct batch *batch)
{
    bool durable = slot->kind == RPMI_OP_COPY && (slot->flags & RPMI_OP_DURABLE) != 0;
    struct rpmi_span span;
    bool past_cache;
    int err = rpmi_service_access(server->service, ring->client, slot->key, slot->offset, slot->len,
                                  RPMI_RIGHT_WRITE, &span);

    if (err != 0)
        return err;
    if (slot->head_bytes > RPMI_LINE_BYTES || slot->body_bytes > slot->len ||
        slot->head_bytes > slot->len - slot->body_bytes ||
        !rpmi_in_bounds(slot->body, slot->body_bytes, ring->ring.staging_bytes))
        return RPM_E_RANGE;
    span.offset += part->from;
    past_cache =
        durable && span.area == RPMI_AREA_POOL && server->pool.facts.domain == RPM_DOMAIN_ADR;
    put_part(ring, slot, index, part,
             (span.area == RPMI_AREA_POOL ? server->pool.base : server->dram.base) + span.offset,
             past_cache ? past_cache_by(slot) : rpmi_plain_write);
    if (past_cache)
        batch->unfenced = true;
    else if (durable)
        make_durable(server, batch, &span, part->len);
    rpmi_count_own(&server->stats.bytes, part->len);
    return 0;
}

static int do_read(struct rpm_server *server, const struct rpmi_serve_ring *ring,
                   const struct rpmi_slot *slot, const struct part *part)
{
    struct rpmi_span span;
    int err = rpmi_service_access(server->service, ring->client, slot->key, slot->offset, slot->len,
                                  RPMI_RIGHT_READ, &span);

    if (err != 0)
        return err;
    if (!rpmi_in_bounds(slot->body, slot->len, ring->ring.staging_bytes))
        return RPM_E_RANGE;
    memcpy(ring->ring.staging + slot->body + part->from,
           (span.area == RPMI_AREA_POOL ? server->pool.base : server->dram.base) + span.offset +
               part->from,
           part->len);
    return 0;
}

static int do_persist(struct rpm_server *server, const struct rpmi_serve_ring *ring,
                      const struct rpmi_slot *slot, const struct part *part, struct batch *batch)
{
    struct rpmi_span span;
    int err = rpmi_service_access(server->service, ring->client, slot->key, slot->offset, slot->len,
                                  RPMI_RIGHT_READ, &span);

    if (err != 0)
        return err;
    span.offset += part->from;
    make_durable(server, batch, &span, part->len);
    return 0;
}

static int do_atomic(struct rpm_server *server, const struct rpmi_serve_ring *ring,
                     const struct rpmi_slot *slot)
{
    struct rpmi_span span;
    uint64_t expect;
    uint64_t operand;
    uint64_t *word;
    int err = rpmi_service_access(server->service, ring->client, slot->key, slot->offset,
                                  sizeof(uint64_t), RPMI_RIGHT_ATOMIC, &span);

    if (err != 0)
        return err;
    if (!rpmi_in_bounds(slot->body, sizeof(uint64_t), ring->ring.staging_bytes))
        return RPM_E_RANGE;
    if (span.area != RPMI_AREA_DRAM || !rpmi_is_aligned(span.offset, sizeof(uint64_t)))
        return RPM_E_DENIED;
    memcpy(&expect, slot->head, sizeof(expect));
    memcpy(&operand, slot->head + sizeof(expect), sizeof(operand));
    word = (uint64_t *)(void *)(server->dram.base + span.offset);
    if (slot->kind == RPMI_OP_FAA)
        expect = __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    else
        (void)__atomic_compare_exchange_n(word, &expect, operand, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    memcpy(ring->ring.staging + slot->body, &expect, sizeof(expect));
    return 0;
}

static int carry_out(struct rpm_server *server, struct rpmi_serve_ring *ring,
                     const struct rpmi_slot *slot, uint32_t index, const struct part *part,
                     struct batch *batch)
{
    switch (slot->kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_COPY:
        return do_write(server, ring, slot, index, part, batch);
    case RPMI_OP_READ:
        return do_read(server, ring, slot, part);
    case RPMI_OP_PERSIST:
        return do_persist(server, ring, slot, part, batch);
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        return do_atomic(server, ring, slot);
    default:
        return RPM_E_NOCAP;
    }
}

static bool promises(const struct rpmi_slot *slot)
{
    return slot->kind == RPMI_OP_PERSIST || (slot->flags & RPMI_OP_DURABLE) != 0;
}

/* What is left of a request, as far as @room goes. */
static inline struct part next_part(const struct rpmi_serve_ring *ring,
                                    const struct rpmi_slot *slot, uint64_t room)
{
    struct part part = { .from = ring->carried, .len = slot->len - ring->carried };

    if (RPMI_UNLIKELY(part.len > room))
        part.len = room;
    return part;
}

static bool in_parts(const struct rpmi_slot *slot)
{
    return slot->kind == RPMI_OP_WRITE || slot->kind == RPMI_OP_COPY ||
           slot->kind == RPMI_OP_READ || slot->kind == RPMI_OP_PERSIST;
}

/* What fails in a post fails the rest of it. 1: not all of it was carried out yet. */
static int in_post(struct rpm_server *server, struct rpmi_serve_ring *ring,
                   const struct rpmi_slot *slot, uint32_t index, uint64_t *room,
                   struct batch *batch)
{
    int status = ring->post_status;

    if (RPMI_LIKELY(status == 0)) {
        struct part part = next_part(ring, slot, *room);

        status = carry_out(server, ring, slot, index, &part, batch);
        *room -= part.len;
        if (RPMI_UNLIKELY(status == 0 && part.from + part.len < slot->len) && in_parts(slot)) {
            ring->carried += part.len;
            ring->whole = *slot;
            return 1;
        }
    }
    ring->carried = 0;
    ring->post_status = (slot->flags & RPMI_SLOT_LAST) != 0 ? 0 : status;
    return status;
}

static inline bool slot_ready(const struct rpmi_serve_ring *ring)
{
    const struct rpmi_slot *slot = &ring->ring.slot[ring->next & (ring->ring.slots - 1)];

    return __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) == (uint32_t)(ring->next + 1);
}

static void fail_request(struct rpmi_serve_ring *ring, uint64_t request, int status)
{
    __atomic_store_n(&ring->ring.status[request & (ring->ring.slots - 1)], status,
                     __ATOMIC_RELAXED);
    ring->failures++;
    __atomic_store_n(&ring->ring.head->failures, ring->failures, __ATOMIC_RELAXED);
}

static void take_from(struct rpm_server *server, struct rpmi_serve_ring *ring,
                      struct rpmi_take *take, struct batch *batch)
{
    uint64_t room = PASS_BYTES; /* never too little for a head, which is not cut */

    take->first = ring->next;
    take->n = 0;
    take->durable = 0;
    while (take->n < RPMI_PASS_OPS && room >= RPMI_LINE_BYTES && slot_ready(ring)) {
        uint32_t index = (uint32_t)ring->next & (ring->ring.slots - 1);
        struct rpmi_slot slot = ring->ring.slot[index];
        int status;

        /* The compiler may not go back to the original for what it has in the copy. */
        __asm__ volatile("" : "+m"(slot));
        if (RPMI_UNLIKELY(ring->carried != 0))
            slot = ring->whole; /* as it was judged when it began */
        status = in_post(server, ring, &slot, index, &room, batch);
        if (RPMI_UNLIKELY(status > 0))
            return;
        if (RPMI_UNLIKELY(status != 0)) {
            fail_request(ring, ring->next, status);
            rpmi_count_own(&server->stats.rejected, 1);
        } else if (promises(&slot)) {
            take->durable |= 1ull << take->n;
        }
        take->n++;
        ring->next++;
    }
}

static void answer(struct rpmi_serve_ring *ring, const struct rpmi_take *take, int msync_status)
{
    struct rpmi_ring_head *head = ring->ring.head;

    if (RPMI_UNLIKELY(msync_status != 0))
        for (uint32_t i = 0; i < take->n; i++)
            if ((take->durable >> i & 1) != 0)
                fail_request(ring, take->first + i, msync_status);
    __atomic_store_n(&head->done, ring->next, __ATOMIC_RELEASE);
    if (__atomic_load_n(&head->fences, __ATOMIC_RELAXED) != 0)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else
        __asm__ volatile("" ::: "memory");
    if (RPMI_UNLIKELY(__atomic_load_n(&head->waits, __ATOMIC_RELAXED) != 0))
        (void)syscall(SYS_futex, (uint32_t *)(void *)&head->done, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool rpmi_serve_ready(const struct rpm_server *server)
{
    uint32_t high = __atomic_load_n(&server->rings_high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        const struct rpmi_serve_ring *ring = &server->rings[i];
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

        if (state == RPMI_RING_CLOSED || (state == RPMI_RING_LIVE && slot_ready(ring)))
            return true;
    }
    return false;
}

static void engine_lock(struct rpm_server *server)
{
    int err;

    while (__atomic_load_n(&server->wanted, __ATOMIC_ACQUIRE) != 0)
        rpmi_clock_sleep_ns(LOCK_NAP_NS);
    err = pthread_mutex_lock(&server->lock);
    RPM_ASSERT(err == 0);
}

void rpmi_serve_pass(struct rpm_server *server)
{
    uint32_t high = __atomic_load_n(&server->rings_high, __ATOMIC_ACQUIRE);
    struct batch batch;
    uint64_t ops = 0;

    batch.unfenced = false;
    batch.dirty_n = 0;
    batch.msync_status = 0;
    engine_lock(server);
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_serve_ring *ring = &server->rings[i];
        uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

        server->takes[i].n = 0;
        if (state == RPMI_RING_CLOSED)
            rpmi_serve_ring_retire(ring);
        else if (state == RPMI_RING_LIVE)
            take_from(server, ring, &server->takes[i], &batch);
        ops += server->takes[i].n;
    }
    if (batch.unfenced)
        rpmi_media_fence(&server->pool);
    rpmi_serve_unlock(server);
    sync_dirty(server, &batch);
    for (uint32_t i = 0; i < high; i++)
        if (server->takes[i].n != 0)
            answer(&server->rings[i], &server->takes[i], batch.msync_status);
    rpmi_count_own(&server->stats.ops, ops);
}
