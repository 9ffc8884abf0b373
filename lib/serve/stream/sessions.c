/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sessions.c: the control thread's part of a stream listener: accept connections, make handshakes,
 * serve calls, disconnect clients that do not read their answers, free sessions.
 *
 * Invariants
 *   a session handed to the engine is freed only after the engine has set it DEAD, or when the
 *     listener closes
 *   to disconnect a client, the control thread shuts its socket; the engine acknowledges
 *
 * Tests: tests/unit/serve/stream/sessions_test.cpp, tests/unit/serve/stream/handshake_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/stream/tls.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define ACCEPTS_MAX 16 /* connections accepted in one turn: then sessions and calls are served */
#define NS_IN_MS 1000000u

enum { TAG_NOTIFY = 1 << 30, TAG_LISTEN };

static uint32_t index_of(const struct rpmi_stream_listener *listener,
                         const struct rpmi_stream_session *session)
{
    RPM_ASSERT(session >= listener->session && session < listener->session + listener->sessions);
    return (uint32_t)(session - listener->session);
}

static void free_session(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    rpmi_admission_leave(&listener->admission, index_of(listener, session));
    RPM_ASSERT(session->base.client == 0); /* detached: no claim, no key, no lock is left */
    RPM_ASSERT(rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_LIVE ||
               rpmi_serve_is_idle(listener->base.server)); /* a live one is the engine's */
    rpmi_pipe_close(&session->pipe);
    __atomic_store_n(&session->state, RPMI_STREAM_SESSION_FREE, __ATOMIC_RELEASE);
}

static void drop_handshake(struct rpmi_stream_listener *listener,
                           struct rpmi_stream_session *session)
{
    RPM_ASSERT(rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_HANDSHAKE);
    /* After an auth message, rpmi_session_refuse() has counted the refusal. */
    if (session->step != RPMI_HANDSHAKE_AUTH)
        rpmi_count(&listener->base.server->stats.refused, 1);
    free_session(listener, session);
}

/* A free session; if there is none, evict an unauthenticated connection. NULL: authenticated
 * clients have all of them. */
static struct rpmi_stream_session *find_session(struct rpmi_stream_listener *listener,
                                                const struct rpmi_origin *origin)
{
    uint32_t at;

    for (uint32_t i = 0; i < listener->sessions; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_FREE)
            continue;
        if (i >= listener->high)
            __atomic_store_n(&listener->high, i + 1, __ATOMIC_RELEASE);
        return session;
    }
    if (!rpmi_admission_victim(&listener->admission, origin, &at))
        return NULL;
    RPM_ASSERT(listener->session[at].base.client == 0); /* never one that authenticated */
    drop_handshake(listener, &listener->session[at]);
    return &listener->session[at];
}

/* Clear all but the buffers, which stay allocated, and the state, which the engine reads. */
static void clear_session(struct rpmi_stream_session *session)
{
    unsigned char *in = session->in;
    unsigned char *out = session->out;

    memset(&session->base, 0, sizeof(session->base));
    memset(&session->pipe, 0, sizeof(*session) - offsetof(struct rpmi_stream_session, pipe));
    session->in = in;
    session->out = out;
}

static bool begin_session(struct rpmi_stream_listener *listener, int fd)
{
    const struct rpmi_origin origin = rpmi_origin_of_socket(fd);
    struct rpmi_stream_session *session = find_session(listener, &origin);
    struct epoll_event event = { .events = EPOLLIN };

    if (session == NULL)
        return false;
    RPM_ASSERT(rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_FREE);
    RPM_ASSERT(session->pipe.fd < 0); /* the socket of the client before was closed */
    clear_session(session);
    session->pipe.fd = fd;
    rpmi_pipe_tune(&session->pipe, listener->name.timeout_ms);
    session->step = listener->tls_ctx != NULL ? RPMI_HANDSHAKE_TLS : RPMI_HANDSHAKE_HELLO;
    session->handshake_by_ns = rpmi_clock_ns() + RPMI_HANDSHAKE_NS;
    event.data.u64 = index_of(listener, session);
    if ((listener->tls_ctx != NULL &&
         rpmi_tls_begin_server(listener->tls_ctx, &session->pipe) != 0) ||
        epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        rpmi_pipe_close(&session->pipe);
        return true;
    }
    rpmi_admission_enter(&listener->admission, index_of(listener, session), &origin);
    __atomic_store_n(&session->state, RPMI_STREAM_SESSION_HANDSHAKE, __ATOMIC_RELEASE);
    return true;
}

