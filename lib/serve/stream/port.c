/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.c: a stream port from opening to closing, as port.h wants it.
 *
 * Tests: tests/unit/serve/stream/port_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/diag.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/stream/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define TAG_NUDGE UINT32_MAX

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void stream_close(struct rpmi_port *base)
{
    struct rpmi_stream_port *port = rpmi_stream_port_of(base);

    rpmi_stream_unlisten(port);
    if (port->place != NULL)
        rpmi_stream_farewell(port);
    close_fd(&port->bell);
    close_fd(&port->nudge);
    close_fd(&base->control_fd);
    close_fd(&base->engine_fd);
    rpmi_tls_forget(&port->show);
    if (port->buffers != NULL)
        (void)munmap(port->buffers,
                     (size_t)port->places * (RPMI_STREAM_TAKE_BYTES + RPMI_STREAM_OUT_BYTES));
    rpmi_admission_close(&port->admission);
    rpmi_free(port->place);
    rpmi_free(port);
}

/* Buffers are touched by whoever has a guest only; the rest is address space. */
static int make_places(struct rpmi_stream_port *port)
{
    const size_t each = RPMI_STREAM_TAKE_BYTES + RPMI_STREAM_OUT_BYTES;
    void *base;

    port->place = rpmi_alloc(port->places * sizeof(port->place[0]), RPMI_LINE_BYTES);
    if (port->place == NULL || rpmi_admission_open(&port->admission, port->places) != 0)
        return RPM_E_NOMEM;
    base = mmap(NULL, port->places * each, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "no memory for %u guests: %s", port->places, strerror(errno));
    port->buffers = base;
    for (uint32_t i = 0; i < port->places; i++) {
        port->place[i].pipe.fd = -1;
        port->place[i].in = port->buffers + i * each;
        port->place[i].out = port->place[i].in + RPMI_STREAM_TAKE_BYTES;
    }
    return 0;
}

static int make_events(struct rpmi_stream_port *port)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = TAG_NUDGE };

    port->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->port.control_fd = epoll_create1(EPOLL_CLOEXEC);
    port->port.engine_fd = epoll_create1(EPOLL_CLOEXEC);
    if (port->bell < 0 || port->nudge < 0 || port->port.control_fd < 0 ||
        port->port.engine_fd < 0 ||
        epoll_ctl(port->port.engine_fd, EPOLL_CTL_ADD, port->nudge, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot open a port's descriptors: %s", strerror(errno));
    return 0;
}

static int make_tls(struct rpmi_stream_port *port, const struct rpmi_url *url)
{
    struct rpm_server *server = port->port.server;
    const char *asked = rpmi_url_get(url, "tls", "off");

    if (strcmp(asked, "off") == 0)
        return 0;
    if (strcmp(asked, "on") != 0)
        return rpmi_fail(RPM_E_INVAL, "tls=%s: on or off", asked);
    if (server->tls_cert == NULL)
        return rpmi_fail(RPM_E_INVAL, "tls=on takes a certificate and its key");
    server->tls_shown = true;
    return rpmi_tls_show(server->tls_cert, server->tls_key, &port->show);
}

static int stream_open(struct rpm_server *server, const struct rpmi_url *url,
                       struct rpmi_port **port)
{
    struct rpmi_stream_port *fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    int err;

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->port.server = server;
    fresh->port.control_fd = fresh->port.engine_fd = fresh->bell = fresh->nudge = -1;
    fresh->local.listen_fd = fresh->local.lock_fd = -1;
    fresh->places = server->clients_max + RPMI_GREETERS;
    err = rpmi_stream_name_get(url, true, &fresh->name);
    if (err == 0)
        err = make_tls(fresh, url);
    if (err == 0)
        err = make_places(fresh);
    if (err == 0)
        err = make_events(fresh);
    if (err == 0)
        err = rpmi_stream_listen(fresh);
    if (err == 0)
        err = rpmi_stream_watch(fresh);
    if (err != 0) {
        stream_close(&fresh->port);
        return err;
    }
    memcpy(fresh->port.pool, fresh->name.endpoint.pool, sizeof(fresh->port.pool));
    fresh->port.facts = server->facts;
    fresh->port.facts.methods &= ~(1u << RPM_METHOD_STORE);
    *port = &fresh->port;
    return 0;
}

static bool stream_ready(struct rpmi_port *base)
{
    struct rpmi_stream_port *port = rpmi_stream_port_of(base);

    if (port->todo == 0)
        rpmi_stream_look(port);
    return port->todo != 0;
}

/* The sockets, and the control thread's nudge, are in the set that the engine sleeps on. What was
 * nudged before is seen by the look that follows; that look is a real one. */
static bool stream_arm(struct rpmi_port *base)
{
    struct rpmi_stream_port *port = rpmi_stream_port_of(base);
    uint64_t count;

    (void)!read(port->nudge, &count, sizeof(count));
    port->turns = 0;
    return port->held != 0;
}

const struct rpmi_port_ops rpmi_tcp_port = {
    .scheme = "tcp",
    .open = stream_open,
    .turn = rpmi_stream_turn,
    .ready = stream_ready,
    .arm = stream_arm,
    .take = rpmi_stream_take,
    .answer = rpmi_stream_answer,
    .close = stream_close,
};

const struct rpmi_port_ops rpmi_unix_port = {
    .scheme = "unix",
    .open = stream_open,
    .turn = rpmi_stream_turn,
    .ready = stream_ready,
    .arm = stream_arm,
    .take = rpmi_stream_take,
    .answer = rpmi_stream_answer,
    .close = stream_close,
};
