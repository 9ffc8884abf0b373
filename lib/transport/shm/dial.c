/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dial.c: connect to a server's socket and make the handshake. Every step has a deadline, and if
 * the server ends during a step, the error names the step.
 *
 * Tests: tests/unit/transport/shm/dial_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_NS 2000000u /* between attempts while the server's queue of connections is full */

static int connect_failed(const char *path, int err)
{
    switch (err) {
    case ENOENT:
    case ECONNREFUSED:
    case ENOTDIR:
        return rpmi_fail(RPM_E_REFUSED,
                         "no server listens at %s (%s); start one, or check the name", path,
                         strerror(err));
    case EACCES:
    case EPERM:
        return rpmi_fail(RPM_E_DENIED, "may not connect to %s (%s); its owner or group may", path,
                         strerror(err));
    case EPROTOTYPE:
        return rpmi_fail(RPM_E_PROTO, "%s is not the socket of a librpm server; check the name",
                         path);
    default:
        return rpmi_fail(RPM_E_REFUSED, "cannot connect to %s: %s", path, strerror(err));
    }
}

static int connect_socket(const char *path, uint64_t deadline_ns, int *sock)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return rpmi_fail(RPM_E_NOMEM, "cannot make a socket: %s", strerror(errno));
    RPM_ASSERT(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        int err = errno;

        if (err == EINTR)
            continue;
        if (err == EAGAIN && rpmi_clock_ns() < deadline_ns) {
            rpmi_clock_sleep_ns(RETRY_NS);
            continue;
        }
        (void)close(fd);
        if (err == EAGAIN)
            return rpmi_fail(RPM_E_TIMEDOUT,
                             "the server at %s took no connection in time: it is stopped or "
                             "overloaded; try again, or allow more time (of the library: "
                             "rpm_conn_opts.timeout_us)",
                             path);
        return connect_failed(path, err);
    }
    *sock = fd;
    return 0;
}

static int judge_accept(const struct rpmi_shm *shm, const struct rpmi_grant *grant, int fds)
{
    const struct rpmi_accept *accepted = &grant->accepted;

    if (accepted->status != 0)
        return rpmi_fail(accepted->status, "%s",
                         accepted->text[0] != '\0' ? accepted->text : "the server refused");
    if (fds != RPMI_FDS)
        return rpmi_fail(RPM_E_PROTO, "the server sent %d descriptors, expected are %d", fds,
                         RPMI_FDS);
    if (shm->hello.mode != RPMI_MODE_AUTO && accepted->mode != shm->hello.mode)
        return rpmi_fail(RPM_E_PROTO, "the server granted mode %u, asked for was %u",
                         accepted->mode, shm->hello.mode);
    if (accepted->mode == RPMI_MODE_RING &&
        (accepted->depth < 2 || accepted->depth > RPMI_DEPTH_MAX ||
         (accepted->depth & (accepted->depth - 1)) != 0 ||
         accepted->staging_bytes < shm->hello.staging_bytes ||
         accepted->staging_bytes > RPMI_STAGING_MAX))
        return rpmi_fail(
            RPM_E_PROTO,
            "invalid ring size: %u slots (2..%u, a power of two), staging of %llu bytes "
            "(%llu..%llu)",
            accepted->depth, RPMI_DEPTH_MAX, (unsigned long long)accepted->staging_bytes,
            (unsigned long long)shm->hello.staging_bytes, (unsigned long long)RPMI_STAGING_MAX);
    return 0;
}

/* Check the descriptors that the server sent: if the server could shrink the memory, SIGBUS would
 * end this process, and an eventfd that blocks when full would stop it. The pool of a direct link
 * is a file, which cannot be sealed. */
static int check_lent(const struct rpmi_grant *grant)
{
    bool ring = grant->accepted.mode == RPMI_MODE_RING;

    for (int i = RPMI_FD_LIVENESS; i <= (ring ? RPMI_FD_RING : RPMI_FD_LIVENESS); i++) {
        int seals = fcntl(grant->fds[i], F_GET_SEALS);

        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
            return rpmi_fail(RPM_E_PROTO,
                             "the server lends memory that it could take away again (descriptor %d "
                             "is not sealed against shrinking)",
                             i);
    }
    if (ring && fcntl(grant->fds[RPMI_FD_NOTIFY], F_SETFL, O_NONBLOCK) != 0)
        return rpmi_fail(RPM_E_PROTO, "the server's eventfd cannot be set to O_NONBLOCK: %s",
                         strerror(errno));
    return 0;
}

static int handshake(const struct rpmi_shm *shm, uint64_t deadline_ns, struct rpmi_grant *grant)
{
    unsigned char bytes[RPMI_ACCEPT_BYTES];
    int fds[RPMI_SOCK_FDS_MAX];
    int n = 0;
    int got;
    int err;

    rpmi_hello_put(bytes, &shm->hello);
    err = rpmi_sock_send(grant->sock, bytes, RPMI_HELLO_BYTES, NULL, 0, deadline_ns);
    memset(bytes, 0, sizeof(bytes)); /* the secret does not stay on the stack */
    if (err != 0)
        return err;
    got = rpmi_sock_recv(grant->sock, bytes, sizeof(bytes), fds, &n, deadline_ns);
    if (got < 0)
        return got;
    err = rpmi_accept_get(bytes, (size_t)got, &grant->accepted);
    if (err == 0)
        err = judge_accept(shm, grant, n);
    for (int i = 0; i < n; i++) {
        if (err == 0 && i < RPMI_FDS)
            grant->fds[i] = fds[i];
        else
            (void)close(fds[i]);
    }
    return err != 0 ? err : check_lent(grant);
}

int rpmi_shm_dial(const struct rpmi_shm *shm, uint64_t deadline_ns, struct rpmi_grant *grant)
{
    int err = connect_socket(shm->path, deadline_ns, &grant->sock);

    if (err != 0)
        return err;
    for (int i = 0; i < RPMI_FDS; i++)
        grant->fds[i] = -1;
    if (shm->same_user)
        err = rpmi_sock_check_server(grant->sock, shm->path);
    if (err == 0)
        err = handshake(shm, deadline_ns, grant);
    if (err != 0)
        rpmi_grant_drop(grant);
    return err;
}

void rpmi_grant_drop(struct rpmi_grant *grant)
{
    rpmi_fd_close(&grant->sock);
    for (int i = 0; i < RPMI_FDS; i++) {
        rpmi_fd_close(&grant->fds[i]);
    }
}
