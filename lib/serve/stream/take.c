/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * take.c: take requests of stream clients into the engine's batch. All requests received from a
 * client are carried out in one pass; a body longer than the buffer is carried out in pieces as it
 * arrives.
 *
 * Invariants
 *   a request is checked when its header is read, and by the service at each piece
 *   no request is carried out unless the send buffer has room for its answer
 *   a pass spends a bounded time on one client
 *
 * Tests: tests/unit/serve/stream/take_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PASS_BYTES (1u << 20) /* of one client in one pass: a fraction of a millisecond */
#define OP_COST 64u           /* bytes that each request counts for beside its own */
#define CHUNK_BYTES                                                                                \
    16384u /* a piece of a body is carried out only when this many bytes have
                                 arrived */

enum outcome {
    WAITS = 0, /* for bytes of the client */
    ENDED = 1, /* this step; the next one can follow */
    STOPS = 2  /* until the send buffer has room, or the session has ended */
};

static inline uint32_t received(const struct rpmi_stream_session *session)
{
    RPM_ASSERT_SLOW(session->in_from <= session->in_end);
    return session->in_end - session->in_from;
}

static inline uint32_t out_room(const struct rpmi_stream_session *session)
{
    uint32_t room = RPMI_STREAM_OUT_BYTES - session->out_end;

    return room > RPMI_STREAM_RESERVE ? room - RPMI_STREAM_RESERVE : 0;
}

