/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listen.c: the sockets of a stream listener: one of a Unix name, or one for each address of a
 * host.
 *
 * Tests: tests/unit/serve/stream/listener_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 4096 /* a flood fills it; a client that finds it full tries again a second later */

static int listen_failed(const struct rpmi_stream_listener *listener, int err)
{
    const struct rpmi_endpoint *endpoint = &listener->name.endpoint;
    int status = err == EADDRINUSE               ? RPM_E_OWNED
                 : err == EACCES || err == EPERM ? RPM_E_DENIED
                 : err == EADDRNOTAVAIL          ? RPM_E_INVAL
                                                 : RPM_E_IO;

    return rpmi_fail(status, "cannot listen at %s port %s: %s", endpoint->host, endpoint->port,
                     strerror(err));
}

/* Listen at one address. 0, or an errno. */
static int open_listener(const struct addrinfo *at, const struct sockaddr_storage *name, int *fd)
{
    int sock = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    int err = 0;

    if (sock < 0)
        return errno;
    (void)setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (at->ai_family == AF_INET6)
        (void)setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(sock, (const struct sockaddr *)name, at->ai_addrlen) != 0 ||
        listen(sock, BACKLOG) != 0)
        err = errno;
    if (err != 0)
        (void)close(sock);
    else
        *fd = sock;
    return err;
}

static in_port_t *port_of(struct sockaddr_storage *name)
{
    return name->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)name)->sin6_port
                                       : &((struct sockaddr_in *)(void *)name)->sin_port;
}

static bool is_loopback(const struct sockaddr_storage *name)
{
    if (name->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)name)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)name)->sin_addr.s_addr) >> 24 ==
           IN_LOOPBACKNET;
}

/* For port 0 the kernel chooses a port at the first address; the other addresses use the same. */
static int add_socket(struct rpmi_stream_listener *listener, const struct addrinfo *at,
                      in_port_t *chosen)
{
    struct sockaddr_storage name = { 0 };
    socklen_t bytes = sizeof(name);
    int *fd = &listener->listen_fd[listener->listen_fds];
    int err;

    RPM_ASSERT(listener->listen_fds < RPMI_STREAM_SOCKETS);
    RPM_ASSERT(at->ai_addrlen <= sizeof(name));
    memcpy(&name, at->ai_addr, at->ai_addrlen);
    if (*chosen != 0)
        *port_of(&name) = *chosen;
    err = open_listener(at, &name, fd);
    if (err != 0)
        return err;
    listener->listen_fds++;
    if (getsockname(*fd, (struct sockaddr *)&name, &bytes) != 0)
        return errno;
    *chosen = *port_of(&name);
    listener->open_to_all = listener->open_to_all || !is_loopback(&name);
    return 0;
}

static int listen_tcp(struct rpmi_stream_listener *listener)
{
    struct rpmi_endpoint *endpoint = &listener->name.endpoint;
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
                                     .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    const char *host = strcmp(endpoint->host, "*") == 0 ? NULL : endpoint->host;
    struct addrinfo *found = NULL;
    in_port_t chosen = 0;
    int failed = 0;
    int err = getaddrinfo(host, endpoint->port, &wanted, &found);

    if (err != 0)
        return rpmi_fail(RPM_E_INVAL, "no address of '%s' is known: %s", endpoint->host,
                         gai_strerror(err));
    for (const struct addrinfo *at = found;
         at != NULL && listener->listen_fds < RPMI_STREAM_SOCKETS; at = at->ai_next) {
        err = add_socket(listener, at, &chosen);
        if (err != 0)
            failed = err;
    }
    freeaddrinfo(found);
    /* getaddrinfo() lists IPv6 addresses on a host without IPv6 too, so a failure at one address
     * is no error, unless its port is in use. */
    if (listener->listen_fds == 0 || failed == EADDRINUSE)
        return listen_failed(listener, failed);
    (void)snprintf(endpoint->port, sizeof(endpoint->port), "%u", ntohs(chosen));
    return 0;
}

