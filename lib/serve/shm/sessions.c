/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sessions.c: the control thread's turn over the sessions of shm:. In each turn it receives one
 * message from each client that has sent one. It waits for no client: it disconnects a client whose
 * socket has no room for an answer.
 *
 * Tests: tests/unit/serve/shm/accept_test.cpp, tests/unit/serve/server_test.cpp
 */
#include "serve/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "transport/shm/sock.h"
#include "wire/guard.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define NS_IN_MS 1000000u
#define MESSAGE_MAX (RPMI_HELLO_BYTES > RPMI_CALL_BYTES ? RPMI_HELLO_BYTES : RPMI_CALL_BYTES)

/* Record which log a direct client may store to: with --fence kill, fence.c looks for the client
 * that holds a guard slot. */
static void note_claim(struct rpmi_shm_session *session, const struct rpmi_call *call,
                       const struct rpmi_reply *reply)
{
    if (reply->status != 0)
        return;
    RPM_ASSERT(call->kind != RPMI_CALL_CLAIM || (reply->epoch != 0 && reply->offset != 0));
    RPM_ASSERT(call->kind != RPMI_CALL_CLAIM || session->claim[reply->key].header_offset == 0);
    if (call->kind == RPMI_CALL_CLAIM && session->ring == NULL)
        session->claim[reply->key % RPMI_KEYS_MAX] = (struct rpmi_shm_claim){
            .header_offset = reply->offset,
            .epoch = reply->epoch,
        };
    else if (call->kind == RPMI_CALL_CLOSE)
        session->claim[call->key % RPMI_KEYS_MAX].header_offset = 0;
}

/* False: drop the session. */
static bool serve_call(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session,
                       const void *bytes, size_t len)
{
    struct rpmi_session *base = &session->base;
    struct rpmi_reply reply;
    struct rpmi_call call;

    RPM_ASSERT(base->client != 0);
    if (len != RPMI_CALL_BYTES)
        return false;
    memcpy(base->call, bytes, RPMI_CALL_BYTES);
    if (!rpmi_session_serve(&listener->base, base, &call, &reply))
        return false;
    note_claim(session, &call, &reply);
    rpmi_reply_put(base->reply, &reply);
    return rpmi_sock_send(session->sock, base->reply, RPMI_REPLY_BYTES, NULL, 0, 0) == 0;
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

static void serve_session(struct rpmi_shm_listener *listener, struct rpmi_shm_session *session)
{
    unsigned char bytes[MESSAGE_MAX];
    ssize_t got;
    bool stays;

    if (session->sock < 0)
        return;
    /* The ring of this session carries out requests as its client and no other. */
    RPM_ASSERT(session->ring == NULL || session->base.client != 0);
    RPM_ASSERT(session->ring == NULL || session->ring->client == session->base.client);
    got = take_message(session->sock, bytes, sizeof(bytes));
    if (got == 0)
        return;
    if (got < 0)
        stays = false;
    else if (session->base.client == 0)
        stays = rpmi_shm_handshake(listener, session, bytes, (size_t)got);
    else
        stays = serve_call(listener, session, bytes, (size_t)got);
    if (!stays)
        rpmi_shm_drop(listener, session);
}

/* End the sessions whose client has sent no hello in time. Returns the milliseconds until the next
 * deadline, -1: there is none. */
static int expire_handshakes(struct rpmi_shm_listener *listener)
{
    uint64_t now = rpmi_clock_ns();
    int wait_ms = listener->accept_again_ns != 0 ? RPMI_ACCEPT_PAUSE_MS : -1;

    for (uint32_t i = 0; i < listener->sessions; i++) {
        struct rpmi_shm_session *session = &listener->session[i];
        int left_ms;

        if (session->sock < 0 || session->base.client != 0)
            continue;
        RPM_ASSERT(session->ring == NULL && session->base.keys == 0);
        if (session->handshake_by_ns <= now) {
            rpmi_count(&listener->base.server->stats.refused, 1);
            rpmi_shm_drop(listener, session);
            continue;
        }
        left_ms = (int)((session->handshake_by_ns - now) / NS_IN_MS) + 1;
        if (wait_ms < 0 || left_ms < wait_ms)
            wait_ms = left_ms;
    }
    return wait_ms;
}

void rpmi_shm_begin(struct rpmi_listener *base)
{
    rpmi_liveness_begin(rpmi_shm_listener_of(base)->liveness);
}

int rpmi_shm_turn(struct rpmi_listener *base)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(base->control_fd, events, EVENTS_MAX, 0);

    RPM_ASSERT(rpmi_serve_is_control(base->server));
    if (listener->accept_again_ns != 0 && rpmi_clock_ns() >= listener->accept_again_ns)
        (void)rpmi_shm_watch(listener, true); /* descriptors may have come free since */
    for (int i = 0; i < n; i++) {
        uint64_t tag = events[i].data.u64;

        if (tag < listener->sessions)
            serve_session(listener, &listener->session[tag]);
        else
            rpmi_shm_accept(listener);
    }
    return expire_handshakes(listener);
}

/* A client that sleeps on its socket wakes up now, not when the server is closed. */
void rpmi_shm_end(struct rpmi_listener *base)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);

    rpmi_liveness_end(listener->liveness);
    for (uint32_t i = 0; i < listener->sessions; i++)
        if (listener->session[i].sock >= 0)
            (void)shutdown(listener->session[i].sock, SHUT_RDWR);
}

static bool holds(const struct rpmi_shm_session *session, uint64_t header_offset, uint32_t slot)
{
    RPM_ASSERT(header_offset != 0 && slot < RPMI_GUARD_SLOTS);
    for (uint32_t k = 0; k < RPMI_KEYS_MAX; k++)
        if (session->claim[k].header_offset == header_offset &&
            session->claim[k].epoch % RPMI_GUARD_SLOTS == slot)
            return true;
    return false;
}

/* Kill the direct client that holds the slot, if it is connected and another process than this. */
bool rpmi_shm_kill_writer(struct rpmi_listener *base, uint64_t header_offset, uint32_t slot)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);

    for (uint32_t i = 0; i < listener->sessions; i++) {
        struct rpmi_shm_session *session = &listener->session[i];

        if (session->sock < 0 || session->pidfd < 0 || session->pid == getpid() ||
            !holds(session, header_offset, slot))
            continue;
        RPM_ASSERT(session->ring == NULL);     /* a ring's stores are the engine's, and judged */
        RPM_ASSERT(session->base.client != 0); /* only a client of this server is killed */
        rpmi_diag(RPM_DIAG_WARNING,
                  "killing process %d: it was fenced and did not leave its guarded section in time",
                  (int)session->pid);
        return syscall(SYS_pidfd_send_signal, session->pidfd, SIGKILL, NULL, 0) == 0;
    }
    return false;
}
