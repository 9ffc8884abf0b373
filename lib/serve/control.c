/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c: the control thread's loop: connections, handshakes, control messages. It takes one
 * message a turn from each client and waits for none: it drops a client that does not read its
 * answers.
 *
 * Tests: tests/unit/serve/accept_test.cpp, tests/unit/serve/server_test.cpp
 */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/mac.h"
#include "transport/shm/sock.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EVENTS_MAX 32
#define MESSAGE_MAX (RPMI_HELLO_BYTES > RPMI_CALL_BYTES ? RPMI_HELLO_BYTES : RPMI_CALL_BYTES)

/* What a session holds, for the count of the dead and for the fence. */
static void note(struct rpmi_shm_session *session, const struct rpmi_call *call,
                 const struct rpmi_reply *reply)
{
    if (reply->status != 0)
        return;
    if (call->kind == RPMI_CALL_OPEN) {
        session->keys++;
    } else if (call->kind == RPMI_CALL_CLAIM) {
        session->keys++;
        if (session->ring == NULL)
            session->claim[reply->key % RPMI_KEYS_MAX] = (struct rpmi_shm_claim){
                .header_offset = reply->offset,
                .epoch = reply->epoch,
            };
    } else if (call->kind == RPMI_CALL_CLOSE) {
        session->keys--;
        session->claim[call->key % RPMI_KEYS_MAX].header_offset = 0;
    }
}

/* False: drop the session. */
static bool serve_call(struct rpm_server *server, struct rpmi_shm_session *session,
                       const void *bytes, size_t len)
{
    unsigned char answer[RPMI_REPLY_BYTES];
    struct rpmi_reply reply;
    struct rpmi_call call;

    if (len != RPMI_CALL_BYTES || rpmi_call_get(bytes, &call) != 0)
        return false;
    rpmi_serve_lock(server);
    rpmi_service_call(server->service, session->client, &call, &reply);
    rpmi_serve_unlock(server);
    note(session, &call, &reply);
    rpmi_count(&server->stats.calls, 1);
    rpmi_reply_put(answer, &reply);
    return rpmi_sock_send(session->sock, answer, sizeof(answer), NULL, 0, 0) == 0;
}

/* No room for control data: the kernel discards descriptors that a client sends along. */
static ssize_t take_message(int sock, unsigned char *bytes, size_t room)
{
    struct iovec iov = { .iov_base = bytes, .iov_len = room };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t got = recvmsg(sock, &msg, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        return -1;
    return got;
}

static void serve_session(struct rpm_server *server, struct rpmi_shm_session *session)
{
    unsigned char bytes[MESSAGE_MAX];
    ssize_t got;
    bool stays;

    if (session->sock < 0)
        return;
    got = take_message(session->sock, bytes, sizeof(bytes));
    if (got == 0)
        return;
    if (got < 0)
        stays = false;
    else if (session->client == 0)
        stays = rpmi_serve_handshake(server, session, bytes, (size_t)got);
    else
        stays = serve_call(server, session, bytes, (size_t)got);
    if (!stays)
        rpmi_serve_drop(server, session);
}

static int expire_handshakes(struct rpm_server *server)
{
    uint64_t now = rpmi_clock_ns();
    int wait_ms = -1;

    for (uint32_t i = 0; i < server->sessions_max; i++) {
        struct rpmi_shm_session *session = &server->sessions[i];
        int left_ms;

        if (session->sock < 0 || session->client != 0)
            continue;
        if (session->handshake_by_ns <= now) {
            rpmi_count(&server->stats.refused, 1);
            rpmi_serve_drop(server, session);
            continue;
        }
        left_ms = (int)((session->handshake_by_ns - now) / 1000000u) + 1;
        if (wait_ms < 0 || left_ms < wait_ms)
            wait_ms = left_ms;
    }
    return wait_ms;
}

/* Descriptors may have come free since accept failed. */
static void resume_accept(struct rpm_server *server)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = RPMI_TAG_LISTEN };

    server->accept_again_ns = 0;
    (void)epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->name.listen_fd, &event);
}

static int turn(struct rpm_server *server)
{
    struct epoll_event events[EVENTS_MAX];
    int wait_ms = rpmi_listeners_turn(server, expire_handshakes(server));
    int n;

    if (server->accept_again_ns != 0 && (wait_ms < 0 || wait_ms > RPMI_ACCEPT_PAUSE_MS))
        wait_ms = RPMI_ACCEPT_PAUSE_MS;
    n = epoll_wait(server->epoll_fd, events, EVENTS_MAX, wait_ms);
    if (n < 0 && errno != EINTR)
        return rpmi_fail(RPM_E_IO, "cannot wait for clients: %s", strerror(errno));
    if (server->accept_again_ns != 0 && rpmi_clock_ns() >= server->accept_again_ns)
        resume_accept(server);
    for (int i = 0; i < n; i++) {
        uint64_t tag = events[i].data.u64;

        if (tag < server->sessions_max)
            serve_session(server, &server->sessions[tag]);
        else if (tag == RPMI_TAG_LISTEN)
            rpmi_serve_accept(server);
    }
    return 0;
}

/* A client that sleeps on its socket learns of the end now, not when the server is closed. */
static void hang_up(struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->sessions_max; i++)
        if (server->sessions[i].sock >= 0)
            (void)shutdown(server->sessions[i].sock, SHUT_RDWR);
}

int rpm_server_run(struct rpm_server *server)
{
    rpmi_begin();

    int err = 0;

    rpmi_liveness_begin(server->liveness);
    while (err == 0 && __atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE) == 0)
        err = turn(server);
    rpmi_liveness_end(server->liveness);
    hang_up(server);
    rpmi_mac_thread_end();
    return err;
}
