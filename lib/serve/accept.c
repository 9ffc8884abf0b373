/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept.c: connections on shm:, and what their hello is granted. A client that sends nothing, or
 * anything but a hello, is disconnected; no other session is affected.
 *
 * Invariants
 *   the mapping is lent only to the server's own user, or root
 *   descriptors that a client sends are never taken in: no room is given for them
 *
 * Tests: tests/unit/serve/accept_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/shm/shm.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OTHERS_MAY_CONNECT 0022u /* connecting takes the right to write */

static struct rpmi_shm_session *free_session(struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->sessions_max; i++)
        if (server->sessions[i].sock < 0)
            return &server->sessions[i];
    return NULL;
}

static void refuse_at_door(int sock, int status, const char *text)
{
    struct rpmi_accept accepted = { .version = RPMI_PROTOCOL_VERSION, .status = status };
    unsigned char bytes[RPMI_ACCEPT_BYTES];

    accepted.facts = rpm_facts_init();
    (void)snprintf(accepted.text, sizeof(accepted.text), "%s", text);
    rpmi_accept_put(bytes, &accepted);
    (void)rpmi_sock_send(sock, bytes, sizeof(bytes), NULL, 0, 0);
}

static uint32_t index_of(const struct rpm_server *server, const struct rpmi_shm_session *session)
{
    return (uint32_t)(session - server->sessions);
}

/* No session is free, so RPMI_ADMISSION_SPARE or more connections have sent no hello yet. Evict one
 * of those: an honest client sends its hello at once. */
static struct rpmi_shm_session *make_room(struct rpm_server *server,
                                          const struct rpmi_origin *origin)
{
    struct rpmi_shm_session *session;
    uint32_t at = 0;
    bool found = rpmi_admission_victim(&server->admission, origin, &at);

    RPM_ASSERT(found);
    session = &server->sessions[at];
    refuse_at_door(
        session->sock, RPM_E_REFUSED,
        "evicted: the server has no free session, and no hello came on this one; connect again");
    rpmi_count(&server->stats.refused, 1);
    rpmi_serve_drop(server, session);
    return session;
}

static bool known_user(const struct rpm_server *server, const struct ucred *session)
{
    return session->uid == geteuid() || session->uid == 0 ||
           (server->socket_mode & OTHERS_MAY_CONNECT) != 0;
}

static bool let_in(struct rpm_server *server, int sock)
{
    struct epoll_event event = { .events = EPOLLIN };
    struct rpmi_shm_session *session = free_session(server);
    struct rpmi_origin origin;
    struct ucred cred;
    socklen_t bytes = sizeof(cred);

    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) != 0)
        return false;
    if (!known_user(server, &cred)) {
        refuse_at_door(sock, RPM_E_DENIED, "this server serves its own user only");
        return false;
    }
    origin = (struct rpmi_origin){ cred.uid, (uint64_t)cred.pid };
    if (session == NULL)
        session = make_room(server, &origin);
    event.data.u64 = index_of(server, session);
    if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, sock, &event) != 0)
        return false;
    memset(session, 0, sizeof(*session));
    session->sock = sock;
    session->pid = cred.pid;
    session->uid = cred.uid;
    session->pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
    session->handshake_by_ns = rpmi_clock_ns() + RPMI_HANDSHAKE_NS;
    rpmi_admission_enter(&server->admission, index_of(server, session), &origin);
    return true;
}

void rpmi_serve_accept(struct rpm_server *server)
{
    int sock = accept4(server->name.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (sock >= 0) {
        if (!let_in(server, sock)) {
            rpmi_count(&server->stats.refused, 1);
            (void)close(sock);
        }
        return;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        struct epoll_event none = { .events = 0, .data.u64 = RPMI_TAG_LISTEN };

        rpmi_diag(RPM_DIAG_WARNING, "cannot accept a client for now: %s", strerror(errno));
        server->accept_again_ns = rpmi_clock_ns() + RPMI_ACCEPT_PAUSE_MS * 1000000ull;
        (void)epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->name.listen_fd, &none);
    }
}

/* In the same time wherever the two differ, so that a client cannot guess byte by byte. */
static bool same_secret(const char *ours, const char *theirs)
{
    unsigned char differs = 0;
    char padded[RPMI_SECRET_BYTES] = { 0 };

    memcpy(padded, theirs, strnlen(theirs, RPMI_SECRET_BYTES));
    for (size_t i = 0; i < RPMI_SECRET_BYTES; i++)
        differs |= (unsigned char)(ours[i] ^ padded[i]);
    return differs == 0;
}

/* The mode to grant, or an error. */
static int choose_mode(const struct rpm_server *server, const struct rpmi_shm_session *session,
                       const struct rpmi_hello *hello)
{
    bool may = (server->flags & RPM_SERVER_NO_DIRECT) == 0 &&
               (session->uid == geteuid() || session->uid == 0);

    if (hello->mode == RPMI_MODE_RING)
        return RPMI_MODE_RING;
    if (hello->mode == RPMI_MODE_DIRECT)
        return may ? RPMI_MODE_DIRECT
                   : rpmi_fail(RPM_E_NOCAP, "the server does not lend its mapping to this client");
    /* A domain that takes msync is reached by the engine only. */
    return may && rpmi_media_by_cpu(&server->pool) ? RPMI_MODE_DIRECT : RPMI_MODE_RING;
}

