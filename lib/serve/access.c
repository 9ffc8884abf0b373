/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * access.c: requests for one access to the pool or to a DRAM word, carried out by the server CPU.
 *
 * Invariant: the service checks every access, under the server's lock, when the access is made.
 *
 * Tests: tests/unit/serve/access_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/request.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/differ.h"
#include "base/sum.h"
#include "pmem/cpu_copy.h"
#include "serve/serve.h"
#include "wire/steps.h"

#include <string.h>

static unsigned char *address_of(struct rpm_server *server, const struct rpmi_span *span,
                                 uint64_t len)
{
    RPM_ASSERT_SLOW(rpmi_in_bounds(span->offset, len,
                                   span->area == RPMI_AREA_POOL ? server->pool.mem.bytes
                                                                : server->dram.mem.bytes));
    return (span->area == RPMI_AREA_POOL ? server->pool.base : server->dram.base) + span->offset;
}

static void widen(struct rpmi_dirty *range, const struct rpmi_dirty *add)
{
    range->first = add->first < range->first ? add->first : range->first;
    range->end = add->end > range->end ? add->end : range->end;
}

/* By how much a range grows to hold another. */
static uint64_t growth(const struct rpmi_dirty *range, const struct rpmi_dirty *add)
{
    struct rpmi_dirty both = *range;

    widen(&both, add);
    return (both.end - both.first) - (range->end - range->first);
}

/* The batch has room for RPMI_DIRTY_MAX ranges, and no msync is made here, because clients wait for
 * the lock: if there is no room, the range is joined to another. The bytes between the two are then
 * made durable too, which costs only time. */
static void add_dirty(struct rpmi_batch *batch, uint64_t offset, uint64_t len)
{
    struct rpmi_dirty add = {
        .first = rpmi_align_down(offset, RPMI_PAGE_BYTES),
        .end = rpmi_align_up(offset + len, RPMI_PAGE_BYTES),
    };
    uint32_t nearest = 0;

    RPM_ASSERT(add.first < add.end && batch->dirty_n <= RPMI_DIRTY_MAX);
    for (uint32_t i = 0; i < batch->dirty_n; i++) {
        struct rpmi_dirty *have = &batch->dirty[i];

        if (add.first <= have->end && add.end >= have->first) {
            widen(have, &add);
            return;
        }
        if (growth(have, &add) < growth(&batch->dirty[nearest], &add))
            nearest = i;
    }
    if (batch->dirty_n < RPMI_DIRTY_MAX)
        batch->dirty[batch->dirty_n++] = add;
    else
        widen(&batch->dirty[nearest], &add);
}

void rpmi_batch_persist(struct rpm_server *server, struct rpmi_batch *batch,
                        const struct rpmi_span *span, uint64_t len)
{
    if (span->area != RPMI_AREA_POOL || len == 0)
        return;
    if (server->pool.facts.domain == RPM_DOMAIN_MSYNC) {
        add_dirty(batch, span->offset, len);
    } else if (server->pool.facts.domain == RPM_DOMAIN_ADR) {
        RPM_ASSERT(rpmi_cpu.can_flush);
        rpmi_cpu_flush(server->pool.base + span->offset, len);
        batch->unfenced = true;
    }
}

/* Store the head and the body bytes of the part, then zeros up to its length. */
static inline void put_part(const struct rpmi_op *op, const struct rpmi_part *part,
                            unsigned char *to, rpmi_write_fn *write)
{
    size_t head_bytes = part->from == 0 ? op->head_bytes : 0;
    uint64_t skip = part->from == 0 ? 0 : part->from - op->head_bytes;
    uint64_t body_bytes = skip < op->body_bytes ? op->body_bytes - skip : 0;
    const unsigned char *body = op->body;

    RPM_ASSERT(head_bytes <= part->len && part->from + part->len <= op->len);
    if (body_bytes > part->len - head_bytes)
        body_bytes = part->len - head_bytes;
    write(to, op->head, head_bytes, body_bytes != 0 ? body + skip : body, body_bytes, part->len);
}