/* How much of the body must have arrived before the next piece is carried out. */
static inline uint32_t body_wanted(const struct rpmi_stream_current *current)
{
    uint32_t left = current->request.body_bytes - current->body_taken;

    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

static inline bool is_atomic(const struct rpmi_request *request)
{
    return request->kind == RPMI_OP_CAS || request->kind == RPMI_OP_FAA;
}

static inline bool has_result(const struct rpmi_request *request)
{
    return request->kind == RPMI_OP_READ || request->kind == RPMI_OP_STEPS || is_atomic(request);
}

/* Room in the send buffer that the next piece needs, at least for a failure. */
static inline uint32_t out_wanted(const struct rpmi_stream_current *current)
{
    uint64_t left = current->request.len - current->carried;

    if (current->request.kind == RPMI_OP_STEPS)
        return RPMI_ANSWER_BYTES + (uint32_t)left;
    if (current->request.kind != RPMI_OP_READ)
        return RPMI_ANSWER_BYTES + (is_atomic(&current->request) ? sizeof(uint64_t) : 0);
    return RPMI_ANSWER_BYTES + (uint32_t)(left < CHUNK_BYTES ? left : CHUNK_BYTES);
}

/* Hand the call to the control thread; the engine sends the reply when that thread has put it. */
static enum outcome take_call(struct rpmi_stream_listener *listener,
                              struct rpmi_stream_session *session)
{
    struct rpmi_session *base = &session->base;
    uint64_t one = 1;

    RPM_ASSERT(base->client != 0);
    if (received(session) < RPMI_REQUEST_BYTES + RPMI_CALL_BYTES)
        return WAITS;
    if (__atomic_load_n(&base->call_state, __ATOMIC_ACQUIRE) != RPMI_SESSION_IDLE) {
        rpmi_diag(RPM_DIAG_NOTICE,
                  "client %u is disconnected: it made a call before its last was answered",
                  base->client);
        rpmi_stream_session_end(listener, session);
        return STOPS;
    }
    memcpy(base->call, session->in + session->in_from + RPMI_REQUEST_BYTES, RPMI_CALL_BYTES);
    session->in_from += RPMI_REQUEST_BYTES + RPMI_CALL_BYTES;
    session->current.active = false;
    __atomic_store_n(&base->call_state, RPMI_SESSION_ASKED, __ATOMIC_RELEASE);
    if (write(listener->control_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
    return ENDED;
}

/* How many bytes of the body have arrived. */
static inline uint32_t body_received(const struct rpmi_stream_session *session)
{
    const struct rpmi_stream_current *current = &session->current;
    uint32_t head = current->carried == 0 ? current->request.head_bytes : 0;
    uint32_t left = current->request.body_bytes - current->body_taken;

    RPM_ASSERT(head <= received(session)); /* begin() waits until the head has arrived */
    return left < received(session) - head ? left : received(session) - head;
}

/* What can be carried out now: of a write what has arrived, of a read what the send buffer has room
 * for, and never more than @room, what is left of the pass. */
static inline struct rpmi_part next_part(const struct rpmi_stream_session *session, uint64_t room)
{
    const struct rpmi_stream_current *current = &session->current;
    const struct rpmi_request *request = &current->request;
    struct rpmi_part part = { .from = current->carried, .len = request->len - current->carried };
    uint32_t body = body_received(session);

    RPM_ASSERT(current->carried <= request->len && out_room(session) >= RPMI_ANSWER_BYTES);
    if (request->kind == RPMI_OP_STEPS)
        return part;
    if (request->kind == RPMI_OP_READ && out_room(session) - RPMI_ANSWER_BYTES < room)
        room = out_room(session) - RPMI_ANSWER_BYTES;
    if (RPMI_UNLIKELY(current->body_taken + body < request->body_bytes)) {
        uint64_t sent = (current->carried == 0 ? request->head_bytes : 0) + (uint64_t)body;

        room = sent < room ? sent : room;
    }
    if (RPMI_UNLIKELY(part.len > room))
        part.len = room;
    return part;
}

/* Convert the part to the op that access.c carries out. body and into point to where byte 0 of the
 * request would be if all of it were in the buffer. */
static inline void op_of(struct rpmi_stream_session *session, const struct rpmi_part *part,
                         struct rpmi_op *op)
{
    const struct rpmi_stream_current *current = &session->current;
    const struct rpmi_request *request = &current->request;
    unsigned char *at = session->in + session->in_from;
    unsigned char *result = session->out + session->out_end + RPMI_ANSWER_BYTES;

    /* Behind this client's buffers are those of another client. */
    RPM_ASSERT(!has_result(request) ||
               part->len + RPMI_ANSWER_BYTES <= RPMI_STREAM_OUT_BYTES - session->out_end);
    op->kind = request->kind;
    op->flags = request->flags;
    op->head_bytes = request->head_bytes;
    op->key = request->key;
    op->offset = request->offset;
    op->len = request->len;
    op->head = at;
    at += current->carried == 0 ? request->head_bytes : 0;
    op->body = (const void *)((uintptr_t)at - current->body_taken);
    op->body_bytes = request->body_bytes;
    op->into = (void *)((uintptr_t)result - part->from);
    if (is_atomic(request)) {
        op->expect = rpmi_load64(op->head);
        op->operand = rpmi_load64((const unsigned char *)op->head + sizeof(uint64_t));
    }
}

/* The result bytes are in the send buffer already, behind the room for this header. */
static inline void put_result_header(struct rpmi_stream_session *session,
                                     const struct rpmi_part *part)
{
    const struct rpmi_request *request = &session->current.request;

    if (!has_result(request) || part->len == 0)
        return;
    rpmi_stream_session_queue(session, RPMI_ANSWER_DATA, (uint32_t)part->len, session->next);
    session->out_end += (uint32_t)part->len;
    RPM_ASSERT(session->out_end <= RPMI_STREAM_OUT_BYTES);
}

/* Remove from the receive buffer what was carried out. */
static inline void consume(struct rpmi_stream_session *session, const struct rpmi_part *part)
{
    struct rpmi_stream_current *current = &session->current;
    uint32_t head = current->carried == 0 ? current->request.head_bytes : 0;
    uint32_t body = body_received(session);

    if (current->request.kind != RPMI_OP_STEPS && body != 0 && part->len - head < body)
        body = (uint32_t)part->len - head;
    session->in_from += head + body;
    current->body_taken += body;
    current->carried += part->len;
    RPM_ASSERT(session->in_from <= session->in_end);
    RPM_ASSERT(current->body_taken <= current->request.body_bytes &&
               current->carried <= current->request.len);
}

/* After a failed request the rest of its post fails too. */
static inline void end_request(struct rpm_server *server, struct rpmi_stream_session *session,
                               int status)
{
    struct rpmi_stream_current *current = &session->current;

    RPM_ASSERT(current->active && current->body_taken <= current->request.body_bytes);
    if (RPMI_UNLIKELY(status != 0)) {
        if (current->carried == 0)
            session->in_from += current->request.head_bytes;
        rpmi_stream_session_queue(session, RPMI_ANSWER_FAIL, (uint32_t)status, session->next);
        rpmi_count_own(&server->stats.rejected, 1);
    }
    session->skip = current->request.body_bytes - current->body_taken;
    session->post_status = (current->request.flags & RPMI_REQUEST_LAST) != 0 ? 0 : status;
    current->active = false;
    session->next++;
    rpmi_count_own(&server->stats.ops, 1);
}

/* Leave the session until rpmi_serve_may_retry() says otherwise. */
static void hold(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    session->held = true;
    listener->holds = true;
    rpmi_stream_set_todo(listener, session, false);
}

/* Try the held sessions again for which an order may have been answered, or a watch fired. The
 * engine tries one whose socket takes no answers once it does. */
static void try_held(struct rpmi_stream_listener *listener, uint32_t high)
{
    const struct rpm_server *server = listener->base.server;
    uint64_t answered = listener->answered;

    if (!rpmi_stream_may_retry(listener))
        return;
    listener->answered = rpmi_orders_answered(server->orders);
    listener->fired = server->watches->fired;
    listener->holds = false;
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (!session->held)
            continue;
        session->held = !rpmi_serve_may_retry(server, session->base.client, answered);
        listener->holds = listener->holds || session->held;
        if (!session->held && !session->send_blocked &&
            rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_LIVE)
            rpmi_stream_set_todo(listener, session, true);
    }
}

/* Carry out as much of the current request as the buffers and @room allow. */
static inline enum outcome carry_out(struct rpmi_stream_listener *listener,
                                     struct rpmi_stream_session *session, uint64_t *room,
                                     struct rpmi_batch *batch)
{
    struct rpm_server *server = listener->base.server;
    struct rpmi_stream_current *current = &session->current;
    const struct rpmi_request *request = &current->request;
    int status = session->post_status;

    if (out_room(session) < out_wanted(current))
        return STOPS;
    session->taken = true;
    if (RPMI_LIKELY(status == 0)) {
        struct rpmi_part part = next_part(session, *room);
        struct rpmi_op op;

        op_of(session, &part, &op);
        status = rpmi_request_do(server, session->base.client, &op, &part, batch);
        session->held = false;
        if (RPMI_UNLIKELY(status == RPMI_HELD)) {
            hold(listener, session);
            return STOPS;
        }
        *room -= part.len + OP_COST < *room ? part.len + OP_COST : *room;
        if (RPMI_LIKELY(status == 0)) {
            put_result_header(session, &part);
            consume(session, &part);
            if (session->first_durable == 0 && rpmi_request_promises(request->kind, request->flags))
                session->first_durable = session->next + 1;
            if (RPMI_UNLIKELY(current->carried < request->len))
                return ENDED;
        }
    }
    end_request(server, session, status);
    return ENDED;
}

/* Read the next header; WAITS until the bytes that the request needs to begin have arrived. */
static inline enum outcome begin(struct rpmi_stream_listener *listener,
                                 struct rpmi_stream_session *session)
{
    struct rpmi_stream_current *current = &session->current;
    struct rpmi_request *request = &current->request;

    RPM_ASSERT(!current->active && session->skip == 0);
    if (received(session) < RPMI_REQUEST_BYTES)
        return WAITS;
    if (RPMI_UNLIKELY(rpmi_request_get(session->in + session->in_from, request) != 0)) {
        rpmi_diag(RPM_DIAG_NOTICE, "client %u is disconnected: %s", session->base.client,
                  rpm_last_error());
        rpmi_stream_session_end(listener, session);
        return STOPS;
    }
    current->body_taken = 0;
    current->carried = 0;
    if (request->kind == RPMI_REQUEST_CALL)
        return take_call(listener, session);
    if (received(session) < RPMI_REQUEST_BYTES + request->head_bytes + body_wanted(current))
        return WAITS;
    session->in_from += RPMI_REQUEST_BYTES;
    current->active = true;
    return ENDED;
}

/* Skip bytes of a request that failed. False: more of them are to come. */
static bool skip(struct rpmi_stream_session *session)
{
    uint64_t n = session->skip < received(session) ? session->skip : received(session);

    session->in_from += (uint32_t)n;
    session->skip -= n;
    return session->skip == 0;
}

static void take_from(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session,
                      struct rpmi_batch *batch)
{
    uint64_t room = PASS_BYTES;        /* always enough for a head, which is not cut */
    uint32_t left = 2 * RPMI_PASS_OPS; /* headers to read and pieces to carry out */
    uint64_t summed = batch->summed;
    enum outcome outcome = ENDED;

    RPM_ASSERT(session->base.client != 0 && session->todo);
    session->first_durable = 0;
    while (outcome == ENDED && room >= RPMI_LINE_BYTES && rpmi_batch_may_take(batch, summed) &&
           left-- > 0) {
        if (RPMI_UNLIKELY(session->skip != 0) && !skip(session))
            outcome = WAITS;
        else if (!session->current.active)
            outcome = begin(listener, session);
        else if (received(session) < body_wanted(&session->current))
            outcome = WAITS;
        else
            outcome = carry_out(listener, session, &room, batch);
    }
    if (outcome == WAITS)
        rpmi_stream_set_todo(listener, session, false);
}

void rpmi_stream_take(struct rpmi_listener *base, struct rpmi_batch *batch)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    RPM_ASSERT(high <= listener->sessions);
    RPM_ASSERT(rpmi_serve_has_lock(base->server)); /* no client is fenced or detached meanwhile */
    rpmi_stream_poll_sockets(listener);
    try_held(listener, high);
    for (uint32_t i = 0; i < high && listener->todo != 0; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_LIVE && session->todo)
            take_from(listener, session, batch);
    }
}
