/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.h: the parts of an address "scheme:address,key=value,...".
 */
#ifndef RPMI_URL_H
#define RPMI_URL_H

#include <stddef.h>
#include <stdint.h>

#define RPMI_URL_BYTES_MAX 512u
#define RPMI_URL_OPTIONS_MAX 16u

/* Options of a URL to connect to that rpmi_link_open() takes out before a provider gets it. A
 * provider has them among its known ones, for the error text. */
#define RPMI_URL_TAKEN "agent", "carry", "calibration"

struct rpmi_url {
    char text[RPMI_URL_BYTES_MAX]; /* backing store of the strings below */
    const char *scheme;
    const char *address; /* may be "" */
    uint32_t options;
    const char *key[RPMI_URL_OPTIONS_MAX];
    const char *value[RPMI_URL_OPTIONS_MAX];
};

/* RPM_E_INVAL; the error text says what is wrong at which byte. A first part "key=value" is an
 * option, and the address is then "". @url holds pointers into itself: never copy it. On an error
 * its contents are undefined. */
int rpmi_url_parse(const char *text, struct rpmi_url *url);

/* The value of an option, or @fallback. */
const char *rpmi_url_get(const struct rpmi_url *url, const char *key, const char *fallback);

/* RPM_E_INVAL if there is an option that is not among the @n known ones. */
int rpmi_url_known(const struct rpmi_url *url, const char *const *known, size_t n);

/* A number with optional suffix K, M, G (powers of 1024). RPM_E_INVAL. */
int rpmi_parse_bytes(const char *text, uint64_t *bytes);

#endif