static int judge_hello(const struct rpm_server *server, const void *bytes, size_t len,
                       struct rpmi_hello *hello)
{
    int err = rpmi_hello_get(bytes, len, hello);

    if (err != 0)
        return err;
    if (!same_secret(server->secret, hello->secret))
        return rpmi_fail(RPM_E_DENIED, server->secret[0] == '\0'
                                           ? "the server takes no secret"
                                           : "the secret is not the server's");
    return 0;
}

static int admit(struct rpm_server *server, struct rpmi_shm_session *session)
{
    int err;

    rpmi_serve_lock(server);
    err = rpmi_service_attach(server->service, &session->client);
    if (err == 0 && session->ring != NULL) {
        session->ring->client = session->client;
        __atomic_store_n(&session->ring->state, RPMI_RING_LIVE, __ATOMIC_RELEASE);
    }
    rpmi_serve_unlock(server);
    if (err != 0 && session->ring != NULL) {
        rpmi_serve_ring_retire(session->ring);
        session->ring = NULL;
    }
    if (err == RPM_E_LIMIT)
        return rpmi_fail(RPM_E_REFUSED,
                         "the server has %u clients, its maximum (rpm-server --clients)",
                         server->clients_max);
    return err;
}

static int grant(struct rpm_server *server, struct rpmi_shm_session *session,
                 const struct rpmi_hello *hello, struct rpmi_accept *accepted, int fds[RPMI_FDS])
{
    int mode = choose_mode(server, session, hello);
    int err = mode < 0 ? mode : 0;

    if (err == 0 && mode == RPMI_MODE_RING)
        err = rpmi_serve_ring_open(server, hello, session->sock, &session->ring);
    if (err == 0)
        err = admit(server, session);
    if (err != 0)
        return err;
    fds[RPMI_FD_LIVENESS] = server->liveness_fd;
    accepted->mode = (uint32_t)mode;
    accepted->client = session->client;
    accepted->server_epoch = server->server_epoch;
    accepted->facts = server->facts;
    if (mode == RPMI_MODE_RING) {
        fds[RPMI_FD_RING] = session->ring->fd;
        fds[RPMI_FD_NOTIFY] = session->ring->notify_fd;
        accepted->depth = session->ring->ring.slots;
        accepted->staging_bytes = session->ring->ring.staging_bytes;
        accepted->facts.methods &= ~(1u << RPM_METHOD_STORE);
    } else {
        fds[RPMI_FD_POOL] = server->pool.fd;
        fds[RPMI_FD_DRAM] = server->dram.fd;
        accepted->pool_bytes = server->pool.mem.bytes;
        accepted->dram_bytes = server->dram.mem.bytes;
        accepted->facts.methods = 1u << RPM_METHOD_STORE;
    }
    return 0;
}

bool rpmi_serve_handshake(struct rpm_server *server, struct rpmi_shm_session *session,
                          const void *bytes, size_t len)
{
    struct rpmi_accept accepted = { .version = RPMI_PROTOCOL_VERSION };
    unsigned char answer[RPMI_ACCEPT_BYTES];
    struct rpmi_hello hello;
    int fds[RPMI_FDS];

    RPM_ASSERT(session->client == 0);
    accepted.facts = rpm_facts_init();
    accepted.status = judge_hello(server, bytes, len, &hello);
    if (accepted.status == 0)
        accepted.status = grant(server, session, &hello, &accepted, fds);
    memset(hello.secret, 0, sizeof(hello.secret));
    if (accepted.status != 0)
        (void)snprintf(accepted.text, sizeof(accepted.text), "%s", rpm_last_error());
    rpmi_accept_put(answer, &accepted);
    if (rpmi_sock_send(session->sock, answer, sizeof(answer), fds,
                       accepted.status == 0 ? RPMI_FDS : 0, 0) != 0 ||
        accepted.status != 0) {
        rpmi_count(&server->stats.refused, 1);
        return false;
    }
    rpmi_admission_leave(&server->admission, index_of(server, session));
    rpmi_count(&server->stats.accepted, 1);
    rpmi_count(&server->stats.clients, 1);
    return true;
}

void rpmi_serve_drop(struct rpm_server *server, struct rpmi_shm_session *session)
{
    RPM_ASSERT(session->sock >= 0);
    rpmi_admission_leave(&server->admission, index_of(server, session));
    if (session->client != 0) {
        uint32_t freed;

        rpmi_serve_lock(server);
        freed = rpmi_service_detach(server->service, session->client);
        if (session->ring != NULL)
            rpmi_serve_ring_close(server, session->ring);
        rpmi_serve_unlock(server);
        rpmi_count(&server->stats.locks_freed, freed);
        rpmi_count(&server->stats.clients, (uint64_t)-1);
        if (session->keys != 0)
            rpmi_count(&server->stats.died, 1);
    }
    (void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, session->sock, NULL);
    (void)shutdown(session->sock, SHUT_RDWR); /* the engine's duplicate may live a little longer */
    (void)close(session->sock);
    if (session->pidfd >= 0)
        (void)close(session->pidfd);
    session->sock = -1;
    session->ring = NULL;
    session->client = 0;
}
