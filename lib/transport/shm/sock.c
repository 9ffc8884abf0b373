/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sock.c: send or receive one message, with a deadline.
 *
 * Invariant: a descriptor that arrives is either handed to the caller or closed.
 *
 * Tests: tests/unit/transport/shm/dial_test.cpp
 */
#include "transport/shm/sock.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/fd.h"
#include "transport/remote.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union fd_space {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(RPMI_SOCK_FDS_MAX * sizeof(int))];
};

static int wait_for(int sock, short events, uint64_t deadline_ns)
{
    if (rpmi_fd_wait(sock, events, deadline_ns))
        return 0;
    return rpmi_remote_late();
}

/* The peer closed the connection, or a socket call failed with @err. */
static int fail_lost(int err)
{
    return err == 0 ? rpmi_fail(RPM_E_LOST, "the server closed the connection")
                    : rpmi_fail(RPM_E_LOST, "the server closed the connection (%s)", strerror(err));
}

int rpmi_sock_send(int sock, const void *bytes, size_t len, const int *fds, int n,
                   uint64_t deadline_ns)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    union fd_space space;

    RPM_ASSERT(n >= 0 && n <= RPMI_SOCK_FDS_MAX);
    if (n > 0) {
        struct cmsghdr *header = &space.align;

        memset(&space, 0, sizeof(space));
        msg.msg_control = space.bytes;
        msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(header), fds, (size_t)n * sizeof(int));
    }
    for (;;) {
        int err;

        if (sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return fail_lost(errno);
        err = wait_for(sock, POLLOUT, deadline_ns);
        if (err != 0)
            return err;
    }
}

/* Take the descriptors out of a message. */
static int take_fds(struct msghdr *msg, int *fds)
{
    int n = 0;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(msg); header != NULL;
         header = CMSG_NXTHDR(msg, header)) {
        size_t count;

        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
            if (n < RPMI_SOCK_FDS_MAX)
                fds[n++] = fd;
            else
                (void)close(fd);
        }
    }
    return n;
}

int rpmi_sock_recv(int sock, void *bytes, size_t room, int *fds, int *n, uint64_t deadline_ns)
{
    struct iovec iov = { .iov_base = bytes, .iov_len = room };
    union fd_space space;

    for (;;) {
        struct msghdr msg = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = space.bytes,
                              .msg_controllen = sizeof(space.bytes) };
        ssize_t got = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        int err;

        if (got >= 0) {
            int taken = take_fds(&msg, fds);

            if (got > 0 && (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
                *n = taken;
                return (int)got;
            }
            while (taken > 0)
                (void)close(fds[--taken]);
            return got == 0 ? fail_lost(0)
                            : rpmi_fail(RPM_E_PROTO,
                                        "a message of more than %zu bytes, or with more "
                                        "descriptors than expected",
                                        room);
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return fail_lost(errno);
        err = wait_for(sock, POLLIN, deadline_ns);
        if (err != 0)
            return err;
    }
}
