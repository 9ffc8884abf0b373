/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept.c: accept connections on shm:, and answer their hello. The server disconnects a client
 * that sends nothing, or another message than a hello; no other session is affected.
 *
 * Invariants
 *   only clients that run as the server's user or as root get the pool's mapping
 *   the server never receives descriptors from a client: it gives recvmsg() no room for them
 *
 * Tests: tests/unit/serve/shm/accept_test.cpp
 */
#include "serve/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fd.h"
#include "transport/shm/sock.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TAG_LISTEN UINT32_MAX /* tag of the listening socket's event; others: a session's index */
#define OTHERS_MAY_CONNECT 0022u /* connecting takes the right to write */

static struct rpmi_shm_session *free_session(struct rpmi_shm_listener *listener)
{
    for (uint32_t i = 0; i < listener->sessions; i++)
        if (listener->session[i].sock < 0)
            return &listener->session[i];
    return NULL;
}

static int send_accept(int sock, const struct rpmi_accept *accepted, const int *fds, int n)
{
    unsigned char bytes[RPMI_ACCEPT_BYTES];

    rpmi_accept_put(bytes, accepted);
    return rpmi_sock_send(sock, bytes, sizeof(bytes), fds, n, 0);
}

static void send_refusal(struct rpmi_shm_listener *listener, int sock, int status)
{
    struct rpmi_accept accepted;

    rpmi_session_refuse(&listener->base, status, &accepted);
    (void)send_accept(sock, &accepted, NULL, 0);
}

static uint32_t index_of(const struct rpmi_shm_listener *listener,
                         const struct rpmi_shm_session *session)
{
    RPM_ASSERT(session >= listener->session && session < listener->session + listener->sessions);
    return (uint32_t)(session - listener->session);
}

/* No session is free, so RPMI_ADMISSION_SPARE or more connections have sent no hello yet. Evict one
 * of those connections: a client of librpm sends its hello right after it has connected. */
static struct rpmi_shm_session *evict(struct rpmi_shm_listener *listener,
                                      const struct rpmi_origin *origin)
{
    struct rpmi_shm_session *session;
    uint32_t at = 0;
    bool found = rpmi_admission_victim(&listener->admission, origin, &at);

    RPM_ASSERT(found);
    session = &listener->session[at];
    RPM_ASSERT(session->sock >= 0 && session->base.client == 0); /* never one that authenticated */
    send_refusal(listener, session->sock,
                 rpmi_fail(RPM_E_REFUSED, "evicted: the server has no free session, and no hello "
                                          "came on this one; connect again"));
    rpmi_shm_drop(listener, session);
    return session;
}

static bool may_connect(const struct rpm_server *server, const struct ucred *cred)
{
    return cred->uid == geteuid() || cred->uid == 0 ||
           (server->socket_mode & OTHERS_MAY_CONNECT) != 0;
}

static bool begin_session(struct rpmi_shm_listener *listener, int sock)
{
    struct epoll_event event = { .events = EPOLLIN };
    struct rpmi_shm_session *session = free_session(listener);
    struct rpmi_origin origin;
    struct ucred cred;
    socklen_t bytes = sizeof(cred);

    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) != 0)
        return false;
    if (!may_connect(listener->base.server, &cred)) {
        send_refusal(listener, sock,
                     rpmi_fail(RPM_E_DENIED,
                               "user %u may not connect: this server serves user %u "
                               "only (rpm-server --socket-mode)",
                               cred.uid, geteuid()));
        return false;
    }
    origin = (struct rpmi_origin){ cred.uid, (uint64_t)cred.pid };
    if (session == NULL)
        session = evict(listener, &origin);
    event.data.u64 = index_of(listener, session);
    if (epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, sock, &event) != 0) {
        rpmi_count(&listener->base.server->stats.refused, 1);
        return false;
    }
    RPM_ASSERT(session->sock < 0 && session->base.client == 0 && session->ring == NULL);
    memset(session, 0, sizeof(*session));
    session->sock = sock;
    session->pid = cred.pid;
    session->uid = cred.uid;
    session->pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
    session->handshake_by_ns = rpmi_clock_ns() + RPMI_HANDSHAKE_NS;
    rpmi_admission_enter(&listener->admission, index_of(listener, session), &origin);
    return true;
}

