/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prove.c: certify records for the writer of a log. A writer that cannot know when its WRITEs have
 * reached the server's memory, because they travel on another connection than its question, asks
 * which of them have: the server CPU reads each frame and checks it as recovery would.
 *
 * Invariants
 *   only the claim in force is certified, and only behind its seal: a record that is certified is
 *     visible before a newer claim is granted, so the newer writer finds it
 *   every byte of a certified record was read; the caller then makes all of them durable
 *   a certificate ends where a frame does
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/pool/prove_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/canary.h"
#include "base/sum.h"
#include "wire/frame.h"
#include "wire/head.h"

#define CHUNK 2048u

struct rpmi_object *rpmi_log_of_id(const struct rpmi_service *service, uint64_t log_id)
{
    struct rpmi_dirent key = { .id = log_id };
    uint32_t place = rpmi_sorted_find(&service->by_id, &key);
    struct rpmi_object *log;

    if (place == service->by_id.n)
        return NULL;
    log = service->by_id.at[place];
    RPM_ASSERT(log->used && log->entry.kind == RPM_KIND_LOG);
    return log->entry.id == log_id ? log : NULL;
}

static uint64_t payload_sum(struct rpmi_mem *pool, uint64_t offset, uint64_t len)
{
    unsigned char chunk[CHUNK];
    struct rpmi_sum_stream sum;

    RPM_ASSERT(rpmi_in_bounds(offset, len, pool->bytes));
    if (len <= sizeof(chunk)) {
        rpmi_mem_load(pool, offset, chunk, len);
        return rpmi_sum(chunk, len);
    }
    rpmi_sum_begin(&sum);
    for (uint64_t at = 0; at < len; at += sizeof(chunk)) {
        uint64_t part = len - at < sizeof(chunk) ? len - at : sizeof(chunk);

        rpmi_mem_load(pool, offset + at, chunk, part);
        rpmi_sum_more(&sum, chunk, part);
    }
    return rpmi_sum_end(&sum);
}

/* The stride of the whole frame at @lsn, or 0: there is none, of the claim that asks, that ends by
 * the end of @step. */
static uint64_t whole_frame(const struct rpmi_service *service, const struct rpmi_object *log,
                            const struct rpmi_step *step, uint64_t lsn)
{
    struct rpmi_mem *pool = service->opts.pool;
    uint64_t at = rpmi_ring_place(log, lsn);
    uint64_t ring_end = log->entry.offset + log->entry.bytes;
    uint64_t left = step->end_lsn - lsn;
    uint64_t room = left < ring_end - at ? left : ring_end - at;
    unsigned char header[RPMI_FRAME_HEADER_BYTES];
    struct rpmi_frame frame;
    bool pad;

    RPM_ASSERT(lsn < step->end_lsn && at < ring_end);
    rpmi_mem_load(pool, at, header, sizeof(header));
    if (rpmi_frame_get(header, lsn, room, &frame) != RPMI_FRAME_VALID || frame.epoch != step->epoch)
        return 0;
    pad = (frame.flags & RPMI_FRAME_PAD) != 0;
    if (!RPMI_CANARY(CERTIFICATE_HEADERS) &&
        rpmi_frame_sum_with(&frame, log->entry.id,
                            pad ? 0 : payload_sum(pool, at + sizeof(header), frame.len)) !=
            frame.sum)
        return 0;
    return rpmi_frame_stride(frame.len, frame.flags);
}

/* Where the whole frames that @step asks for end; a frame or more before that if there are many. */
static uint64_t whole_until(const struct rpmi_service *service, const struct rpmi_object *log,
                            const struct rpmi_step *step)
{
    uint64_t lsn = step->offset;

    if (RPMI_CANARY(CERTIFICATE_UNSEEN))
        return step->end_lsn;
    while (lsn < step->end_lsn && lsn - step->offset < RPMI_PROVE_BYTES) {
        uint64_t stride = whole_frame(service, log, step, lsn);

        if (stride == 0)
            break;
        lsn += stride;
    }
    RPM_ASSERT(lsn <= step->end_lsn);
    return lsn;
}

/* The bytes of the pool that hold [first, end) of the log. */
static void set_ranges(const struct rpmi_object *log, struct rpmi_proof *proof)
{
    uint64_t first = proof->certificate.first_lsn;
    uint64_t bytes = proof->certificate.end_lsn - first;
    uint64_t left = rpmi_ring_bytes(log) - first % rpmi_ring_bytes(log);

    RPM_ASSERT(bytes <= rpmi_ring_bytes(log));
    if (bytes == 0)
        return;
    proof->range[0].offset = rpmi_ring_place(log, first);
    proof->range[0].len = bytes < left ? bytes : left;
    proof->ranges = 1;
    if (bytes <= left)
        return;
    proof->range[1].offset = rpmi_ring_place(log, first + left);
    proof->range[1].len = bytes - left;
    proof->ranges = 2;
}

static int check(const struct rpmi_object *log, const struct rpmi_step *step)
{
    if (log == NULL)
        return RPM_E_NOENT;
    if (log->writer == 0 || !log->sealed || log->epoch != step->epoch)
        return RPM_E_FENCED;
    if (!rpmi_is_aligned(step->offset, RPMI_LINE_BYTES) ||
        !rpmi_is_aligned(step->end_lsn, RPMI_LINE_BYTES) || step->end_lsn >= RPMI_HEAD_LIMIT ||
        step->end_lsn <= step->offset || step->end_lsn - step->offset > rpmi_ring_bytes(log))
        return RPM_E_RANGE;
    return 0;
}

void rpmi_service_prove(struct rpmi_service *service, const struct rpmi_step *step,
                        enum rpm_level level, struct rpmi_proof *proof)
{
    const struct rpmi_object *log = rpmi_log_of_id(service, step->log_id);
    int err = check(log, step);

    RPM_ASSERT(step->kind == RPMI_STEP_PROVE);
    *proof = (struct rpmi_proof){ .certificate = { .status = err } };
    if (err != 0)
        return;
    proof->certificate = (struct rpmi_certificate){
        .level = level,
        .log_id = step->log_id,
        .first_lsn = step->offset,
        .end_lsn = whole_until(service, log, step),
        .epoch = step->epoch,
        .server_epoch = service->opts.server_epoch,
    };
    memcpy(proof->key, log->certificate_key, sizeof(proof->key));
    RPM_ASSERT(proof->certificate.end_lsn - step->offset <= rpmi_ring_bytes(log));
    set_ranges(log, proof);
}

void rpmi_proof_write(const struct rpmi_proof *proof, void *bytes)
{
    int err = proof->certificate.status;

    if (err == 0)
        err = rpmi_certificate_put(bytes, &proof->certificate, proof->key);
    if (err != 0)
        rpmi_certificate_refuse(bytes, err);
}