static int listen_unix(struct rpmi_stream_listener *listener)
{
    int err;

    memcpy(listener->local.path, listener->name.path, sizeof(listener->local.path));
    err = rpmi_sock_name_listen(&listener->local, SOCK_STREAM, listener->base.server->socket_mode);
    if (err == 0) {
        RPM_ASSERT(listener->local.taken); /* no other server accepts at this name */
        listener->listen_fd[0] = listener->local.listen_fd;
        listener->listen_fds = 1;
    }
    return err;
}

static bool is_every_address(const char *host)
{
    return strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Link-local addresses are left out: they need the name of an interface at the client. */
static bool is_reachable(const struct ifaddrs *one, int family)
{
    struct sockaddr_storage name = { 0 };

    if (one->ifa_addr == NULL || one->ifa_addr->sa_family != family ||
        (one->ifa_flags & IFF_UP) == 0)
        return false;
    memcpy(&name, one->ifa_addr,
           family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    return !is_loopback(&name) &&
           (family != AF_INET6 ||
            !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)(void *)&name)->sin6_addr));
}

/* An address at which a client finds a server that listens at every address of this machine: of
 * IPv4 if there is one, and of an interface that other machines may reach. */
static void choose_host(char *host, size_t bytes)
{
    static const int families[] = { AF_INET, AF_INET6 };
    struct ifaddrs *all = NULL;
    bool found = false;

    (void)snprintf(host, bytes, "127.0.0.1");
    if (getifaddrs(&all) != 0)
        return;
    for (size_t i = 0; i < 2 && !found; i++)
        for (const struct ifaddrs *one = all; one != NULL && !found; one = one->ifa_next)
            found = is_reachable(one, families[i]) &&
                    getnameinfo(one->ifa_addr,
                                families[i] == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                        : sizeof(struct sockaddr_in),
                                host, (socklen_t)bytes, NULL, 0, NI_NUMERICHOST) == 0;
    freeifaddrs(all);
}

/* Fill in the URL that a client dials. */
static void put_url(struct rpmi_stream_listener *listener)
{
    const struct rpmi_endpoint *endpoint = &listener->name.endpoint;
    char own[INET6_ADDRSTRLEN];
    const char *host = endpoint->host;
    char *url = listener->base.url;
    bool brackets;

    if (is_every_address(host)) {
        choose_host(own, sizeof(own));
        host = own;
    }
    brackets = strchr(host, ':') != NULL;
    if (listener->name.local)
        (void)snprintf(url, RPMI_URL_BYTES_MAX, "unix:%s", listener->local.path);
    else
        (void)snprintf(url, RPMI_URL_BYTES_MAX, "tcp://%s%s%s:%s%s%s", brackets ? "[" : "", host,
                       brackets ? "]" : "", endpoint->port, endpoint->pool[0] != '\0' ? "/" : "",
                       endpoint->pool);
}

int rpmi_stream_listen(struct rpmi_stream_listener *listener)
{
    int err;

    RPM_ASSERT(listener->listen_fds == 0); /* each listener takes its address once */
    err = listener->name.local ? listen_unix(listener) : listen_tcp(listener);
    if (err == 0)
        put_url(listener);
    if (err == 0 && listener->open_to_all && listener->base.server->secret[0] == '\0')
        rpmi_diag(RPM_DIAG_WARNING,
                  "port %s of %s accepts clients from other machines without a secret; set "
                  "rpm_server_opts.secret (rpm-server --secret-file FILE)",
                  listener->name.endpoint.port, listener->name.endpoint.host);
    return err;
}

void rpmi_stream_unlisten(struct rpmi_stream_listener *listener)
{
    if (!listener->name.local)
        for (uint32_t i = 0; i < listener->listen_fds; i++)
            (void)close(listener->listen_fd[i]);
    rpmi_sock_name_drop(&listener->local);
    listener->listen_fds = 0;
}
