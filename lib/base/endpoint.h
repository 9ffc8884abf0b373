/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h: the address part of a URL that names a machine: //HOST:PORT[/POOL].
 */
#ifndef RPMI_ENDPOINT_H
#define RPMI_ENDPOINT_H

#include <stdint.h>

#define RPMI_HOST_BYTES 256u
#define RPMI_POOL_NAME_BYTES 64u

struct rpmi_endpoint {
    char host[RPMI_HOST_BYTES];      /* a name, or an address; IPv6 without its brackets */
    char port[8];                    /* decimal, 0..65535 */
    char pool[RPMI_POOL_NAME_BYTES]; /* "" if none was named */
};

/* RPM_E_INVAL; the error text names the part that is wrong. */
int rpmi_endpoint_parse(const char *address, struct rpmi_endpoint *endpoint);

#endif
