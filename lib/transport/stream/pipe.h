/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.h: one end of a byte stream that never blocks: a socket, in the clear or under TLS. Used by
 * client and server.
 */
#ifndef RPMI_STREAM_PIPE_H
#define RPMI_STREAM_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct ssl_st;

struct rpmi_pipe {
    int fd;             /* -1: none */
    struct ssl_st *tls; /* NULL: in the clear */
};

/* Send as much of @n pieces as the socket takes now. Bytes sent, 0 if it takes none, RPM_E_LOST. */
int64_t rpmi_pipe_send(struct rpmi_pipe *pipe, const struct iovec *iov, int n);

/* Receive what has arrived. Bytes, 0 if there are none now, RPM_E_LOST: the other side closed
 * it. */
int64_t rpmi_pipe_recv(struct rpmi_pipe *pipe, void *bytes, size_t room);

/* Has TLS bytes that it read from the socket and that rpmi_pipe_recv() has not returned yet?
 * poll(2) does not report them. */
bool rpmi_pipe_pending(const struct rpmi_pipe *pipe);

/* Sleep until the socket is readable (and writable, if @sending), until @deadline_ns on the real
 * clock at most. RPM_E_TIMEDOUT. */
int rpmi_pipe_wait(const struct rpmi_pipe *pipe, bool sending, uint64_t deadline_ns);

/* All of it, by @deadline_ns. RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_pipe_send_all(struct rpmi_pipe *pipe, const void *bytes, size_t len, uint64_t deadline_ns);
int rpmi_pipe_recv_all(struct rpmi_pipe *pipe, void *bytes, size_t len, uint64_t deadline_ns);

/* No delay, keepalive, and an end to a connection whose other side has vanished for @timeout_ms.
 * Does nothing to a Unix socket. */
void rpmi_pipe_tune(const struct rpmi_pipe *pipe, uint32_t timeout_ms);

/* Safe on a pipe that is closed. */
void rpmi_pipe_close(struct rpmi_pipe *pipe);

#endif
