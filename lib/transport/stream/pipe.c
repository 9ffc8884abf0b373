/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.c: send and receive bytes over a socket, without waiting unless the caller asks for it.
 *
 * Tests: tests/unit/transport/stream/pipe_test.cpp
 */
#include "transport/stream/pipe.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/fd.h"
#include "transport/stream/tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

/* The peer closed the connection, or a socket call failed with @err. */
static int fail_lost(int err)
{
    return err == 0 ? rpmi_fail(RPM_E_LOST, "the other side closed the connection")
                    : rpmi_fail(RPM_E_LOST, "the connection is lost: %s", strerror(err));
}

int64_t rpmi_pipe_send(struct rpmi_pipe *pipe, const struct iovec *iov, int n)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };

    RPM_ASSERT(pipe->fd >= 0 && n > 0);
    if (pipe->tls != NULL)
        return rpmi_tls_send(pipe->tls, iov, n);
    for (;;) {
        ssize_t sent = sendmsg(pipe->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent >= 0)
            return sent;
        if (errno == EAGAIN)
            return 0;
        if (errno != EINTR)
            return fail_lost(errno);
    }
}

int64_t rpmi_pipe_recv(struct rpmi_pipe *pipe, void *bytes, size_t room)
{
    RPM_ASSERT(pipe->fd >= 0 && room > 0);
    if (pipe->tls != NULL)
        return rpmi_tls_recv(pipe->tls, bytes, room);
    for (;;) {
        ssize_t got = recv(pipe->fd, bytes, room, MSG_DONTWAIT);

        if (got > 0)
            return got;
        if (got == 0)
            return fail_lost(0);
        if (errno == EAGAIN)
            return 0;
        if (errno != EINTR)
            return fail_lost(errno);
    }
}

bool rpmi_pipe_pending(const struct rpmi_pipe *pipe)
{
    return pipe->tls != NULL && rpmi_tls_pending(pipe->tls);
}

int rpmi_pipe_wait(const struct rpmi_pipe *pipe, bool sending, uint64_t deadline_ns)
{
    RPM_ASSERT(pipe->fd >= 0); /* poll() ignores a closed one, and would sleep till the deadline */
    if (rpmi_fd_wait(pipe->fd, sending ? POLLIN | POLLOUT : POLLIN, deadline_ns))
        return 0;
    return rpmi_fail(RPM_E_TIMEDOUT, "the other side is connected, but did not answer in time: "
                                     "it is stopped or overloaded; try again, or allow more time "
                                     "(of the library: rpm_conn_opts.timeout_us)");
}

int rpmi_pipe_send_all(struct rpmi_pipe *pipe, const void *bytes, size_t len, uint64_t deadline_ns)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };

    while (iov.iov_len > 0) {
        int64_t sent = rpmi_pipe_send(pipe, &iov, 1);
        int err;

        if (sent < 0)
            return (int)sent;
        iov.iov_base = (unsigned char *)iov.iov_base + sent;
        iov.iov_len -= (size_t)sent;
        if (sent != 0)
            continue;
        err = rpmi_pipe_wait(pipe, true, deadline_ns);
        if (err != 0)
            return err;
    }
    return 0;
}

int rpmi_pipe_recv_all(struct rpmi_pipe *pipe, void *bytes, size_t len, uint64_t deadline_ns)
{
    unsigned char *to = bytes;

    while (len > 0) {
        int64_t got = rpmi_pipe_recv(pipe, to, len);
        int err;

        if (got < 0)
            return (int)got;
        to += got;
        len -= (size_t)got;
        if (got != 0)
            continue;
        err = rpmi_pipe_wait(pipe, false, deadline_ns);
        if (err != 0)
            return err;
    }
    return 0;
}

static void set(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value)); /* only makes it faster or tidier */
}

void rpmi_pipe_tune(const struct rpmi_pipe *pipe, uint32_t timeout_ms)
{
    struct sockaddr_storage name;
    socklen_t bytes = sizeof(name);
    int seconds = (int)(timeout_ms / 2000u);

    if (getsockname(pipe->fd, (struct sockaddr *)&name, &bytes) != 0 || name.ss_family == AF_UNIX)
        return;
    if (seconds == 0)
        seconds = 1;
    set(pipe->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(pipe->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(pipe->fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
    set(pipe->fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(pipe->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)timeout_ms);
}

void rpmi_pipe_close(struct rpmi_pipe *pipe)
{
    if (pipe->tls != NULL)
        rpmi_tls_free(pipe->tls);
    rpmi_fd_close(&pipe->fd);
    pipe->tls = NULL;
    pipe->fd = -1;
}
