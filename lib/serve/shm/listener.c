/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener.c: open and close the shm: listener, with its liveness page; its table of operations
 * (listener.h).
 *
 * Tests: tests/unit/serve/listeners_test.cpp, tests/unit/serve/server_test.cpp
 */
#include "serve/shm/shm.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "transport/membarrier.h"
#include "transport/sock_path.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static void shm_close(struct rpmi_listener *base)
{
    struct rpmi_shm_listener *listener = rpmi_shm_listener_of(base);

    RPM_ASSERT(rpmi_serve_is_idle(base->server)); /* else only the engine unmaps rings */
    rpmi_sock_name_drop(&listener->name);
    for (uint32_t i = 0; i < listener->sessions; i++)
        if (listener->session[i].sock >= 0)
            rpmi_shm_drop(listener, &listener->session[i]);
    for (uint32_t i = 0; i < listener->rings; i++) {
        if (listener->ring[i].state == RPMI_RING_CLOSED)
            rpmi_serve_ring_retire(&listener->ring[i]);
        RPM_ASSERT(listener->ring[i].state == RPMI_RING_FREE); /* a live one had a session */
    }
    rpmi_fd_close(&base->control_fd);
    rpmi_liveness_close(listener->liveness, listener->liveness_fd);
    rpmi_admission_close(&listener->admission);
    rpmi_free(listener->session);
    rpmi_free(listener->ring);
    rpmi_free(listener);
}

/* As many rings as sessions: more than clients, see rings.c. */
static int make_sessions(struct rpmi_shm_listener *listener)
{
    uint32_t sessions = listener->base.server->clients_max + RPMI_ADMISSION_SPARE;

    listener->session = rpmi_alloc(sessions * sizeof(listener->session[0]), RPMI_LINE_BYTES);
    listener->ring = rpmi_alloc(sessions * sizeof(listener->ring[0]), RPMI_LINE_BYTES);
    if (listener->session == NULL || listener->ring == NULL ||
        rpmi_admission_open(&listener->admission, sessions) != 0)
        return RPM_E_NOMEM;
    for (uint32_t i = 0; i < sessions; i++)
        listener->session[i].sock = -1;
    RPM_ASSERT(sessions > listener->base.server->clients_max); /* one is free for a handshake */
    listener->sessions = sessions;
    listener->rings = sessions;
    return 0;
}

static int make_liveness(struct rpmi_shm_listener *listener)
{
    int err = rpmi_liveness_open(&listener->liveness, &listener->liveness_fd);

    if (err != 0)
        return err;
    listener->liveness->membarrier = rpmi_membarrier_register() ? 1 : 0;
    listener->liveness->events = 1;
    return 0;
}

static int listen_at(struct rpmi_shm_listener *listener, const struct rpmi_url *url)
{
    struct rpm_server *server = listener->base.server;
    int err = rpmi_url_known(url, NULL, 0);

    for (uint32_t i = 0; i < server->listeners_n && err == 0; i++)
        if (server->listeners[i]->ops == &rpmi_shm_listener)
            err = rpmi_fail(RPM_E_INVAL, "a server has one shm: name: remove shm:%s or the other",
                            url->address);
    if (err == 0)
        err = rpmi_sock_path(url->address, true, listener->name.path, NULL);
    if (err == 0)
        err = rpmi_sock_name_listen(&listener->name, SOCK_SEQPACKET, server->socket_mode);
    return err != 0 ? err : rpmi_shm_watch(listener, true);
}

static int shm_open_listener(struct rpm_server *server, const struct rpmi_url *url,
                             struct rpmi_listener **listener)
{
    struct rpmi_shm_listener *fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    int err;

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->base.server = server;
    fresh->base.engine_fd = -1; /* each ring has an eventfd, which the engine watches itself */
    fresh->base.facts = server->facts;
    fresh->name.listen_fd = fresh->name.lock_fd = fresh->liveness_fd = -1;
    fresh->base.control_fd = epoll_create1(EPOLL_CLOEXEC);
    err = make_sessions(fresh);
    if (err == 0 && fresh->base.control_fd < 0)
        err = rpmi_fail(RPM_E_IO, "cannot open a listener's descriptors: %s", strerror(errno));
    if (err == 0)
        err = make_liveness(fresh);
    if (err == 0)
        err = listen_at(fresh, url);
    if (err != 0) {
        shm_close(&fresh->base);
        return err;
    }
    (void)snprintf(fresh->base.url, sizeof(fresh->base.url), "shm:%s", fresh->name.path);
    *listener = &fresh->base;
    return 0;
}

const struct rpmi_listener_ops rpmi_shm_listener = {
    .scheme = "shm",
    .in_memory = true,
    .open = shm_open_listener,
    .begin = rpmi_shm_begin,
    .turn = rpmi_shm_turn,
    .end = rpmi_shm_end,
    .engine_begin = rpmi_shm_engine_begin,
    .ready = rpmi_shm_ready,
    .may_spin = rpmi_shm_may_spin,
    .arm = rpmi_shm_arm,
    .disarm = rpmi_shm_disarm,
    .take = rpmi_shm_take,
    .answer = rpmi_shm_answer,
    .kill_writer = rpmi_shm_kill_writer,
    .close = shm_close,
};