int rpmi_shm_watch(struct rpmi_shm_listener *listener, bool on)
{
    struct epoll_event event = { .events = on ? EPOLLIN : 0, .data.u64 = TAG_LISTEN };
    int fd = listener->name.listen_fd;

    listener->accept_again_ns = on ? 0 : rpmi_clock_ns() + RPMI_ACCEPT_PAUSE_MS * 1000000ull;
    if (epoll_ctl(listener->base.control_fd, EPOLL_CTL_MOD, fd, &event) == 0 ||
        epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    return rpmi_fail(RPM_E_IO, "cannot watch a descriptor: %s", strerror(errno));
}

void rpmi_shm_accept(struct rpmi_shm_listener *listener)
{
    int sock = accept4(listener->name.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    RPM_ASSERT(listener->name.taken); /* the clients of this name are this server's */
    if (sock >= 0) {
        if (!begin_session(listener, sock))
            (void)close(sock);
        return;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        rpmi_diag(RPM_DIAG_WARNING, "cannot accept a client for now: %s", strerror(errno));
        (void)rpmi_shm_watch(listener, false);
    }
}

/* Takes the same time wherever the first difference is, so that a client cannot find the secret
 * byte by byte. */
static bool same_secret(const char *ours, const char *theirs)
{
    unsigned char differs = 0;
    char padded[RPMI_SECRET_BYTES] = { 0 };

    memcpy(padded, theirs, strnlen(theirs, RPMI_SECRET_BYTES));
    for (size_t i = 0; i < RPMI_SECRET_BYTES; i++)
        differs |= (unsigned char)(ours[i] ^ padded[i]);
    return differs == 0;
}

/* May this client map the whole pool, and so read and change the objects of all clients? */
static bool may_map(const struct rpm_server *server, const struct rpmi_shm_session *session)
{
    return (server->flags & RPM_SERVER_NO_DIRECT) == 0 &&
           (session->uid == geteuid() || session->uid == 0);
}

/* The mode to grant, or an error. */
static int choose_mode(const struct rpm_server *server, const struct rpmi_shm_session *session,
                       const struct rpmi_hello *hello)
{
    bool may = may_map(server, session);

    if (hello->mode == RPMI_MODE_RING)
        return RPMI_MODE_RING;
    if (hello->mode == RPMI_MODE_DIRECT)
        return may ? RPMI_MODE_DIRECT
                   : rpmi_fail(RPM_E_NOCAP,
                               "mode=direct is for the server's user and root, and not for a "
                               "server with --no-direct; connect with mode=ring or auto");
    /* Only the engine can reach a domain that needs msync. */
    return may && rpmi_media_by_cpu(&server->pool) ? RPMI_MODE_DIRECT : RPMI_MODE_RING;
}

static int judge_hello(const struct rpm_server *server, const void *bytes, size_t len,
                       struct rpmi_hello *hello)
{
    int err = rpmi_hello_get(bytes, len, hello);

    if (err != 0)
        return err;
    if (!same_secret(server->secret, hello->secret))
        return rpmi_secret_denied(server->secret[0] != '\0', hello->secret[0] != '\0');
    return 0;
}

/* Attach the client to the service, then make its ring live: from then on the engine carries out
 * its requests. */
static int attach(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session,
                  struct rpmi_accept *accepted)
{
    const struct rpmi_auth any_pool = { 0 };
    int err = rpmi_session_enter(&listener->base, &session->base, &listener->base.facts, &any_pool,
                                 accepted);

    if (session->ring == NULL)
        return err;
    if (err != 0) {
        rpmi_serve_ring_retire(session->ring);
        session->ring = NULL;
        return err;
    }
    RPM_ASSERT(session->base.client != 0);
    RPM_ASSERT(__atomic_load_n(&session->ring->state, __ATOMIC_RELAXED) == RPMI_RING_FREE);
    session->ring->client = session->base.client;
    __atomic_store_n(&session->ring->state, RPMI_RING_LIVE, __ATOMIC_RELEASE);
    return 0;
}

static int grant(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session,
                 const struct rpmi_hello *hello, struct rpmi_accept *accepted, int fds[RPMI_FDS])
{
    struct rpm_server *server = listener->base.server;
    int mode = choose_mode(server, session, hello);
    int err = mode < 0 ? mode : 0;

    RPM_ASSERT(session->ring == NULL);
    if (err == 0 && mode == RPMI_MODE_RING)
        err = rpmi_serve_ring_open(listener, hello, session->sock, &session->ring);
    if (err == 0)
        err = attach(listener, session, accepted);
    if (err != 0)
        return err;
    RPM_ASSERT((mode == RPMI_MODE_RING) == (session->ring != NULL));
    fds[RPMI_FD_LIVENESS] = listener->liveness_fd;
    accepted->mode = (uint32_t)mode;
    if (mode == RPMI_MODE_RING) {
        fds[RPMI_FD_RING] = session->ring->fd;
        fds[RPMI_FD_NOTIFY] = session->ring->notify_fd;
        accepted->depth = session->ring->ring.slots;
        accepted->staging_bytes = session->ring->ring.staging_bytes;
        accepted->facts.methods &= ~(1u << RPM_METHOD_STORE);
    } else {
        RPM_ASSERT(may_map(server, session));
        rpmi_session_stores(&listener->base, &session->base);
        fds[RPMI_FD_POOL] = server->pool.fd;
        fds[RPMI_FD_DRAM] = server->dram.fd;
        accepted->facts.methods = 1u << RPM_METHOD_STORE;
    }
    return 0;
}

bool rpmi_shm_handshake(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session,
                        const void *bytes, size_t len)
{
    struct rpmi_accept accepted = { 0 };
    struct rpmi_hello hello;
    int fds[RPMI_FDS];
    int err = judge_hello(listener->base.server, bytes, len, &hello);

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server));
    RPM_ASSERT(session->base.client == 0);
    if (err == 0)
        err = grant(listener, session, &hello, &accepted, fds);
    memset(hello.secret, 0, sizeof(hello.secret));
    if (err != 0 && accepted.status == 0)
        rpmi_session_refuse(&listener->base, err, &accepted);
    if (send_accept(session->sock, &accepted, fds, err == 0 ? RPMI_FDS : 0) != 0 || err != 0)
        return false;
    RPM_ASSERT(session->base.client != 0 && session->base.keys == 0);
    rpmi_admission_leave(&listener->admission, index_of(listener, session));
    return true;
}

void rpmi_shm_drop(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session)
{
    RPM_ASSERT(session->sock >= 0);
    RPM_ASSERT(session->ring == NULL || session->ring->client == session->base.client);
    rpmi_admission_leave(&listener->admission, index_of(listener, session));
    if (session->ring != NULL)
        rpmi_serve_ring_close(listener, session->ring);
    rpmi_session_leave(&listener->base, &session->base);
    (void)epoll_ctl(listener->base.control_fd, EPOLL_CTL_DEL, session->sock, NULL);
    (void)shutdown(session->sock, SHUT_RDWR); /* the engine may not have closed its duplicate yet */
    (void)close(session->sock);
    rpmi_fd_close(&session->pidfd);
    RPM_ASSERT(session->base.client == 0); /* detached: no claim, no key, no lock is left */
    session->sock = -1;
    session->ring = NULL;
}
