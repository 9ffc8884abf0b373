/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dial.c: connect to a server and make the handshake. Every step has a deadline, and if the server
 * ends during a step, the error names the step.
 *
 * A name with several addresses: each is tried, with an equal share of the time that is left. The
 * system looks the name up, with time limits of its own.
 *
 * Tests: tests/unit/transport/stream/dial_test.cpp
 */
#include "transport/stream/stream.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "transport/sock_path.h"
#include "transport/stream/tls.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_NS 2000000u /* the kernel's queue at the server is full: try again */
#define TLS_ALERT 0x15u
#define TLS_MAJOR 0x03u

static int connect_failed(const struct rpmi_stream_name *name, int err)
{
    char where[RPMI_HOST_BYTES + 32];

    if (name->local)
        (void)snprintf(where, sizeof(where), "%s", name->path);
    else
        (void)snprintf(where, sizeof(where), "%s port %s", name->endpoint.host,
                       name->endpoint.port);
    switch (err) {
    case ENOENT:
    case ECONNREFUSED:
    case ENOTDIR:
        return rpmi_fail(RPM_E_REFUSED,
                         "no server listens at %s (%s); start one, or check the address", where,
                         strerror(err));
    case EACCES:
    case EPERM:
        return rpmi_fail(RPM_E_DENIED, "may not connect to %s (%s); its owner or group may", where,
                         strerror(err));
    case EPROTOTYPE:
        return rpmi_fail(RPM_E_PROTO, "%s is not a stream socket; check the name", where);
    case ETIMEDOUT:
    case EAGAIN:
        return rpmi_fail(RPM_E_TIMEDOUT,
                         "%s took no connection in time; check the address, try again, or allow "
                         "more time (of the "
                         "library: rpm_conn_opts.timeout_us)",
                         where);
    default:
        return rpmi_fail(RPM_E_REFUSED, "cannot connect to %s: %s", where, strerror(err));
    }
}

/* 0, or an errno. */
static int finish_connect(int fd, uint64_t deadline_ns)
{
    socklen_t bytes = sizeof(int);
    struct pollfd entry = { .fd = fd, .events = POLLOUT };
    int err = 0;

    if (poll(&entry, 1, 0) == 0 && !rpmi_fd_wait(fd, POLLOUT, deadline_ns))
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &bytes) == 0 ? err : errno;
}

/* One address. 0 and @fd, or an errno. */
static int try_address(const struct sockaddr *address, socklen_t bytes, uint64_t deadline_ns,
                       int *fd)
{
    int sock = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int err = 0;

    if (sock < 0)
        return errno;
    while (connect(sock, address, bytes) != 0) {
        err = errno;
        if (err == EINPROGRESS) {
            err = finish_connect(sock, deadline_ns);
            break;
        }
        if (err == EAGAIN && rpmi_clock_ns() < deadline_ns)
            rpmi_clock_sleep_ns(RETRY_NS);
        else if (err != EINTR)
            break;
        err = 0;
    }
    if (err != 0)
        (void)close(sock);
    else
        *fd = sock;
    return err;
}

static int connect_unix(const struct rpmi_stream_name *name, uint64_t deadline_ns, int *fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int err;

    memcpy(address.sun_path, name->path, sizeof(address.sun_path));
    err = try_address((const struct sockaddr *)&address, sizeof(address), deadline_ns, fd);
    if (err != 0)
        return connect_failed(name, err);
    if (name->same_user)
        err = rpmi_sock_check_server(*fd, name->path);
    if (err != 0)
        (void)close(*fd);
    return err;
}

static int connect_tcp(const struct rpmi_stream_name *name, uint64_t deadline_ns, int *fd)
{
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    uint32_t left = 0;
    int err = getaddrinfo(name->endpoint.host, name->endpoint.port, &wanted, &found);

    if (err != 0)
        return rpmi_fail(RPM_E_REFUSED, "no address of '%s' is known: %s", name->endpoint.host,
                         gai_strerror(err));
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
        left++;
    err = ECONNREFUSED;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        uint64_t now = rpmi_clock_ns();
        uint64_t share = deadline_ns > now ? (deadline_ns - now) / left-- : 0;

        err = try_address(at->ai_addr, at->ai_addrlen, now + share, fd);
        if (err == 0)
            break;
    }
    freeaddrinfo(found);
    return err == 0 ? 0 : connect_failed(name, err);
}

