/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.c: the address of a stream, from a URL. A Unix socket is in the same directory as one of
 * shm:, under another name, so that one server can have both.
 *
 * Tests: tests/unit/transport/stream/name_test.cpp
 */
#include "transport/stream/name.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS_MIN 100
#define TIMEOUT_MS_MAX 3600000

static int timeout_get(const struct rpmi_url *url, uint32_t *timeout_ms)
{
    const char *text = rpmi_url_get(url, "timeout_ms", NULL);
    char *end = NULL;
    long value;

    *timeout_ms = RPMI_STREAM_TIMEOUT_MS;
    if (text == NULL)
        return 0;
    value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < TIMEOUT_MS_MIN || value > TIMEOUT_MS_MAX)
        return rpmi_fail(RPM_E_INVAL, "timeout_ms=%s; it is %d to %d", text, TIMEOUT_MS_MIN,
                         TIMEOUT_MS_MAX);
    *timeout_ms = (uint32_t)value;
    return 0;
}

static int local_get(const char *address, bool serve, struct rpmi_stream_name *name)
{
    char beside[RPMI_SOCK_PATH_BYTES];
    int len;

    if (address[0] == '\0')
        return rpmi_fail(RPM_E_INVAL, "the URL names no server: unix:NAME");
    if (strchr(address, '/') != NULL)
        return rpmi_sock_path(address, serve, name->path, &name->same_user);
    len = snprintf(beside, sizeof(beside), "%s.stream", address);
    if (len < 0 || (size_t)len >= sizeof(beside))
        return rpmi_fail(RPM_E_INVAL,
                         "the name of a socket has %zu bytes, maximum %zu; choose a shorter one",
                         strlen(address), sizeof(beside) - sizeof(".stream"));
    return rpmi_sock_path(beside, serve, name->path, &name->same_user);
}

int rpmi_stream_name_get(const struct rpmi_url *url, bool serve, struct rpmi_stream_name *name)
{
    static const char *const known[] = { "tls", "timeout_ms", RPMI_URL_TAKEN };
    size_t own = serve ? 2 : sizeof(known) / sizeof(known[0]);
    int err;

    memset(name, 0, sizeof(*name));
    name->local = strcmp(url->scheme, "unix") == 0;
    err = rpmi_url_known(url, known + name->local, own - name->local);
    if (err == 0)
        err = timeout_get(url, &name->timeout_ms);
    if (err != 0)
        return err;
    return name->local ? local_get(url->address, serve, name)
                       : rpmi_endpoint_parse(url->address, &name->endpoint);
}
