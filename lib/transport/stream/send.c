/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * send.c: send requests. A request that is posted while no request is outstanding is sent at once.
 * A later request, or one on a link that gathers, is held back until the next poll or wait, or
 * until HOLD_BYTES are held back; then all of them are sent by one system call, because system
 * calls, not bytes, dominate the cost of a stream.
 *
 * Tests: tests/conform/transport_test.cpp
 */
#include "transport/stream/stream.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "transport/remote.h"

#include <string.h>

#define PIECES_MAX 64      /* in one send; the kernel's own bound is 1024 */
#define HOLD_BYTES 131072u /* held back at most: with so much the server can begin to work */

static inline uint32_t put_operands(unsigned char *to, const struct rpmi_op *op)
{
    rpmi_store64(to, op->expect);
    rpmi_store64(to + sizeof(uint64_t), op->operand);
    return 2 * sizeof(uint64_t);
}

static inline void check_staged(const struct rpmi_stream *stream, const void *ptr, uint64_t bytes)
{
    uint64_t at = (uint64_t)((const unsigned char *)ptr - stream->stage.base);

    RPM_ASSERT(rpmi_in_bounds(at, bytes, stream->stage.bytes));
}

/* The number of bytes in the result of the request. */
static inline void expect_result(struct rpmi_stream *stream, const struct rpmi_op *op,
                                 uint64_t bytes, struct rpmi_stream_sent *slot)
{
    check_staged(stream, op->into, bytes);
    slot->into = op->into;
    slot->want = (uint32_t)bytes;
}

/* Copy a small body behind header and head into the piece; a large body is sent from staging
 * memory. */
static inline void put_body(struct rpmi_stream *stream, const struct rpmi_op *op,
                            struct rpmi_stream_sent *slot, struct rpmi_request *request)
{
    RPM_ASSERT(op->kind == RPMI_OP_STEPS ||
               (op->head_bytes <= RPMI_LINE_BYTES && op->body_bytes <= op->len &&
                op->head_bytes <= op->len - op->body_bytes));
    if (op->body_bytes == 0)
        return;
    check_staged(stream, op->body, op->body_bytes);
    request->body_bytes = (uint32_t)op->body_bytes;
    if (op->body_bytes > RPMI_STREAM_COPY_MAX) {
        slot->body = op->body;
        slot->body_bytes = (uint32_t)op->body_bytes;
        return;
    }
    memcpy(stream->piece + slot->piece + slot->piece_bytes, op->body, op->body_bytes);
    slot->piece_bytes += (uint32_t)op->body_bytes;
}

static void put_op(struct rpmi_stream *stream, const struct rpmi_op *op, uint8_t last)
{
    struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, stream->posted);
    struct rpmi_request request = {
        .kind = op->kind,
        .flags = (uint8_t)((op->flags & (RPMI_OP_DURABLE | RPMI_OP_CACHED)) | last),
        .key = op->key,
        .offset = op->offset,
        .len = op->len,
    };

    RPM_ASSERT(op->head_bytes <= RPMI_LINE_BYTES);
    RPM_ASSERT_SLOW(stream->posted - stream->reaped < stream->slots);
    if (stream->piece_room - stream->piece_at < RPMI_STREAM_PIECE_MAX)
        stream->piece_at = 0;
    *slot = (struct rpmi_stream_sent){
        .id = op->id,
        .piece = stream->piece_at,
        .piece_bytes = RPMI_REQUEST_BYTES,
        .signaled = (op->flags & RPMI_OP_SIGNALED) != 0,
    };
    if (op->kind == RPMI_OP_WRITE || op->kind == RPMI_OP_COPY) {
        unsigned char *head = stream->piece + slot->piece + RPMI_REQUEST_BYTES;

        request.head_bytes = op->head_bytes;
        if (op->head_bytes != 0)
            memcpy(head, op->head, op->head_bytes);
        slot->piece_bytes += op->head_bytes;
        put_body(stream, op, slot, &request);
    } else if (op->kind == RPMI_OP_READ) {
        expect_result(stream, op, op->len, slot);
    } else if (op->kind == RPMI_OP_STEPS) {
        expect_result(stream, op, op->len, slot);
        put_body(stream, op, slot, &request);
    } else if (op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA) {
        expect_result(stream, op, sizeof(uint64_t), slot);
        request.len = sizeof(uint64_t);
        request.head_bytes =
            (uint16_t)put_operands(stream->piece + slot->piece + RPMI_REQUEST_BYTES, op);
        slot->piece_bytes += request.head_bytes;
    }
    /* Its bytes are not those of another request that is not sent yet. */
    RPM_ASSERT(slot->piece_bytes <= RPMI_STREAM_PIECE_MAX);
    rpmi_request_put(stream->piece + slot->piece, &request);
    stream->piece_at += slot->piece_bytes;
    stream->posted++;
}