static int handshake_tls(const struct rpmi_stream *stream, uint64_t deadline_ns,
                         struct rpmi_pipe *pipe)
{
    int err = rpmi_tls_begin_client(stream->tls_ctx, stream->name.endpoint.host, pipe);

    while (err == 0) {
        err = rpmi_tls_handshake(pipe->tls);
        if (err == 0)
            err = rpmi_pipe_wait(pipe, false, deadline_ns);
    }
    return err < 0 ? err : 0;
}

static int judge_accept(const struct rpmi_stream *stream, const struct rpmi_accept *accepted)
{
    if (accepted->status != 0)
        return rpmi_fail(accepted->status, "%s",
                         accepted->text[0] != '\0' ? accepted->text : "the server refused");
    if (accepted->mode != RPMI_MODE_RING || accepted->depth < stream->auth.depth ||
        accepted->depth < 2 || accepted->depth > RPMI_DEPTH_MAX ||
        (accepted->depth & (accepted->depth - 1)) != 0)
        return rpmi_fail(RPM_E_PROTO,
                         "the server granted mode %u with %u slots; expected is mode %u with a "
                         "power of two from %u to %u",
                         accepted->mode, accepted->depth, RPMI_MODE_RING, stream->auth.depth,
                         RPMI_DEPTH_MAX);
    return 0;
}

static int judge_challenge(const struct rpmi_pipe *pipe, const unsigned char *bytes)
{
    if (pipe->tls == NULL && bytes[0] == TLS_ALERT && bytes[1] == TLS_MAJOR)
        return rpmi_fail(RPM_E_PROTO, "the server speaks only TLS: add ,tls=CAFILE to the URL");
    return rpmi_challenge_get(bytes, RPMI_CHALLENGE_BYTES);
}

/* A server that speaks only TLS sends an alert, which is shorter than a challenge, and closes the
 * connection. */
static int receive_challenge(struct rpmi_pipe *pipe, uint64_t deadline_ns,
                             unsigned char bytes[RPMI_CHALLENGE_BYTES])
{
    int err = rpmi_pipe_recv_all(pipe, bytes, 2, deadline_ns);

    if (err == 0 && bytes[0] != TLS_ALERT)
        err = rpmi_pipe_recv_all(pipe, bytes + 2, RPMI_CHALLENGE_BYTES - 2, deadline_ns);
    return err == 0 ? judge_challenge(pipe, bytes) : err;
}

static int handshake(const struct rpmi_stream *stream, uint64_t deadline_ns, struct rpmi_pipe *pipe,
                     struct rpmi_accept *accepted)
{
    unsigned char sealed[RPMI_SEALED_BYTES];
    struct rpmi_transcript transcript;
    int err = rpmi_net_hello_make(&transcript);

    RPM_ASSERT((pipe->tls != NULL) == (stream->tls_ctx != NULL)); /* none in the clear */
    if (err == 0)
        err = rpmi_pipe_send_all(pipe, transcript.hello, sizeof(transcript.hello), deadline_ns);
    if (err == 0)
        err = receive_challenge(pipe, deadline_ns, transcript.challenge);
    if (err == 0)
        err = rpmi_auth_make(&transcript, stream->secret, &stream->auth);
    if (err == 0)
        err = rpmi_pipe_send_all(pipe, transcript.auth, sizeof(transcript.auth), deadline_ns);
    if (err == 0)
        err = rpmi_pipe_recv_all(pipe, sealed, sizeof(sealed), deadline_ns);
    if (err == 0)
        err = rpmi_sealed_get(&transcript, stream->secret, sealed, accepted);
    return err == 0 ? judge_accept(stream, accepted) : err;
}

int rpmi_stream_dial(const struct rpmi_stream *stream, uint64_t deadline_ns, struct rpmi_pipe *pipe,
                     struct rpmi_accept *accepted)
{
    int err;

    *pipe = (struct rpmi_pipe){ .fd = -1 };
    err = stream->name.local ? connect_unix(&stream->name, deadline_ns, &pipe->fd)
                             : connect_tcp(&stream->name, deadline_ns, &pipe->fd);
    if (err != 0) {
        pipe->fd = -1;
        return err;
    }
    rpmi_pipe_tune(pipe, stream->name.timeout_ms);
    if (stream->tls_ctx != NULL)
        err = handshake_tls(stream, deadline_ns, pipe);
    if (err == 0)
        err = handshake(stream, deadline_ns, pipe, accepted);
    if (err != 0)
        rpmi_pipe_close(pipe);
    return err;
}
