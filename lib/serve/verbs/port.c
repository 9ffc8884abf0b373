/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.c: a server's address on RDMA devices: listen, hear of connections, greet, let go.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/endpoint.h"
#include "base/err.h"
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

#define BACKLOG 1024 /* what the kernel allows for; without a place there, a client is refused */
#define TURN_MS 1000 /* with clients: their machines are looked after */

static int no_device(const struct rpmi_endpoint *at)
{
    return rpmi_fail(RPM_E_NOCAP,
                     "no RDMA device has the address %s; rpm-probe --devices lists what there is",
                     at->host);
}

static int bind_failed(const struct rpmi_endpoint *at)
{
    if (errno == EADDRINUSE)
        return rpmi_fail(RPM_E_OWNED, "another server listens at %s:%s", at->host, at->port);
    if (errno == EACCES || errno == EPERM)
        return rpmi_fail(RPM_E_DENIED, "may not listen at %s:%s", at->host, at->port);
    if (errno == ENODEV || errno == EADDRNOTAVAIL)
        return no_device(at);
    return rpmi_fail(RPM_E_IO, "cannot listen at %s:%s: %s", at->host, at->port, strerror(errno));
}

/* As a client dials it, with the port that it became. */
static void put_url(struct rpmi_verbs_port *port, const struct rpmi_endpoint *at)
{
    bool bracket = strchr(at->host, ':') != NULL;

    (void)snprintf(port->port.url, sizeof(port->port.url), "verbs://%s%s%s:%u%s%s",
                   bracket ? "[" : "", at->host, bracket ? "]" : "",
                   (unsigned)ntohs(rdma_get_src_port(port->listener)),
                   at->pool[0] != '\0' ? "/" : "", at->pool);
}

static bool is_any(const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;

    return address->sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)
                                          : four->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Every address of every device: of IPv6 and of IPv4, or of IPv4 where there is nothing else. */
static int bind_all(struct rpmi_verbs_port *port, const struct rpmi_endpoint *at)
{
    in_port_t number = htons((uint16_t)strtoul(at->port, NULL, 10));
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = number };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = number };
    int only = 0;

    (void)rdma_set_option(port->listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only,
                          sizeof(only));
    if (rdma_bind_addr(port->listener, (struct sockaddr *)&six) == 0 ||
        (errno != EADDRINUSE && rdma_bind_addr(port->listener, (struct sockaddr *)&four) == 0))
        return 0;
    return bind_failed(at);
}

static int bind_one(struct rpmi_verbs_port *port, const struct rpmi_endpoint *at)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found;
    int err = getaddrinfo(at->host, at->port, &hints, &found);

    if (err != 0)
        return rpmi_fail(RPM_E_INVAL, "%s: %s", at->host, gai_strerror(err));
    if (rdma_bind_addr(port->listener, found->ai_addr) != 0)
        err = bind_failed(at);
    else if (port->listener->verbs == NULL && !is_any(found->ai_addr))
        err = no_device(at); /* the kernel takes some addresses that no device has: 127.0.0.1 */
    freeaddrinfo(found);
    return err;
}

static int listen_at(struct rpmi_verbs_port *port, const struct rpmi_endpoint *at)
{
    int err = strcmp(at->host, "*") == 0 ? bind_all(port, at) : bind_one(port, at);

    if (err == 0 && rdma_listen(port->listener, BACKLOG) != 0)
        err = bind_failed(at);
    if (err == 0)
        put_url(port, at);
    return err;
}