/* Free the slots of complete requests that need no report. */
static void skip_silent(struct rpmi_stream *stream)
{
    while (stream->failures == 0 && stream->reaped != stream->done) {
        const struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, stream->reaped);

        if (slot->signaled || slot->got != slot->want)
            return;
        stream->reaped++;
    }
}

static inline uint64_t waiting_bytes(struct rpmi_stream *stream, uint64_t first)
{
    uint64_t bytes = 0;

    for (uint64_t i = first; i != stream->posted; i++) {
        const struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, i);

        bytes += slot->piece_bytes + slot->body_bytes;
    }
    return bytes;
}

int rpmi_stream_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    uint64_t room;
    bool idle;
    int err;

    if (RPMI_UNLIKELY(link->lost != 0 || stream->broken))
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    err = rpmi_remote_check_kinds(ops, n, "a stream");
    if (err != 0)
        return err;
    if (RPMI_UNLIKELY(stream->slots - (stream->posted - stream->reaped) < n))
        skip_silent(stream);
    room = stream->slots - (stream->posted - stream->reaped);
    if (n > room)
        n = (uint32_t)room;
    idle = stream->done == stream->posted;
    if (stream->sent == stream->posted)
        stream->piece_at = 0; /* no request uses the pieces: begin where the cache is warm */
    for (uint32_t i = 0; i < n; i++)
        put_op(stream, &ops[i], i + 1 == n ? RPMI_REQUEST_LAST : 0);
    stream->held_bytes += waiting_bytes(stream, stream->posted - n);
    if ((!idle || stream->gathers) && stream->held_bytes < HOLD_BYTES)
        return (int)n;
    /* The ops are taken even if the send fails: their completions then report the loss. */
    if (rpmi_stream_flush(stream) != 0)
        rpmi_stream_end(stream);
    return (int)n;
}

struct gather {
    struct iovec iov[PIECES_MAX];
    int n;
};

static void add(struct gather *gather, const unsigned char *bytes, uint64_t len)
{
    struct iovec *last = gather->n > 0 ? &gather->iov[gather->n - 1] : NULL;

    if (last != NULL && (const unsigned char *)last->iov_base + last->iov_len == bytes)
        last->iov_len += len;
    else
        gather->iov[gather->n++] =
            (struct iovec){ .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
    RPM_ASSERT(gather->n <= PIECES_MAX);
}

/* Gather as many requests as fit, from where the last send stopped. */
static void collect(struct rpmi_stream *stream, struct gather *gather)
{
    uint64_t skip = stream->sent_bytes;

    gather->n = 0;
    for (uint64_t i = stream->sent; i != stream->posted && gather->n + 2 <= PIECES_MAX; i++) {
        const struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, i);
        uint64_t body_skip = skip > slot->piece_bytes ? skip - slot->piece_bytes : 0;

        if (skip < slot->piece_bytes)
            add(gather, stream->piece + slot->piece + skip, slot->piece_bytes - skip);
        if (body_skip < slot->body_bytes)
            add(gather, slot->body + body_skip, slot->body_bytes - body_skip);
        skip = 0;
    }
}

static void account(struct rpmi_stream *stream, uint64_t bytes)
{
    bytes += stream->sent_bytes;
    while (stream->sent != stream->posted) {
        const struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, stream->sent);
        uint64_t whole = (uint64_t)slot->piece_bytes + slot->body_bytes;

        if (bytes < whole)
            break;
        bytes -= whole;
        stream->sent++;
    }
    RPM_ASSERT(bytes == 0 || stream->sent != stream->posted); /* no more than was posted */
    stream->sent_bytes = bytes;
}

int rpmi_stream_flush(struct rpmi_stream *stream)
{
    struct gather gather;

    stream->held_bytes = 0;
    while (stream->sent != stream->posted) {
        int64_t sent;

        collect(stream, &gather);
        sent = rpmi_pipe_send(&stream->pipe, gather.iov, gather.n);
        if (sent <= 0)
            return (int)sent;
        rpmi_stream_count_sent(stream, (uint64_t)sent);
        account(stream, (uint64_t)sent);
    }
    RPM_ASSERT(stream->sent_bytes == 0);
    return 0;
}

void rpmi_stream_end(struct rpmi_stream *stream)
{
    stream->broken = true;
    stream->done = stream->posted;
    stream->data_left = 0;
}
