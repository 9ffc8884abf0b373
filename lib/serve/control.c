/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c: the control thread's loop: connections, greetings, control messages. One message a
 * turn from each client, and no wait on any of them: a client that does not read its answers is
 * dropped.
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

/* What a peer holds, for the count of the dead and for the fence. */
static void note(struct rpmi_peer *peer, const struct rpmi_call *call,
                 const struct rpmi_reply *reply)
{
    if (reply->status != 0)
        return;
    if (call->kind == RPMI_CALL_OPEN) {
        peer->keys++;
    } else if (call->kind == RPMI_CALL_CLAIM) {
        peer->keys++;
        if (peer->ring == NULL)
            peer->claim[reply->key % RPMI_KEYS_MAX] = (struct rpmi_peer_claim){
                .header_offset = reply->offset,
                .epoch = reply->epoch,
            };
    } else if (call->kind == RPMI_CALL_CLOSE) {
        peer->keys--;
        peer->claim[call->key % RPMI_KEYS_MAX].header_offset = 0;
    }
}

/* False: drop the peer. */
static bool serve_call(struct rpm_server *server, struct rpmi_peer *peer, const void *bytes,
                       size_t len)
{
    unsigned char answer[RPMI_REPLY_BYTES];
    struct rpmi_reply reply;
    struct rpmi_call call;

    if (len != RPMI_CALL_BYTES || rpmi_call_get(bytes, &call) != 0)
        return false;
    rpmi_serve_lock(server);
    rpmi_service_call(server->service, peer->client, &call, &reply);
    rpmi_serve_unlock(server);
    note(peer, &call, &reply);
    rpmi_count(&server->stats.calls, 1);
    rpmi_reply_put(answer, &reply);
    return rpmi_sock_send(peer->sock, answer, sizeof(answer), NULL, 0, 0) == 0;
}

/* No room for control data: descriptors that come along are thrown away by the kernel. */
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

static void serve_peer(struct rpm_server *server, struct rpmi_peer *peer)
{
    unsigned char bytes[MESSAGE_MAX];
    ssize_t got;
    bool stays;

    if (peer->sock < 0)
        return;
    got = take_message(peer->sock, bytes, sizeof(bytes));
    if (got == 0)
        return;
    if (got < 0)
        stays = false;
    else if (peer->client == 0)
        stays = rpmi_serve_greet(server, peer, bytes, (size_t)got);
    else
        stays = serve_call(server, peer, bytes, (size_t)got);
    if (!stays)
        rpmi_serve_drop(server, peer);
}

static int expire_greeters(struct rpm_server *server)
{
    uint64_t now = rpmi_clock_ns();
    int wait_ms = -1;

    for (uint32_t i = 0; i < server->peers_max; i++) {
        struct rpmi_peer *peer = &server->peers[i];
        int left_ms;

        if (peer->sock < 0 || peer->client != 0)
            continue;
        if (peer->greet_by_ns <= now) {
            rpmi_count(&server->stats.refused, 1);
            rpmi_serve_drop(server, peer);
            continue;
        }
        left_ms = (int)((peer->greet_by_ns - now) / 1000000u) + 1;
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
    int wait_ms = rpmi_listeners_turn(server, expire_greeters(server));
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

        if (tag < server->peers_max)
            serve_peer(server, &server->peers[tag]);
        else if (tag == RPMI_TAG_LISTEN)
            rpmi_serve_accept(server);
    }
    return 0;
}

/* Who sleeps on its socket hears of the end now, not when the server is closed. */
static void hang_up(struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->peers_max; i++)
        if (server->peers[i].sock >= 0)
            (void)shutdown(server->peers[i].sock, SHUT_RDWR);
}

int rpm_server_run(struct rpm_server *server)
{
    rpmi_begin();

    int err = 0;

    rpmi_pulse_begin(server->pulse);
    while (err == 0 && __atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE) == 0)
        err = turn(server);
    rpmi_pulse_end(server->pulse);
    hang_up(server);
    rpmi_mac_thread_end();
    return err;
}
