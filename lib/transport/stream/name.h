/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.h: the names of streams, as client and server both read them: tcp://HOST:PORT/POOL, and
 * unix:NAME or unix:/path/of/socket.
 */
#ifndef RPMI_STREAM_NAME_H
#define RPMI_STREAM_NAME_H

#include "base/endpoint.h"
#include "base/url.h"
#include "transport/sock_path.h"

#include <stdbool.h>
#include <stdint.h>

#define RPMI_STREAM_TIMEOUT_MS 10000u /* default of timeout_ms, also TCP_USER_TIMEOUT */

struct rpmi_stream_name {
    bool local;     /* unix: */
    bool same_user; /* of a local one: the server must run as this user or as root */
    char path[RPMI_SOCK_PATH_BYTES]; /* of a local one */
    struct rpmi_endpoint endpoint;   /* of any other */
    uint32_t timeout_ms;
};

/* @serve: a server's address to listen at, not a client's to dial. RPM_E_INVAL, RPM_E_DENIED,
 * RPM_E_IO. */
int rpmi_stream_name_get(const struct rpmi_url *url, bool serve, struct rpmi_stream_name *name);

#endif
