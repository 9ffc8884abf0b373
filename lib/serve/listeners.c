/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listeners.c: the addresses a server listens at: at most one shm: name, and listeners. The list of
 * kinds of listeners is here; a new kind is one line.
 *
 * Tests: tests/unit/serve/listeners_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define BLANKS " \t\n"

extern const struct rpmi_listener_ops rpmi_tcp_listener;
extern const struct rpmi_listener_ops rpmi_unix_listener;
extern const struct rpmi_listener_ops rpmi_verbs_listener;

static const struct rpmi_listener_ops *const kinds[] = {
    &rpmi_tcp_listener,
    &rpmi_unix_listener,
    &rpmi_verbs_listener,
};

static const struct rpmi_listener_ops *find_kind(const char *scheme)
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
    return rpmi_fail(RPM_E_IO, "cannot watch a listener: %s", strerror(errno));
}

static int open_listener(struct rpm_server *server, const struct rpmi_url *url)
{
    const struct rpmi_listener_ops *ops = find_kind(url->scheme);
    struct rpmi_listener *listener = NULL;
    int err;

    if (ops == NULL)
        return rpmi_fail(RPM_E_INVAL, "%s: no server listens there", url->scheme);
    if (server->listeners_n == RPMI_LISTENERS_MAX)
        return rpmi_fail(RPM_E_INVAL, "a server listens at %u addresses at most",
                         RPMI_LISTENERS_MAX);
    err = ops->open(server, url, &listener);
    if (err != 0)
        return err;
    RPM_ASSERT(listener != NULL);
    listener->ops = ops;
    listener->server = server;
    server->listeners[server->listeners_n] = listener;
    err = watch(server->epoll_fd, listener->control_fd, RPMI_TAG_LISTENERS + server->listeners_n);
    server->listeners_n++;
    if (err == 0)
        err = watch(server->engine_epoll_fd, listener->engine_fd, RPMI_TAG_LISTENERS);
    return err;
}

static int open_address(struct rpm_server *server, const char *text)
{
    struct rpmi_url url;
    int err = rpmi_url_parse(text, &url);

    if (err != 0)
        return err;
    return strcmp(url.scheme, "shm") == 0 ? rpmi_serve_listen(server, &url)
                                          : open_listener(server, &url);
}

int rpmi_listeners_open(struct rpm_server *server, const char *list)
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

    if (index >= server->listeners_n + (shm ? 1 : 0))
        return rpmi_fail(RPM_E_RANGE, "the server listens at %u addresses",
                         server->listeners_n + (shm ? 1 : 0));
    if (shm && index == 0)
        len = snprintf(url, bytes, "shm:%s", server->name.path);
    else
        len = snprintf(url, bytes, "%s", server->listeners[index - (shm ? 1 : 0)]->url);
    if (len < 0 || (size_t)len >= bytes)
        return rpmi_fail(RPM_E_TOOBIG, "no room for an address in %zu bytes", bytes);
    return 0;
}

/* Milliseconds until some listener wants a turn, at most @wait_ms. */
int rpmi_listeners_turn(struct rpm_server *server, int wait_ms)
{
    for (uint32_t i = 0; i < server->listeners_n; i++) {
        int wanted = server->listeners[i]->ops->turn(server->listeners[i]);

        if (wanted >= 0 && (wait_ms < 0 || wanted < wait_ms))
            wait_ms = wanted;
    }
    return wait_ms;
}

bool rpmi_listeners_ready(const struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->ready(server->listeners[i]))
            return true;
    return false;
}

bool rpmi_listeners_arm(const struct rpm_server *server)
{
    bool some = false;

    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->arm != NULL &&
            server->listeners[i]->ops->arm(server->listeners[i]))
            some = true;
    return some;
}

void rpmi_listeners_close(struct rpm_server *server)
{
    while (server->listeners_n > 0) {
        struct rpmi_listener *listener = server->listeners[--server->listeners_n];

        listener->ops->close(listener);
    }
}