static int open_events(struct rpmi_verbs_port *port)
{
    struct epoll_event event = { .events = EPOLLIN };
    int flags;

    port->events = rdma_create_event_channel();
    if (port->events == NULL)
        return rpmi_fail(RPM_E_NOCAP, "this kernel has no RDMA connection manager: %s",
                         strerror(errno));
    flags = fcntl(port->events->fd, F_GETFL);
    port->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->engine_kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->port.control_fd = epoll_create1(EPOLL_CLOEXEC);
    port->port.engine_fd = epoll_create1(EPOLL_CLOEXEC);
    if (flags < 0 || fcntl(port->events->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        port->kick_fd < 0 || port->engine_kick_fd < 0 || port->port.control_fd < 0 ||
        port->port.engine_fd < 0 ||
        epoll_ctl(port->port.control_fd, EPOLL_CTL_ADD, port->events->fd, &event) != 0 ||
        epoll_ctl(port->port.control_fd, EPOLL_CTL_ADD, port->kick_fd, &event) != 0 ||
        epoll_ctl(port->port.engine_fd, EPOLL_CTL_ADD, port->engine_kick_fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot open a port's descriptors: %s", strerror(errno));
    if (rdma_create_id(port->events, &port->listener, NULL, RDMA_PS_TCP) != 0)
        return rpmi_fail(RPM_E_NOMEM, "no connection identifier: %s", strerror(errno));
    return 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void port_close(struct rpmi_port *base)
{
    struct rpmi_verbs_port *port = rpmi_verbs_port_of(base);

    rpmi_callers_farewell(port);
    if (port->listener != NULL)
        (void)rdma_destroy_id(port->listener);
    for (uint32_t i = 0; i < port->nics_n; i++)
        (void)ibv_destroy_comp_channel(port->nics[i].channel);
    if (port->events != NULL)
        rdma_destroy_event_channel(port->events);
    close_fd(port->kick_fd);
    close_fd(port->engine_kick_fd);
    close_fd(port->port.control_fd);
    close_fd(port->port.engine_fd);
    rpmi_admission_close(&port->admission);
    rpmi_free(port->callers);
    rpmi_free(port);
}

/* One address: its device is tried out now, so that what it cannot do is known at the start. */
static int try_device(struct rpmi_verbs_port *port)
{
    struct rpmi_serve_nic *nic;

    port->port.facts = rpm_facts_init();
    if (port->listener->verbs == NULL)
        return 0;
    if (rpmi_serve_nic_of(port, port->listener->verbs, &nic) != 0)
        return RPM_E_NOCAP;
    port->port.facts = nic->facts;
    return 0;
}

static int port_open(struct rpm_server *server, const struct rpmi_url *url, struct rpmi_port **made)
{
    struct rpmi_verbs_port *port = rpmi_alloc(sizeof(*port), RPMI_LINE_BYTES);
    struct rpmi_endpoint at;
    int err = rpmi_url_known(url, NULL, 0);

    if (port == NULL)
        return RPM_E_NOMEM;
    port->kick_fd = port->engine_kick_fd = port->port.control_fd = port->port.engine_fd = -1;
    port->port.server = server;
    if (err == 0)
        err = rpmi_endpoint_parse(url->address, &at);
    if (err == 0) {
        (void)snprintf(port->port.pool, sizeof(port->port.pool), "%s", at.pool);
        port->callers_n = server->clients_max + RPMI_GREETERS;
        port->callers = rpmi_alloc(port->callers_n * sizeof(port->callers[0]), RPMI_LINE_BYTES);
        if (port->callers == NULL || rpmi_admission_open(&port->admission, port->callers_n) != 0) {
            port->callers_n = 0;
            err = RPM_E_NOMEM;
        }
    }
    if (err == 0)
        err = open_events(port);
    if (err == 0)
        err = listen_at(port, &at);
    if (err == 0)
        err = try_device(port);
    if (err != 0) {
        port_close(&port->port);
        return err;
    }
    *made = &port->port;
    return 0;
}

static void take_event(struct rpmi_verbs_port *port, struct rdma_cm_event *event)
{
    struct rpmi_caller *caller = event->id != port->listener ? event->id->context : NULL;

    switch (event->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        rpmi_caller_admit(port, event->id, &event->param.conn);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
    default:
        if (caller != NULL)
            __atomic_store_n(&caller->gone, 1, __ATOMIC_RELEASE);
        else
            rpmi_diag(RPM_DIAG_WARNING, "a port heard of %s", rdma_event_str(event->event));
        break;
    }
}

/* An identifier is destroyed only when its events were acknowledged: what they ask for is done
 * after, except for a request, whose private data lies in the event. */
static void take_events(struct rpmi_verbs_port *port)
{
    struct rdma_cm_event *event;

    while (rdma_get_cm_event(port->events, &event) == 0) {
        take_event(port, event);
        (void)rdma_ack_cm_event(event);
    }
}

static bool overdue(const struct rpmi_caller *caller)
{
    return rpmi_caller_state(caller) == RPMI_CALLER_GREETING &&
           rpmi_clock_ns() >= caller->greet_by_ns;
}

static int port_turn(struct rpmi_port *base)
{
    struct rpmi_verbs_port *port = rpmi_verbs_port_of(base);
    bool some = false;
    bool more;
    uint64_t count;

    if (read(port->kick_fd, &count, sizeof(count)) < 0)
        RPM_ASSERT(errno == EAGAIN);
    take_events(port);
    more = rpmi_callers_retire(port);
    for (uint32_t i = 0; i < port->callers_n; i++) {
        struct rpmi_caller *caller = &port->callers[i];

        if (rpmi_caller_state(caller) == RPMI_CALLER_FREE)
            continue;
        some = true;
        if (overdue(caller)) {
            rpmi_count(&base->server->stats.refused, 1);
            rpmi_caller_leave(port, caller);
        }
        rpmi_caller_probe(caller);
        rpmi_caller_serve(port, caller);
    }
    return more ? 0 : some ? TURN_MS : -1;
}

const struct rpmi_port_ops rpmi_verbs_port = {
    .scheme = "verbs",
    .open = port_open,
    .turn = port_turn,
    .ready = rpmi_messages_ready,
    .arm = rpmi_messages_arm,
    .take = rpmi_messages_take,
    .answer = rpmi_messages_answer,
    .quiesce = rpmi_regions_quiesce,
    .close = port_close,
};