static void watch_sockets(struct rpmi_stream_listener *listener, bool on)
{
    struct epoll_event event = { .events = on ? EPOLLIN : 0 };

    listener->accept_again_ns = on ? 0 : rpmi_clock_ns() + RPMI_ACCEPT_PAUSE_MS * NS_IN_MS;
    for (uint32_t i = 0; i < listener->listen_fds; i++) {
        event.data.u64 = TAG_LISTEN + i;
        (void)epoll_ctl(listener->base.control_fd, EPOLL_CTL_MOD, listener->listen_fd[i], &event);
    }
}

static void accept_clients(struct rpmi_stream_listener *listener, int listen_fd)
{
    RPM_ASSERT(!listener->name.local || listener->local.taken); /* the name is this server's */
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            if (begin_session(listener, fd))
                continue;
            rpmi_count(&listener->base.server->stats.refused, 1);
            (void)close(fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            rpmi_diag(RPM_DIAG_WARNING, "cannot accept a client for now: %s", strerror(errno));
            watch_sockets(listener, false);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

void rpmi_stream_notify_engine(struct rpmi_stream_listener *listener)
{
    uint64_t one = 1;

    __atomic_fetch_add(&listener->notices, 1, __ATOMIC_RELEASE);
    if (write(listener->engine_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
}

/* Hand the session to the engine. */
static void hand_over(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = index_of(listener, session) };

    RPM_ASSERT(session->base.client != 0 && session->step == RPMI_HANDSHAKE_AUTH);
    RPM_ASSERT(session->base.call_state == RPMI_SESSION_IDLE); /* the engine may take a call */
    rpmi_admission_leave(&listener->admission, index_of(listener, session));
    (void)epoll_ctl(listener->base.control_fd, EPOLL_CTL_DEL, session->pipe.fd, NULL);
    session->watched = EPOLLIN;
    session->got = 0;
    __atomic_fetch_add(&listener->live, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&session->state, RPMI_STREAM_SESSION_LIVE, __ATOMIC_RELEASE);
    /* The engine never receives from a socket that epoll does not watch: disconnect it. */
    if (epoll_ctl(listener->base.engine_fd, EPOLL_CTL_ADD, session->pipe.fd, &event) != 0)
        (void)shutdown(session->pipe.fd, SHUT_RDWR);
    rpmi_stream_notify_engine(listener);
}

static void handshake(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    int done;

    if (rpmi_stream_session_state(session) != RPMI_STREAM_SESSION_HANDSHAKE)
        return;
    done = rpmi_stream_handshake(listener, session);
    if (done > 0) {
        hand_over(listener, session);
    } else if (done < 0) {
        rpmi_session_leave(&listener->base, &session->base);
        drop_handshake(listener, session);
    }
}

static void serve_call(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    struct rpmi_reply reply;
    struct rpmi_call call;

    if (!rpmi_session_serve(&listener->base, &session->base, &call, &reply)) {
        (void)shutdown(session->pipe.fd, SHUT_RDWR);
        return;
    }
    rpmi_reply_put(session->base.reply, &reply);
    __atomic_store_n(&session->base.call_state, RPMI_SESSION_ANSWERED, __ATOMIC_RELEASE);
    rpmi_stream_notify_engine(listener);
}

/* The engine notified: a client made a call, or a session has ended. */
static void serve_notified(struct rpmi_stream_listener *listener)
{
    uint64_t count;

    if (read(listener->control_notify_fd, &count, sizeof(count)) < 0)
        return;
    for (uint32_t i = 0; i < listener->high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];
        uint32_t state = rpmi_stream_session_state(session);

        if (state == RPMI_STREAM_SESSION_LIVE &&
            __atomic_load_n(&session->base.call_state, __ATOMIC_ACQUIRE) == RPMI_SESSION_ASKED)
            serve_call(listener, session);
        if (state == RPMI_STREAM_SESSION_DEAD) {
            RPM_ASSERT(!session->todo && !session->taken); /* the engine carries out no more */
            rpmi_session_leave(&listener->base, &session->base);
            free_session(listener, session);
        }
    }
}

/* The deadline after which this session is ended; 0: it has none. */
static uint64_t due_ns(const struct rpmi_stream_listener *listener,
                       const struct rpmi_stream_session *session)
{
    uint64_t stalled = __atomic_load_n(&session->stalled_ns, __ATOMIC_RELAXED);

    switch (rpmi_stream_session_state(session)) {
    case RPMI_STREAM_SESSION_HANDSHAKE:
        return session->handshake_by_ns;
    case RPMI_STREAM_SESSION_LIVE:
        return stalled == 0 ? 0 : stalled + (uint64_t)listener->name.timeout_ms * NS_IN_MS;
    default:
        return 0;
    }
}

/* End the sessions whose client is late with its handshake, or has not read its answers for
 * timeout_ms. Returns the milliseconds until the next deadline. */
static int expire(struct rpmi_stream_listener *listener)
{
    uint64_t now = rpmi_clock_ns();
    int wait_ms = listener->accept_again_ns != 0 ? RPMI_ACCEPT_PAUSE_MS : -1;

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server)); /* only it closes sockets */
    for (uint32_t i = 0; i < listener->high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];
        uint64_t due = due_ns(listener, session);
        int left_ms;

        if (due == 0)
            continue;
        if (due > now) {
            left_ms = (int)((due - now) / NS_IN_MS) + 1;
            wait_ms = wait_ms < 0 || left_ms < wait_ms ? left_ms : wait_ms;
        } else if (rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_HANDSHAKE) {
            drop_handshake(listener, session);
        } else {
            RPM_ASSERT(session->base.client != 0);
            __atomic_store_n(&session->stalled_ns, 0, __ATOMIC_RELAXED);
            rpmi_diag(RPM_DIAG_NOTICE, "client %u is disconnected: it does not read its answers",
                      session->base.client);
            (void)shutdown(session->pipe.fd, SHUT_RDWR);
        }
    }
    return wait_ms;
}

