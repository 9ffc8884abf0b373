/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener.c: open and close a stream listener; its table of operations (listener.h).
 *
 * Tests: tests/unit/serve/stream/listener_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "transport/stream/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define TAG_NOTIFY UINT32_MAX

static void stream_close(struct rpmi_listener *base)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);

    RPM_ASSERT(rpmi_serve_is_idle(base->server)); /* else the engine owns the live sessions */
    rpmi_stream_unlisten(listener);
    if (listener->session != NULL)
        rpmi_stream_end_sessions(listener);
    rpmi_fd_close(&listener->control_notify_fd);
    rpmi_fd_close(&listener->engine_notify_fd);
    rpmi_fd_close(&base->control_fd);
    rpmi_fd_close(&base->engine_fd);
    rpmi_tls_ctx_free(&listener->tls_ctx);
    if (listener->buffers != NULL)
        (void)munmap(listener->buffers,
                     (size_t)listener->sessions * (RPMI_STREAM_TAKE_BYTES + RPMI_STREAM_OUT_BYTES));
    rpmi_admission_close(&listener->admission);
    rpmi_free(listener->session);
    rpmi_free(listener);
}

/* Only the buffers of sessions in use are touched; the rest is address space. */
static int make_sessions(struct rpmi_stream_listener *listener)
{
    const size_t each = RPMI_STREAM_TAKE_BYTES + RPMI_STREAM_OUT_BYTES;
    void *base;

    RPM_ASSERT(listener->sessions > listener->base.server->clients_max); /* one for a handshake */
    listener->session =
        rpmi_alloc(listener->sessions * sizeof(listener->session[0]), RPMI_LINE_BYTES);
    if (listener->session == NULL ||
        rpmi_admission_open(&listener->admission, listener->sessions) != 0)
        return RPM_E_NOMEM;
    base = mmap(NULL, listener->sessions * each, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "no memory for %u clients: %s", listener->sessions,
                         strerror(errno));
    listener->buffers = base;
    for (uint32_t i = 0; i < listener->sessions; i++) {
        listener->session[i].pipe.fd = -1;
        listener->session[i].in = listener->buffers + i * each;
        listener->session[i].out = listener->session[i].in + RPMI_STREAM_TAKE_BYTES;
    }
    /* No byte is in the buffers of two clients, or behind the mapping. */
    RPM_ASSERT(listener->session[listener->sessions - 1].out + RPMI_STREAM_OUT_BYTES ==
               listener->buffers + listener->sessions * each);
    return 0;
}

static int make_events(struct rpmi_stream_listener *listener)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = TAG_NOTIFY };

    listener->control_notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->engine_notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->base.control_fd = epoll_create1(EPOLL_CLOEXEC);
    listener->base.engine_fd = epoll_create1(EPOLL_CLOEXEC);
    if (listener->control_notify_fd < 0 || listener->engine_notify_fd < 0 ||
        listener->base.control_fd < 0 || listener->base.engine_fd < 0 ||
        epoll_ctl(listener->base.engine_fd, EPOLL_CTL_ADD, listener->engine_notify_fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot open a listener's descriptors: %s", strerror(errno));
    return 0;
}

static int make_tls(struct rpmi_stream_listener *listener, const struct rpmi_url *url)
{
    struct rpm_server *server = listener->base.server;
    const char *asked = rpmi_url_get(url, "tls", "off");

    if (strcmp(asked, "off") == 0)
        return 0;
    if (strcmp(asked, "on") != 0)
        return rpmi_fail(RPM_E_INVAL, "tls=%s: a server's address takes tls=on or tls=off", asked);
    if (server->tls_cert == NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "tls=on needs a certificate and its key: rpm_server_opts.tls_cert and "
                         "tls_key (rpm-server --tls-cert FILE --tls-key FILE)");
    server->tls_used = true;
    return rpmi_tls_server_ctx(server->tls_cert, server->tls_key, &listener->tls_ctx);
}

static int stream_open(struct rpm_server *server, const struct rpmi_url *url,
                       struct rpmi_listener **listener)
{
    struct rpmi_stream_listener *fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    int err;

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->base.server = server;
    fresh->base.control_fd = fresh->base.engine_fd = fresh->control_notify_fd =
        fresh->engine_notify_fd = -1;
    fresh->local.listen_fd = fresh->local.lock_fd = -1;
    fresh->sessions = server->clients_max + RPMI_ADMISSION_SPARE;
    err = rpmi_stream_name_get(url, true, &fresh->name);
    if (err == 0)
        err = make_tls(fresh, url);
    if (err == 0)
        err = make_sessions(fresh);
    if (err == 0)
        err = make_events(fresh);
    if (err == 0)
        err = rpmi_stream_listen(fresh);
    if (err == 0)
        err = rpmi_stream_watch(fresh);
    if (err != 0) {
        stream_close(&fresh->base);
        return err;
    }
    memcpy(fresh->base.pool, fresh->name.endpoint.pool, sizeof(fresh->base.pool));
    fresh->base.facts = server->facts;
    fresh->base.facts.methods &= ~(1u << RPM_METHOD_STORE);
    *listener = &fresh->base;
    return 0;
}

static bool stream_ready(struct rpmi_listener *base)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);

    if (listener->todo == 0)
        rpmi_stream_poll_sockets(listener);
    return listener->todo != 0 || rpmi_stream_may_retry(listener);
}

/* The engine's epoll set holds the sockets and the eventfd by which the control thread notifies the
 * engine. The engine polls once more after this, which finds notifications that came before. */
static bool stream_arm(struct rpmi_listener *base)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);
    uint64_t count;

    (void)!read(listener->engine_notify_fd, &count, sizeof(count));
    listener->turns = 0;
    return listener->tls_pending != 0;
}

#define STREAM_LISTENER(name)                                                                      \
    {                                                                                              \
        .scheme = (name), .open = stream_open, .turn = rpmi_stream_turn, .ready = stream_ready,    \
        .arm = stream_arm, .take = rpmi_stream_take, .answer = rpmi_stream_answer,                 \
        .close = stream_close                                                                      \
    }

const struct rpmi_listener_ops rpmi_tcp_listener = STREAM_LISTENER("tcp");
const struct rpmi_listener_ops rpmi_unix_listener = STREAM_LISTENER("unix");
