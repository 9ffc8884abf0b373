/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c: the engine's part of a stream: it receives bytes and sends answers.
 *
 * Polling the sockets is a system call, so the engine does it every POLL_EVERY turns: often enough
 * that the delay is small compared with a packet's latency, and seldom enough not to slow down the
 * ring clients of the same server.
 *
 * Tests: tests/unit/serve/stream/sessions_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define POLL_EVERY 16u /* turns */

void rpmi_stream_session_queue(struct rpmi_stream_session *session, uint8_t kind, uint32_t value,
                               uint64_t request)
{
    const struct rpmi_answer answer = { .kind = kind, .value = value, .request = request };

    RPM_ASSERT(RPMI_STREAM_OUT_BYTES - session->out_end >= RPMI_ANSWER_BYTES);
    rpmi_answer_put(session->out + session->out_end, &answer);
    session->out_end += RPMI_ANSWER_BYTES;
}

static void notify_control(struct rpmi_stream_listener *listener)
{
    uint64_t one = 1;

    if (write(listener->control_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
}

void rpmi_stream_set_todo(struct rpmi_stream_listener *listener,
                          struct rpmi_stream_session *session, bool todo)
{
    RPM_ASSERT(!session->todo || listener->todo > 0);
    listener->todo += (uint32_t)todo;
    listener->todo -= (uint32_t)session->todo;
    session->todo = todo;
}

static void set_tls_pending(struct rpmi_stream_listener *listener,
                            struct rpmi_stream_session *session, bool pending)
{
    RPM_ASSERT(!session->tls_pending || listener->tls_pending > 0);
    listener->tls_pending += (uint32_t)pending;
    listener->tls_pending -= (uint32_t)session->tls_pending;
    session->tls_pending = pending;
}

void rpmi_stream_session_end(struct rpmi_stream_listener *listener,
                             struct rpmi_stream_session *session)
{
    RPM_ASSERT(session->state == RPMI_STREAM_SESSION_LIVE);
    rpmi_stream_set_todo(listener, session, false);
    set_tls_pending(listener, session, false);
    session->taken = session->held = false;
    RPM_ASSERT(__atomic_load_n(&listener->live, __ATOMIC_RELAXED) > 0);
    (void)epoll_ctl(listener->base.engine_fd, EPOLL_CTL_DEL, session->pipe.fd, NULL);
    __atomic_fetch_sub(&listener->live, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&session->state, RPMI_STREAM_SESSION_DEAD, __ATOMIC_RELEASE);
    notify_control(listener);
}

/* While the client's socket takes no answers, the engine does not receive from it either; nor while
 * its request is held and its buffer is full: then it watches for nothing. */
static void watch(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session,
                  uint32_t events)
{
    struct epoll_event event = { .events = events,
                                 .data.u64 = (uint64_t)(session - listener->session) };

    if (session->watched == events)
        return;
    session->watched = events;
    if (epoll_ctl(listener->base.engine_fd, EPOLL_CTL_MOD, session->pipe.fd, &event) != 0)
        rpmi_stream_session_end(listener, session);
}

static void stall(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session,
                  bool moved)
{
    bool first = __atomic_load_n(&session->stalled_ns, __ATOMIC_RELAXED) == 0;

    RPM_ASSERT(session->out_from < session->out_end); /* answers are queued for the client */
    if (first || moved)
        __atomic_store_n(&session->stalled_ns, rpmi_clock_ns(), __ATOMIC_RELAXED);
    if (first)
        notify_control(listener); /* the control thread ends the session after timeout_ms */
}

/* Send as many of the queued answers as the socket takes. */
static void flush(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    bool moved = false;

    /* The engine's session: the control thread neither closes its socket nor reuses it. */
    RPM_ASSERT(rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_LIVE);
    RPM_ASSERT(session->out_from <= session->out_end);
    RPM_ASSERT(session->out_end <= RPMI_STREAM_OUT_BYTES);
    while (session->out_from != session->out_end) {
        const struct iovec iov = { .iov_base = session->out + session->out_from,
                                   .iov_len = session->out_end - session->out_from };
        int64_t sent = rpmi_pipe_send(&session->pipe, &iov, 1);

        if (sent < 0) {
            rpmi_stream_session_end(listener, session);
            return;
        }
        if (sent == 0)
            break;
        session->out_from += (uint32_t)sent;
        moved = true;
    }
    if (session->out_from == session->out_end) {
        session->out_from = session->out_end = 0;
        /* A READ may be answered in part, and no bytes need arrive for the rest of it. */
        if (session->send_blocked)
            rpmi_stream_set_todo(listener, session, true);
        session->send_blocked = false;
        __atomic_store_n(&session->stalled_ns, 0, __ATOMIC_RELAXED);
        if (session->watched == 0)
            set_tls_pending(listener, session, rpmi_pipe_pending(&session->pipe));
        watch(listener, session, EPOLLIN);
        return;
    }
    stall(listener, session, moved);
    memmove(session->out, session->out + session->out_from, session->out_end - session->out_from);
    session->out_end -= session->out_from;
    session->out_from = 0;
    session->send_blocked = true;
    rpmi_stream_set_todo(listener, session, false);
    watch(listener, session, EPOLLOUT);
}

/* Receive as many of the bytes that have arrived as the buffer has room for. */
static void receive(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    int64_t got;

    RPM_ASSERT(session->in_from <= session->in_end && session->in_end <= RPMI_STREAM_TAKE_BYTES);
    RPM_ASSERT(!session->send_blocked); /* the engine receives nothing while the socket takes no
                                     answers */
    if (session->in_from == session->in_end) {
        session->in_from = session->in_end = 0;
    } else if (session->in_from != 0) {
        memmove(session->in, session->in + session->in_from, session->in_end - session->in_from);
        session->in_end -= session->in_from;
        session->in_from = 0;
    }
    if (session->in_end == RPMI_STREAM_TAKE_BYTES) {
        if (session->held) { /* flush() watches again, once the request is answered */
            set_tls_pending(listener, session, false);
            watch(listener, session, 0);
        }
        return;
    }
    got = rpmi_pipe_recv(&session->pipe, session->in + session->in_end,
                         RPMI_STREAM_TAKE_BYTES - session->in_end);
    if (got < 0) {
        rpmi_stream_session_end(listener, session);
        return;
    }
    session->in_end += (uint32_t)got;
    set_tls_pending(listener, session, rpmi_pipe_pending(&session->pipe));
    if (got == 0)
        return;
    listener->last = (uint32_t)(session - listener->session);
    rpmi_stream_set_todo(listener, session, true);
}

/* The control thread notified the engine: there are new clients, or replies to send. */
static void take_notices(struct rpmi_stream_listener *listener)
{
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    listener->notices_seen = __atomic_load_n(&listener->notices, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];
        struct rpmi_session *base = &session->base;

        if (rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_LIVE)
            continue;
        RPM_ASSERT(base->client != 0); /* a reply goes only to a client that proved the secret */
        set_tls_pending(listener, session, rpmi_pipe_pending(&session->pipe));
        if (__atomic_load_n(&base->call_state, __ATOMIC_ACQUIRE) != RPMI_SESSION_ANSWERED)
            continue;
        rpmi_stream_session_queue(session, RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0);
        RPM_ASSERT(RPMI_STREAM_OUT_BYTES - session->out_end >= RPMI_REPLY_BYTES);
        memcpy(session->out + session->out_end, base->reply, RPMI_REPLY_BYTES);
        session->out_end += RPMI_REPLY_BYTES;
        __atomic_store_n(&base->call_state, RPMI_SESSION_IDLE, __ATOMIC_RELAXED);
        if (!session->send_blocked)
            flush(listener, session);
    }
}

static void handle_socket(struct rpmi_stream_listener *listener,
                          struct rpmi_stream_session *session, uint32_t events)
{
    if (rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_LIVE)
        return;
    if ((session->send_blocked || session->watched == 0) && (events & (EPOLLHUP | EPOLLERR)) != 0)
        rpmi_stream_session_end(listener, session);
    else if (session->send_blocked)
        flush(listener, session);
    else
        receive(listener, session);
}

/* Receive the bytes that OpenSSL has read from a socket and not returned yet. */
static void receive_tls_pending(struct rpmi_stream_listener *listener)
{
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_LIVE &&
            session->tls_pending && !session->send_blocked)
            receive(listener, session);
    }
}

