/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports.c: the addresses a server listens at: one shm: name at most, and ports. The list of kinds
 * of ports is here; a new one is one line.
 *
 * Tests: tests/unit/serve/ports_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define BLANKS " \t\n"

extern const struct rpmi_port_ops rpmi_tcp_port;
extern const struct rpmi_port_ops rpmi_unix_port;
extern const struct rpmi_port_ops rpmi_verbs_port;

static const struct rpmi_port_ops *const kinds[] = {
    &rpmi_tcp_port,
    &rpmi_unix_port,
    &rpmi_verbs_port,
};

static const struct rpmi_port_ops *find_kind(const char *scheme)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i]->scheme, scheme) == 0)
            return kinds[i];
    return NULL;
}

static int watch(int epoll_fd, int fd, uint64_t tag)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

    if (fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    return rpmi_fail(RPM_E_IO, "cannot watch a port: %s", strerror(errno));
}

static int open_port(struct rpm_server *server, const struct rpmi_url *url)
{
    const struct rpmi_port_ops *ops = find_kind(url->scheme);
    struct rpmi_port *port = NULL;
    int err;

    if (ops == NULL)
        return rpmi_fail(RPM_E_INVAL, "%s: no server listens there", url->scheme);
    if (server->ports_n == RPMI_PORTS_MAX)
        return rpmi_fail(RPM_E_INVAL, "a server listens at %u addresses at most", RPMI_PORTS_MAX);
    err = ops->open(server, url, &port);
    if (err != 0)
        return err;
    RPM_ASSERT(port != NULL);
    port->ops = ops;
    port->server = server;
    server->ports[server->ports_n] = port;
    err = watch(server->epoll_fd, port->control_fd, RPMI_TAG_PORTS + server->ports_n);
    server->ports_n++;
    if (err == 0)
        err = watch(server->engine_epoll_fd, port->engine_fd, RPMI_TAG_PORTS);
    return err;
}

static int open_address(struct rpm_server *server, const char *text)
{
    struct rpmi_url url;
    int err = rpmi_url_parse(text, &url);

    if (err != 0)
        return err;
    return strcmp(url.scheme, "shm") == 0 ? rpmi_serve_listen(server, &url)
                                          : open_port(server, &url);
}

int rpmi_ports_open(struct rpm_server *server, const char *list)
{
    const char *at = list + strspn(list, BLANKS);
    int err = 0;

    if (*at == '\0')
        return rpmi_fail(RPM_E_INVAL, "a server needs an address to listen at");
    while (*at != '\0' && err == 0) {
        char text[RPMI_URL_BYTES_MAX];
        size_t len = strcspn(at, BLANKS);

        if (len >= sizeof(text))
            return rpmi_fail(RPM_E_INVAL, "URL is longer than %zu bytes", sizeof(text) - 1);
        memcpy(text, at, len);
        text[len] = '\0';
        err = open_address(server, text);
        at += len;
        at += strspn(at, BLANKS);
    }
    return err;
}

int rpm_server_url(const struct rpm_server *server, uint32_t index, char *url, size_t bytes)
{
    rpmi_begin();

    bool shm = server->name.listen_fd >= 0;
    int len;

    if (index >= server->ports_n + (shm ? 1 : 0))
        return rpmi_fail(RPM_E_RANGE, "the server listens at %u addresses",
                         server->ports_n + (shm ? 1 : 0));
    if (shm && index == 0)
        len = snprintf(url, bytes, "shm:%s", server->name.path);
    else
        len = snprintf(url, bytes, "%s", server->ports[index - (shm ? 1 : 0)]->url);
    if (len < 0 || (size_t)len >= bytes)
        return rpmi_fail(RPM_E_TOOBIG, "no room for an address in %zu bytes", bytes);
    return 0;
}

/* Milliseconds until some port wants a turn, at most @wait_ms. */
int rpmi_ports_turn(struct rpm_server *server, int wait_ms)
{
    for (uint32_t i = 0; i < server->ports_n; i++) {
        int wanted = server->ports[i]->ops->turn(server->ports[i]);

        if (wanted >= 0 && (wait_ms < 0 || wanted < wait_ms))
            wait_ms = wanted;
    }
    return wait_ms;
}

bool rpmi_ports_ready(const struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->ports_n; i++)
        if (server->ports[i]->ops->ready(server->ports[i]))
            return true;
    return false;
}

bool rpmi_ports_arm(const struct rpm_server *server)
{
    bool some = false;

    for (uint32_t i = 0; i < server->ports_n; i++)
        if (server->ports[i]->ops->arm != NULL && server->ports[i]->ops->arm(server->ports[i]))
            some = true;
    return some;
}

void rpmi_ports_close(struct rpm_server *server)
{
    while (server->ports_n > 0) {
        struct rpmi_port *port = server->ports[--server->ports_n];

        port->ops->close(port);
    }
}
