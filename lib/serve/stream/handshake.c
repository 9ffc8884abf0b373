/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handshake.c: the server's half of the handshake over a stream. The control thread calls it each
 * time bytes have arrived; it does as many steps as those bytes allow and never waits.
 *
 * If the listener has TLS and a client sends plain text, the server answers with a TLS alert. If
 * the listener has no TLS and a client begins with TLS, the server sends a challenge that refuses
 * the client.
 *
 * Tests: tests/unit/serve/stream/handshake_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/err.h"
#include "transport/stream/tls.h"
#include "wire/ring.h"

#include <string.h>

#define TLS_HANDSHAKE 0x16u

/* Receive the rest of a message. 1: it is whole, 0: not yet, or RPM_E_LOST. */
static int receive_message(struct rpmi_stream_session *session, unsigned char *to, uint32_t bytes)
{
    while (session->got < bytes) {
        int64_t got = rpmi_pipe_recv(&session->pipe, to + session->got, bytes - session->got);

        if (got <= 0)
            return (int)got;
        session->got += (uint32_t)got;
        RPM_ASSERT(session->got <= bytes);
    }
    session->got = 0;
    return 1;
}

/* The send buffer of a new socket has room for every message of a handshake. If it is full, the
 * client does not read them. False: not all bytes were sent. */
static bool send_message(struct rpmi_stream_session *session, const void *bytes, size_t len)
{
    const struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };

    return rpmi_pipe_send(&session->pipe, &iov, 1) == (int64_t)len;
}

/* Closing a socket with bytes unread resets the connection, and the client would lose the refusal.
 */
static void discard_input(struct rpmi_stream_session *session)
{
    unsigned char bytes[1024];

    for (int i = 0; i < 16; i++)
        if (recv(session->pipe.fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

/* 1: the TLS handshake is complete, 0: not yet, or an error. */
static int step_tls(struct rpmi_stream_session *session)
{
    static const unsigned char alert[] = { 0x15, 3, 3, 0, 2, 2, 70 }; /* fatal, protocol version */
    unsigned char first = 0;
    int done;

    if (session->got == 0 && recv(session->pipe.fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) == 1) {
        session->got = 1;
        if (first != TLS_HANDSHAKE) {
            (void)!send(session->pipe.fd, alert, sizeof(alert), MSG_DONTWAIT | MSG_NOSIGNAL);
            discard_input(session);
            return rpmi_fail(
                RPM_E_PROTO,
                "a client's first byte is 0x%02x, expected is a TLS handshake, 0x%02x, "
                "at an address with tls=on",
                first, TLS_HANDSHAKE);
        }
    }
    done = rpmi_tls_handshake(session->pipe.tls);
    if (done == 1)
        session->got = 0;
    return done;
}

static int step_hello(struct rpmi_stream_session *session)
{
    int status = receive_message(session, session->transcript.hello, RPMI_NET_HELLO_BYTES);
    int err;

    RPM_ASSERT(session->base.client == 0); /* it has proved nothing yet */
    if (status <= 0)
        return status;
    status = rpmi_net_hello_get(session->transcript.hello, RPMI_NET_HELLO_BYTES);
    err = rpmi_challenge_make(&session->transcript, status);
    if (err == 0 && !send_message(session, session->transcript.challenge, RPMI_CHALLENGE_BYTES))
        err = RPM_E_LOST;
    if (status != 0)
        discard_input(session);
    return status != 0 ? status : err != 0 ? err : 1;
}

static int authenticate(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session,
                        struct rpmi_accept *accepted)
{
    struct rpmi_auth auth;
    int err = rpmi_auth_get(&session->transcript, listener->base.server->secret, &auth);

    if (err != 0) {
        rpmi_session_refuse(&listener->base, err, accepted);
        return err;
    }
    err =
        rpmi_session_enter(&listener->base, &session->base, &listener->base.facts, &auth, accepted);
    if (err == 0) {
        accepted->depth = rpmi_ring_slots(auth.depth);
        accepted->staging_bytes = auth.staging_bytes;
    }
    return err;
}

static int step_auth(struct rpmi_stream_listener *listener, struct rpmi_stream_session *session)
{
    unsigned char sealed[RPMI_SEALED_BYTES];
    struct rpmi_accept accepted;
    int done = receive_message(session, session->transcript.auth, RPMI_AUTH_BYTES);
    int err;

    if (done <= 0)
        return done;
    RPM_ASSERT(session->base.client == 0);
    done = authenticate(listener, session, &accepted);
    RPM_ASSERT((done == 0) == (session->base.client != 0));
    err = rpmi_sealed_make(&session->transcript, listener->base.server->secret, &accepted, sealed);
    if (err == 0 && !send_message(session, sealed, sizeof(sealed)))
        err = RPM_E_LOST;
    return done != 0 ? done : err != 0 ? err : 1;
}

int rpmi_stream_handshake(struct rpmi_stream_listener *listener,
                          struct rpmi_stream_session *session)
{
    int done = 1;

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server));
    RPM_ASSERT(rpmi_stream_session_state(session) == RPMI_STREAM_SESSION_HANDSHAKE);
    RPM_ASSERT((session->pipe.tls != NULL) == (listener->tls_ctx != NULL)); /* none in the clear */
    while (done > 0)
        switch (session->step) {
        case RPMI_HANDSHAKE_TLS:
            done = step_tls(session);
            session->step = done > 0 ? RPMI_HANDSHAKE_HELLO : session->step;
            break;
        case RPMI_HANDSHAKE_HELLO:
            done = step_hello(session);
            session->step = done > 0 ? RPMI_HANDSHAKE_AUTH : session->step;
            break;
        default:
            return step_auth(listener, session);
        }
    return done;
}