int rpmi_stream_turn(struct rpmi_listener *base)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(base->control_fd, events, EVENTS_MAX, 0);

    RPM_ASSERT(rpmi_serve_is_control(base->server));
    for (int i = 0; i < n; i++) {
        uint64_t tag = events[i].data.u64;

        RPM_ASSERT(tag <= TAG_NOTIFY || tag - TAG_LISTEN < listener->listen_fds);
        if (tag < listener->sessions)
            handshake(listener, &listener->session[tag]);
        else if (tag == TAG_NOTIFY)
            serve_notified(listener);
        else
            accept_clients(listener, listener->listen_fd[tag - TAG_LISTEN]);
    }
    if (listener->accept_again_ns != 0 && rpmi_clock_ns() >= listener->accept_again_ns)
        watch_sockets(listener, true);
    return expire(listener);
}

int rpmi_stream_watch(struct rpmi_stream_listener *listener)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = TAG_NOTIFY };

    if (epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, listener->control_notify_fd, &event) !=
        0)
        return rpmi_fail(RPM_E_IO, "cannot watch a descriptor: %s", strerror(errno));
    for (uint32_t i = 0; i < listener->listen_fds; i++) {
        event.data.u64 = TAG_LISTEN + i;
        if (epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, listener->listen_fd[i], &event) !=
            0)
            return rpmi_fail(RPM_E_IO, "cannot watch a descriptor: %s", strerror(errno));
    }
    return 0;
}

void rpmi_stream_end_sessions(struct rpmi_stream_listener *listener)
{
    RPM_ASSERT(rpmi_serve_is_idle(listener->base.server)); /* no loop owns a session any more */
    for (uint32_t i = 0; i < listener->high; i++) {
        struct rpmi_stream_session *session = &listener->session[i];

        if (rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_FREE)
            continue;
        rpmi_session_leave(&listener->base, &session->base);
        free_session(listener, session);
    }
}
