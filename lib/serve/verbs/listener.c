/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener.c: the verbs: listener: listen at an address of an RDMA device, accept connection
 * requests, and the control thread's turn over the sessions.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/endpoint.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BACKLOG 1024 /* the kernel's own limit; beyond it, it refuses clients */
#define TURN_MS 1000 /* with clients: interval of the checks whether their machines answer */

static int no_device(const struct rpmi_endpoint *at)
{
    return rpmi_fail(RPM_E_NOCAP,
                     "no RDMA device has the address %s; rpm-probe --devices lists what there is",
                     at->host);
}

static int bind_failed(const struct rpmi_endpoint *at)
{
    if (errno == EADDRINUSE)
        return rpmi_fail(RPM_E_OWNED,
                         "another server listens at %s:%s; stop it, or choose another port",
                         at->host, at->port);
    if (errno == EACCES || errno == EPERM)
        return rpmi_fail(RPM_E_DENIED,
                         "may not listen at %s:%s (%s); choose another port, or run as root",
                         at->host, at->port, strerror(errno));
    if (errno == ENODEV || errno == EADDRNOTAVAIL)
        return no_device(at);
    return rpmi_fail(RPM_E_IO, "cannot listen at %s:%s: %s", at->host, at->port, strerror(errno));
}

/* The URL by which a client dials this listener, with the port that the kernel chose. */
static void put_url(struct rpmi_verbs_listener *listener, const struct rpmi_endpoint *at)
{
    bool bracket = strchr(at->host, ':') != NULL;

    (void)snprintf(listener->base.url, sizeof(listener->base.url), "verbs://%s%s%s:%u%s%s",
                   bracket ? "[" : "", at->host, bracket ? "]" : "",
                   (unsigned)ntohs(rdma_get_src_port(listener->listen_id)),
                   at->pool[0] != '\0' ? "/" : "", at->pool);
}

static bool is_any(const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;

    return address->sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)
                                          : four->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* For host *: every address of every device, IPv6 and IPv4, or IPv4 alone where IPv6 is off. */
static int bind_all(struct rpmi_verbs_listener *listener, const struct rpmi_endpoint *at)
{
    in_port_t number = htons((uint16_t)strtoul(at->port, NULL, 10));
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = number };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = number };
    int only = 0;

    (void)rdma_set_option(listener->listen_id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only,
                          sizeof(only));
    if (rdma_bind_addr(listener->listen_id, (struct sockaddr *)&six) == 0 ||
        (errno != EADDRINUSE && rdma_bind_addr(listener->listen_id, (struct sockaddr *)&four) == 0))
        return 0;
    return bind_failed(at);
}

static int bind_one(struct rpmi_verbs_listener *listener, const struct rpmi_endpoint *at)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found;
    int err = getaddrinfo(at->host, at->port, &hints, &found);

    if (err != 0)
        return rpmi_fail(RPM_E_INVAL, "%s: %s", at->host, gai_strerror(err));
    if (rdma_bind_addr(listener->listen_id, found->ai_addr) != 0)
        err = bind_failed(at);
    else if (listener->listen_id->verbs == NULL && !is_any(found->ai_addr))
        err = no_device(at); /* the kernel takes some addresses that no device has: 127.0.0.1 */
    freeaddrinfo(found);
    return err;
}

static int listen_at(struct rpmi_verbs_listener *listener, const struct rpmi_endpoint *at)
{
    int err = strcmp(at->host, "*") == 0 ? bind_all(listener, at) : bind_one(listener, at);

    if (err == 0 && rdma_listen(listener->listen_id, BACKLOG) != 0)
        err = bind_failed(at);
    if (err == 0)
        put_url(listener, at);
    return err;
}