/* With a single client, receive from it directly, which saves the epoll_wait(). */
static bool receive_only_session(struct rpmi_stream_listener *listener)
{
    struct rpmi_stream_session *session = &listener->session[listener->last];

    if (__atomic_load_n(&listener->live, __ATOMIC_ACQUIRE) != 1 ||
        rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_LIVE || session->send_blocked)
        return false;
    receive(listener, session);
    return true;
}

void rpmi_stream_poll_sockets(struct rpmi_stream_listener *listener)
{
    struct epoll_event events[EVENTS_MAX];
    int n;

    RPM_ASSERT_SLOW(rpmi_serve_is_engine(listener->base.server)); /* live sessions are its own */
    if (__atomic_load_n(&listener->notices, __ATOMIC_ACQUIRE) != listener->notices_seen)
        take_notices(listener);
    if (listener->turns++ % POLL_EVERY != 0 ||
        __atomic_load_n(&listener->live, __ATOMIC_ACQUIRE) == 0)
        return;
    if (listener->tls_pending != 0)
        receive_tls_pending(listener);
    if (receive_only_session(listener))
        return;
    n = epoll_wait(listener->base.engine_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 < listener->sessions)
            handle_socket(listener, &listener->session[events[i].data.u64], events[i].events);
}

void rpmi_stream_answer(struct rpmi_listener *base, const struct rpmi_batch *batch)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    RPM_ASSERT(rpmi_serve_is_engine(base->server) && high <= listener->sessions);
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_LIVE || !session->taken)
            continue;
        RPM_ASSERT(session->done_sent <= session->next &&
                   session->first_durable <= session->next + 1);
        session->taken = false;
        if (RPMI_UNLIKELY(batch->msync_status != 0) && session->first_durable != 0)
            rpmi_stream_session_queue(session, RPMI_ANSWER_FAIL, (uint32_t)batch->msync_status,
                                      session->first_durable - 1);
        if (session->done_sent != session->next)
            rpmi_stream_session_queue(session, RPMI_ANSWER_DONE, 0, session->next);
        session->done_sent = session->next;
        flush(listener, session);
    }
}