static inline rpmi_write_fn *write_past_cache(const struct rpmi_op *op)
{
    return (op->flags & RPMI_OP_CACHED) != 0 ? rpmi_cpu.back_write : rpmi_cpu.nt_write;
}

static int do_write(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                    const struct rpmi_part *part, struct rpmi_batch *batch)
{
    bool durable = op->kind == RPMI_OP_COPY && (op->flags & RPMI_OP_DURABLE) != 0;
    struct rpmi_span span;
    bool past_cache;
    int err = rpmi_service_access(server->service, client, op->key, op->offset, op->len,
                                  RPMI_RIGHT_WRITE, &span);

    if (err != 0)
        return err;
    if (op->head_bytes > RPMI_LINE_BYTES || op->body_bytes > op->len ||
        op->head_bytes > op->len - op->body_bytes)
        return RPM_E_RANGE;
    span.offset += part->from;
    past_cache =
        durable && span.area == RPMI_AREA_POOL && server->pool.facts.domain == RPM_DOMAIN_ADR;
    put_part(op, part, address_of(server, &span, part->len),
             past_cache ? write_past_cache(op) : rpmi_plain_write);
    if (past_cache)
        batch->unfenced = true;
    else if (durable)
        rpmi_batch_persist(server, batch, &span, part->len);
    rpmi_count_own(&server->stats.bytes, part->len);
    return 0;
}

void rpmi_request_carry(struct rpm_server *server, const struct rpmi_span *span,
                        const struct rpmi_step *step, struct rpmi_batch *batch)
{
    RPM_ASSERT(span->area == RPMI_AREA_POOL && step->kind == RPMI_STEP_CARRY);
    rpmi_plain_write(address_of(server, span, step->len), NULL, 0, step->data, step->len,
                     step->len);
    batch->changed = true;
    rpmi_count_own(&server->stats.bytes, step->len);
    rpmi_count_own(&server->stats.carried, 1);
}

void rpmi_request_load(struct rpm_server *server, const struct rpmi_span *span, void *into,
                       uint64_t len)
{
    const unsigned char *from = address_of(server, span, len);
    uint64_t word;

    if (len == sizeof(word) && rpmi_is_aligned((uintptr_t)from, sizeof(word))) {
        word = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);
        memcpy(into, &word, sizeof(word));
    } else {
        memcpy(into, from, len);
    }
}

uint64_t rpmi_request_sum(struct rpm_server *server, const struct rpmi_span *span, uint64_t len,
                          uint64_t seed)
{
    RPM_ASSERT(len > 0 && len <= RPMI_SUM_BYTES_MAX); /* clients wait for the lock */
    return rpmi_sum_seeded(address_of(server, span, len), len, seed);
}

uint64_t rpmi_request_compare(struct rpm_server *server, const struct rpmi_span *span,
                              const struct rpmi_span *other, uint64_t len)
{
    RPM_ASSERT(len > 0 && len <= RPMI_SUM_BYTES_MAX / 2); /* clients wait for the lock */
    return rpmi_differ_at(address_of(server, span, len), address_of(server, other, len), len);
}

/* The memory of the part, which the client must be allowed to read. */
static int find_part(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                     const struct rpmi_part *part, struct rpmi_span *span)
{
    int err = rpmi_service_access(server->service, client, op->key, op->offset, op->len,
                                  RPMI_RIGHT_READ, span);

    if (err != 0)
        return err;
    RPM_ASSERT(rpmi_in_bounds(part->from, part->len, op->len));
    span->offset += part->from;
    return 0;
}

static int do_read(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                   const struct rpmi_part *part)
{
    struct rpmi_span span;
    int err = find_part(server, client, op, part, &span);

    if (err != 0)
        return err;
    rpmi_request_load(server, &span, (unsigned char *)op->into + part->from, part->len);
    return 0;
}

