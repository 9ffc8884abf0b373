/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listeners.c: the addresses that a server listens at, in the order of rpm_server_url(): shm:
 * first. The list of kinds of listeners is here; a new kind is one line.
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

static const struct rpmi_listener_ops *const kinds[] = {
    &rpmi_shm_listener,
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

static int watch(int epoll_fd, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    return rpmi_fail(RPM_E_IO, "cannot watch a listener: %s", strerror(errno));
}

static void add(struct rpm_server *server, struct rpmi_listener *listener)
{
    uint32_t at = listener->ops == &rpmi_shm_listener ? 0 : server->listeners_n;

    RPM_ASSERT(server->listeners_n < RPMI_LISTENERS_MAX);
    RPM_ASSERT(rpmi_serve_is_idle(server)); /* the loops walk the list without a lock */
    memmove(&server->listeners[at + 1], &server->listeners[at],
            (server->listeners_n - at) * sizeof(server->listeners[0]));
    server->listeners[at] = listener;
    server->listeners_n++;
    if (!listener->ops->in_memory)
        server->polls_sockets = true;
}

static int open_listener(struct rpm_server *server, const struct rpmi_url *url)
{
    const struct rpmi_listener_ops *ops = find_kind(url->scheme);
    struct rpmi_listener *listener = NULL;
    int err;

    if (ops == NULL)
        return rpmi_fail(
            RPM_E_INVAL,
            "a server cannot listen at %s: addresses; it can at shm:, unix:, tcp:// and verbs://",
            url->scheme);
    if (server->listeners_n == RPMI_LISTENERS_MAX)
        return rpmi_fail(RPM_E_INVAL, "a server listens at %u addresses at most",
                         RPMI_LISTENERS_MAX);
    err = ops->open(server, url, &listener);
    if (err != 0)
        return err;
    RPM_ASSERT(listener != NULL);
    RPM_ASSERT(listener->url[0] != '\0' && listener->control_fd >= 0);
    listener->ops = ops;
    listener->server = server;
    add(server, listener);
    err = watch(server->epoll_fd, listener->control_fd);
    if (err == 0)
        err = watch(server->engine_epoll_fd, listener->engine_fd);
    return err;
}

static int open_address(struct rpm_server *server, const char *text)
{
    struct rpmi_url url;
    int err = rpmi_url_parse(text, &url);

    return err != 0 ? err : open_listener(server, &url);
}

int rpmi_listeners_open(struct rpm_server *server, const char *list)
{
    const char *at = list + strspn(list, BLANKS);
    int err = 0;

    RPM_ASSERT(server->service == NULL); /* a pool is formatted only once every name is taken */
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

    int len;

    if (index >= server->listeners_n)
        return rpmi_fail(RPM_E_RANGE, "the server listens at %u addresses: there is no index %u",
                         server->listeners_n, index);
    len = snprintf(url, bytes, "%s", server->listeners[index]->url);
    if (len < 0 || (size_t)len >= bytes)
        return rpmi_fail(RPM_E_TOOBIG,
                         "a URL of %d bytes and a zero byte does not fit into %zu bytes", len,
                         bytes);
    return 0;
}

void rpmi_listeners_begin(struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->begin != NULL)
            server->listeners[i]->ops->begin(server->listeners[i]);
}

/* Milliseconds until a listener's next turn must come, -1: no limit. */
int rpmi_listeners_turn(struct rpm_server *server)
{
    int wait_ms = -1;

    RPM_ASSERT(rpmi_serve_is_control(server));
    for (uint32_t i = 0; i < server->listeners_n; i++) {
        int wanted = server->listeners[i]->ops->turn(server->listeners[i]);

        if (wanted >= 0 && (wait_ms < 0 || wanted < wait_ms))
            wait_ms = wanted;
    }
    return wait_ms;
}

void rpmi_listeners_end(struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->end != NULL)
            server->listeners[i]->ops->end(server->listeners[i]);
}

int rpmi_listeners_quiesce(struct rpm_server *server, uint64_t header_offset)
{
    int err = 0;

    RPM_ASSERT(rpmi_serve_has_lock(server)); /* else a new key could be granted meanwhile */
    for (uint32_t i = 0; i < server->listeners_n && err == 0; i++)
        if (server->listeners[i]->ops->quiesce != NULL)
            err = server->listeners[i]->ops->quiesce(server->listeners[i], header_offset);
    return err;
}

bool rpmi_listeners_kill_writer(struct rpm_server *server, uint64_t header_offset, uint32_t slot)
{
    RPM_ASSERT((server->flags & RPM_SERVER_FENCE_KILL) != 0); /* no process is killed unasked */
    RPM_ASSERT(rpmi_serve_has_lock(server)); /* the slot is still that of the fenced writer */
    for (uint32_t i = 0; i < server->listeners_n; i++) {
        struct rpmi_listener *listener = server->listeners[i];

        if (listener->ops->kill_writer != NULL &&
            listener->ops->kill_writer(listener, header_offset, slot))
            return true;
    }
    return false;
}

void rpmi_listeners_engine_begin(struct rpm_server *server, uint32_t cpu)
{
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->engine_begin != NULL)
            server->listeners[i]->ops->engine_begin(server->listeners[i], cpu);
}

bool rpmi_listeners_may_spin(const struct rpm_server *server, uint32_t cpu)
{
    for (uint32_t i = 0; i < server->listeners_n && cpu != 0; i++) {
        struct rpmi_listener *listener = server->listeners[i];

        if (listener->ops->may_spin == NULL || listener->ops->may_spin(listener, cpu))
            return true;
    }
    return cpu == 0;
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
    bool waiting = false;

    RPM_ASSERT(rpmi_serve_is_engine(server)); /* arm() consumes the events that wake the engine */
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->arm != NULL &&
            server->listeners[i]->ops->arm(server->listeners[i]))
            waiting = true;
    return waiting;
}

void rpmi_listeners_disarm(const struct rpm_server *server)
{
    for (uint32_t i = 0; i < server->listeners_n; i++)
        if (server->listeners[i]->ops->disarm != NULL)
            server->listeners[i]->ops->disarm(server->listeners[i]);
}

void rpmi_listeners_close(struct rpm_server *server)
{
    while (server->listeners_n > 0) {
        struct rpmi_listener *listener = server->listeners[--server->listeners_n];

        listener->ops->close(listener);
    }
}