static int open_events(struct rpmi_verbs_listener *listener)
{
    struct epoll_event event = { .events = EPOLLIN };
    int flags;

    listener->events = rdma_create_event_channel();
    if (listener->events == NULL)
        return rpmi_fail(RPM_E_NOCAP, "this kernel has no RDMA connection manager: %s",
                         strerror(errno));
    flags = fcntl(listener->events->fd, F_GETFL);
    listener->control_notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->engine_notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->base.control_fd = epoll_create1(EPOLL_CLOEXEC);
    listener->base.engine_fd = epoll_create1(EPOLL_CLOEXEC);
    if (flags < 0 || fcntl(listener->events->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        listener->control_notify_fd < 0 || listener->engine_notify_fd < 0 ||
        listener->base.control_fd < 0 || listener->base.engine_fd < 0 ||
        epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, listener->events->fd, &event) != 0 ||
        epoll_ctl(listener->base.control_fd, EPOLL_CTL_ADD, listener->control_notify_fd, &event) !=
            0 ||
        epoll_ctl(listener->base.engine_fd, EPOLL_CTL_ADD, listener->engine_notify_fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot open a listener's descriptors: %s", strerror(errno));
    if (rdma_create_id(listener->events, &listener->listen_id, NULL, RDMA_PS_TCP) != 0)
        return rpmi_fail(RPM_E_NOMEM, "no connection identifier: %s", strerror(errno));
    return 0;
}

static void listener_close(struct rpmi_listener *base)
{
    struct rpmi_verbs_listener *listener = rpmi_verbs_listener_of(base);

    RPM_ASSERT(rpmi_serve_is_idle(base->server)); /* else the engine polls the queues */
    rpmi_verbs_end_sessions(listener);
    if (listener->listen_id != NULL)
        (void)rdma_destroy_id(listener->listen_id);
    for (uint32_t i = 0; i < listener->nics_n; i++)
        (void)ibv_destroy_comp_channel(listener->nics[i].channel);
    if (listener->events != NULL)
        rdma_destroy_event_channel(listener->events);
    rpmi_fd_close(&listener->control_notify_fd);
    rpmi_fd_close(&listener->engine_notify_fd);
    rpmi_fd_close(&listener->base.control_fd);
    rpmi_fd_close(&listener->base.engine_fd);
    rpmi_admission_close(&listener->admission);
    rpmi_free(listener->sessions);
    rpmi_free(listener);
}

/* For a single address: probe its device now, so that a missing capability is reported when the
 * server starts. For host *, each device is probed when a client connects through it. */
static int probe_device(struct rpmi_verbs_listener *listener)
{
    struct rpmi_serve_nic *nic;

    listener->base.facts = rpm_facts_init();
    if (listener->listen_id->verbs == NULL)
        return 0;
    if (rpmi_serve_nic_of(listener, listener->listen_id->verbs, &nic) != 0)
        return RPM_E_NOCAP;
    listener->base.facts = nic->facts;
    return 0;
}

static int listener_open(struct rpm_server *server, const struct rpmi_url *url,
                         struct rpmi_listener **made)
{
    struct rpmi_verbs_listener *listener = rpmi_alloc(sizeof(*listener), RPMI_LINE_BYTES);
    struct rpmi_endpoint at;
    int err = rpmi_url_known(url, NULL, 0);

    if (listener == NULL)
        return RPM_E_NOMEM;
    listener->control_notify_fd = listener->engine_notify_fd = listener->base.control_fd =
        listener->base.engine_fd = -1;
    listener->base.server = server;
    if (err == 0)
        err = rpmi_endpoint_parse(url->address, &at);
    if (err == 0) {
        (void)snprintf(listener->base.pool, sizeof(listener->base.pool), "%s", at.pool);
        listener->sessions_n = server->clients_max + RPMI_ADMISSION_SPARE;
        listener->sessions =
            rpmi_alloc(listener->sessions_n * sizeof(listener->sessions[0]), RPMI_LINE_BYTES);
        if (listener->sessions == NULL ||
            rpmi_admission_open(&listener->admission, listener->sessions_n) != 0) {
            listener->sessions_n = 0;
            err = RPM_E_NOMEM;
        }
    }
    if (err == 0)
        err = open_events(listener);
    if (err == 0)
        err = listen_at(listener, &at);
    if (err == 0)
        err = probe_device(listener);
    if (err == 0 && server->secret[0] == '\0')
        rpmi_diag(RPM_DIAG_WARNING,
                  "port %s of %s accepts clients from other machines without a secret; set "
                  "rpm_server_opts.secret (rpm-server --secret-file FILE)",
                  at.port, at.host);
    if (err != 0) {
        listener_close(&listener->base);
        return err;
    }
    *made = &listener->base;
    return 0;
}

static void handle_event(struct rpmi_verbs_listener *listener, struct rdma_cm_event *event)
{
    struct rpmi_verbs_session *session =
        event->id != listener->listen_id ? event->id->context : NULL;

    switch (event->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        rpmi_verbs_session_admit(listener, event->id, &event->param.conn);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
    default:
        if (session != NULL)
            __atomic_store_n(&session->gone, 1, __ATOMIC_RELEASE);
        else
            rpmi_diag(RPM_DIAG_WARNING, "unexpected event of a verbs: listener: %s",
                      rdma_event_str(event->event));
        break;
    }
}

/* rdma_destroy_id() waits until every event of the identifier was acknowledged. So the handler of
 * an event only sets gone, and the session is ended later. A refused connection request can be
 * destroyed at once: its event counts for the listening identifier. */
static void handle_events(struct rpmi_verbs_listener *listener)
{
    struct rdma_cm_event *event;

    while (rdma_get_cm_event(listener->events, &event) == 0) {
        handle_event(listener, event);
        (void)rdma_ack_cm_event(event);
    }
}

static bool overdue(const struct rpmi_verbs_session *session)
{
    return rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_HANDSHAKE &&
           rpmi_clock_ns() >= session->handshake_by_ns;
}

static int listener_turn(struct rpmi_listener *base)
{
    struct rpmi_verbs_listener *listener = rpmi_verbs_listener_of(base);
    bool some = false;
    bool more;
    uint64_t count;

    RPM_ASSERT(rpmi_serve_is_control(base->server));
    if (read(listener->control_notify_fd, &count, sizeof(count)) < 0)
        RPM_ASSERT(errno == EAGAIN);
    handle_events(listener);
    more = rpmi_verbs_sessions_retire(listener);
    for (uint32_t i = 0; i < listener->sessions_n; i++) {
        struct rpmi_verbs_session *session = &listener->sessions[i];

        if (rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_FREE)
            continue;
        some = true;
        if (overdue(session)) {
            rpmi_count(&base->server->stats.refused, 1);
            rpmi_verbs_session_leave(listener, session);
        }
        rpmi_verbs_session_probe(session);
        rpmi_verbs_session_serve(listener, session);
    }
    return more ? 0 : some ? TURN_MS : -1;
}

const struct rpmi_listener_ops rpmi_verbs_listener = {
    .scheme = "verbs",
    .open = listener_open,
    .turn = listener_turn,
    .ready = rpmi_messages_ready,
    .arm = rpmi_messages_arm,
    .take = rpmi_messages_take,
    .answer = rpmi_messages_answer,
    .quiesce = rpmi_regions_quiesce,
    .close = listener_close,
};