static int do_persist(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                      const struct rpmi_part *part, struct rpmi_batch *batch)
{
    struct rpmi_span span;
    int err = find_part(server, client, op, part, &span);

    if (err != 0)
        return err;
    rpmi_batch_persist(server, batch, &span, part->len);
    return 0;
}

uint64_t rpmi_request_change(struct rpm_server *server, const struct rpmi_span *span,
                             const struct rpmi_op *op)
{
    uint64_t *word = (uint64_t *)(void *)address_of(server, span, sizeof(uint64_t));
    uint64_t found = op->expect;

    RPM_ASSERT(span->area == RPMI_AREA_DRAM && rpmi_is_aligned(span->offset, sizeof(*word)));
    if (op->kind == RPMI_OP_FAA)
        return __atomic_fetch_add(word, op->operand, __ATOMIC_SEQ_CST);
    (void)__atomic_compare_exchange_n(word, &found, op->operand, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return found;
}

static int do_atomic(struct rpm_server *server, uint32_t client, const struct rpmi_op *op)
{
    struct rpmi_span span;
    uint64_t found;
    int err = rpmi_service_access(server->service, client, op->key, op->offset, sizeof(uint64_t),
                                  RPMI_RIGHT_ATOMIC, &span);

    if (err != 0)
        return err;
    if (span.area != RPMI_AREA_DRAM || !rpmi_is_aligned(span.offset, sizeof(uint64_t)))
        return RPM_E_DENIED;
    found = rpmi_request_change(server, &span, op);
    memcpy(op->into, &found, sizeof(found));
    return 0;
}

int rpmi_request_access(struct rpm_server *server, uint32_t client, const struct rpmi_op *op,
                        const struct rpmi_part *part, struct rpmi_batch *batch)
{
    RPM_ASSERT_SLOW(rpmi_serve_has_lock(server)); /* no claim between the check and the store */
    switch (op->kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_COPY:
        batch->changed = true;
        return do_write(server, client, op, part, batch);
    case RPMI_OP_READ:
        return do_read(server, client, op, part);
    case RPMI_OP_PERSIST:
        return do_persist(server, client, op, part, batch);
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        batch->changed = true;
        return do_atomic(server, client, op);
    default:
        return RPM_E_NOCAP;
    }
}

void rpmi_batch_fence(struct rpmi_batch *batch)
{
    if (batch->unfenced)
        rpmi_cpu_fence();
    batch->unfenced = false;
}

/* Before this the memory of the answers, which a client may already read, had no certificates. */
static void write_certificates(const struct rpm_server *server, struct rpmi_batch *batch)
{
    RPM_ASSERT(batch->proofs_n <= RPMI_PROOFS_MAX);
    for (uint32_t i = 0; i < batch->proofs_n; i++) {
        const struct rpmi_pending_proof *pending = &server->proofs[i];

        if (batch->msync_status == 0)
            rpmi_proof_write(&pending->proof, pending->at);
        else
            rpmi_certificate_refuse(pending->at, batch->msync_status);
    }
    batch->proofs_n = 0;
    batch->proofs_bytes = 0;
}

void rpmi_batch_sync(struct rpm_server *server, struct rpmi_batch *batch)
{
    RPM_ASSERT(!batch->unfenced);             /* msync of stores that are visible */
    RPM_ASSERT(!rpmi_serve_has_lock(server)); /* a claim would wait for the disk */
    for (uint32_t i = 0; i < batch->dirty_n; i++) {
        uint64_t end = batch->dirty[i].end < server->pool.mem.bytes ? batch->dirty[i].end
                                                                    : server->pool.mem.bytes;
        int err;

        RPM_ASSERT(batch->dirty[i].first < end);
        err =
            rpmi_mem_persist(&server->pool.mem, batch->dirty[i].first, end - batch->dirty[i].first);
        if (err != 0)
            batch->msync_status = err;
    }
    batch->dirty_n = 0;
    write_certificates(server, batch);
}
