/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.c: parse //HOST:PORT[/POOL]. The transport looks the host up later, when it connects.
 *
 * Tests: tests/unit/base/endpoint_test.cpp
 */
#include "base/endpoint.h"

#include "base/err.h"

#include <stddef.h>
#include <string.h>

static int take(char *to, size_t room, const char *from, size_t len, const char *what)
{
    if (len == 0)
        return rpmi_fail(RPM_E_INVAL, "the URL names no %s: //HOST:PORT[/POOL]", what);
    if (len >= room)
        return rpmi_fail(RPM_E_INVAL, "the URL's %s has %zu bytes, maximum %zu", what, len,
                         room - 1);
    memcpy(to, from, len);
    to[len] = '\0';
    return 0;
}

/* Take the host, which ends behind the bracket of an IPv6 address, or at the colon. */
static int take_host(const char **at, struct rpmi_endpoint *endpoint)
{
    const char *from = *at;
    size_t len = strcspn(from, ":/");
    int err;

    if (*from != '[') {
        *at = from + len;
        return take(endpoint->host, sizeof(endpoint->host), from, len, "host");
    }
    len = strcspn(from, "]");
    if (from[len] == '\0')
        return rpmi_fail(RPM_E_INVAL,
                         "'%.40s' lacks the bracket that closes the host: [ADDRESS]:PORT", from);
    err = take(endpoint->host, sizeof(endpoint->host), from + 1, len - 1, "host");
    *at = from + len + 1;
    return err;
}

static int take_port(const char **at, struct rpmi_endpoint *endpoint)
{
    const char *from = *at;
    uint32_t value = 0;
    size_t len;
    int err;

    if (*from != ':')
        return rpmi_fail(RPM_E_INVAL, "the URL names no port: //HOST:PORT[/POOL]");
    from++;
    len = strspn(from, "0123456789");
    err = take(endpoint->port, sizeof(endpoint->port), from, len, "port");
    if (err != 0)
        return err;
    for (size_t i = 0; i < len; i++)
        value = value * 10 + (uint32_t)(from[i] - '0');
    if (value > 65535)
        return rpmi_fail(RPM_E_INVAL, "port %s is not in 0..65535", endpoint->port);
    *at = from + len;
    return 0;
}

int rpmi_endpoint_parse(const char *address, struct rpmi_endpoint *endpoint)
{
    const char *at = address + 2;
    int err;

    memset(endpoint, 0, sizeof(*endpoint));
    if (strncmp(address, "//", 2) != 0)
        return rpmi_fail(RPM_E_INVAL, "an address looks like //HOST:PORT[/POOL], not '%.40s'",
                         address);
    err = take_host(&at, endpoint);
    if (err == 0)
        err = take_port(&at, endpoint);
    if (err != 0 || *at == '\0' || strcmp(at, "/") == 0)
        return err;
    if (*at != '/')
        return rpmi_fail(RPM_E_INVAL,
                         "'%.40s' follows the URL's port; expected is /POOL or nothing", at);
    return take(endpoint->pool, sizeof(endpoint->pool), at + 1, strlen(at + 1), "pool");
}
