/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.c: a hand-written parser of addresses: the grammar is four lines long, and every error can
 * name the byte that is wrong.
 *
 *   url     = scheme ":" first *("," option)
 *   first   = option / address          an option if it holds "="
 *   option  = key "=" value             key of 1 or more bytes; no key twice
 *   scheme  = lower-case letter, then lower-case letters, digits, "+", "-"
 *
 * Tests: tests/unit/base/url_test.cpp, tests/fuzz/text_fuzz.cpp
 */
#include "base/url.h"

#include "base/assert.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_TEXT_BYTES 128

static int check_bytes(const char *text, size_t len);
static size_t scheme_length(const char *text);
static int add_option(struct rpmi_url *url, char *part, char *equals);

int rpmi_url_parse(const char *text, struct rpmi_url *url)
{
    size_t len = strnlen(text, RPMI_URL_BYTES_MAX);
    size_t scheme = scheme_length(text);
    char *part;
    bool first = true;
    int err = check_bytes(text, len);

    if (err != 0)
        return err;
    if (scheme == 0 || text[scheme] != ':')
        return rpmi_fail(RPM_E_INVAL, "URL '%s' does not begin with a scheme and ':'", text);

    memset(url, 0, sizeof(*url));
    memcpy(url->text, text, len);
    url->text[scheme] = '\0';
    url->scheme = url->text;
    url->address = url->text + len; /* the "" at the end, until one is found */

    for (part = url->text + scheme + 1; part != NULL; first = false) {
        char *comma = strchr(part, ',');
        char *equals;

        if (comma != NULL)
            *comma = '\0';
        equals = strchr(part, '=');
        if (first && equals == NULL)
            url->address = part;
        else if ((err = add_option(url, part, equals)) != 0)
            return err;
        part = comma != NULL ? comma + 1 : NULL;
    }
    return 0;
}

const char *rpmi_url_get(const struct rpmi_url *url, const char *key, const char *fallback)
{
    RPM_ASSERT(url->options <= RPMI_URL_OPTIONS_MAX);
    for (uint32_t i = 0; i < url->options; i++)
        if (strcmp(url->key[i], key) == 0)
            return url->value[i];
    return fallback;
}

/* RPM_E_INVAL; the error text lists the known options. */
static int no_option(const struct rpmi_url *url, const char *key, const char *const *known,
                     size_t n)
{
    char list[OPTIONS_TEXT_BYTES] = "none";
    size_t len = 0;

    for (size_t k = 0; k < n && len < sizeof(list); k++)
        len +=
            (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", k > 0 ? ", " : "", known[k]);
    return rpmi_fail(RPM_E_INVAL, "URL: %s: has no option '%s'; its options: %s", url->scheme, key,
                     list);
}

int rpmi_url_known(const struct rpmi_url *url, const char *const *known, size_t n)
{
    RPM_ASSERT(known != NULL || n == 0);
    for (uint32_t i = 0; i < url->options; i++) {
        size_t k = 0;

        while (k < n && strcmp(url->key[i], known[k]) != 0)
            k++;
        if (k == n)
            return no_option(url, url->key[i], known, n);
    }
    return 0;
}

int rpmi_parse_bytes(const char *text, uint64_t *bytes)
{
    const char *at = text;
    uint64_t value = 0;
    unsigned shift = 0;

    RPM_ASSERT(text != NULL && bytes != NULL);
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return rpmi_fail(RPM_E_INVAL, "'%.40s' is too large a number, maximum %llu", text,
                             ULLONG_MAX);
        value = value * 10 + digit;
    }
    if (at == text)
        return rpmi_fail(RPM_E_INVAL, "'%.40s' is not a number", text);
    if (*at == 'K' || *at == 'k')
        shift = 10;
    else if (*at == 'M' || *at == 'm')
        shift = 20;
    else if (*at == 'G' || *at == 'g')
        shift = 30;
    if (shift > 0)
        at++;
    if (*at != '\0')
        return rpmi_fail(RPM_E_INVAL, "'%.40s' is not a number with an optional K, M or G", text);
    if (value > UINT64_MAX >> shift)
        return rpmi_fail(RPM_E_INVAL, "'%.40s' is too large a number, maximum %llu", text,
                         ULLONG_MAX);
    *bytes = value << shift;
    return 0;
}

static int check_bytes(const char *text, size_t len)
{
    if (len >= RPMI_URL_BYTES_MAX)
        return rpmi_fail(RPM_E_INVAL, "URL is longer than %u bytes", RPMI_URL_BYTES_MAX - 1);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return rpmi_fail(RPM_E_INVAL, "URL holds a control byte at position %zu", i);
    return 0;
}

static size_t scheme_length(const char *text)
{
    size_t i = 0;

    while ((text[i] >= 'a' && text[i] <= 'z') ||
           (i > 0 && ((text[i] >= '0' && text[i] <= '9') || text[i] == '+' || text[i] == '-')))
        i++;
    return i;
}

static int add_option(struct rpmi_url *url, char *part, char *equals)
{
    size_t at = (size_t)(part - url->text);

    if (equals == NULL)
        return rpmi_fail(RPM_E_INVAL, "URL: '%s' at position %zu is not key=value", part, at);
    *equals = '\0';
    if (part[0] == '\0')
        return rpmi_fail(RPM_E_INVAL, "URL: option without a name at position %zu", at);
    if (rpmi_url_get(url, part, NULL) != NULL)
        return rpmi_fail(RPM_E_INVAL, "URL: option '%s' is given twice", part);
    if (url->options == RPMI_URL_OPTIONS_MAX)
        return rpmi_fail(RPM_E_INVAL, "URL: more than %u options", RPMI_URL_OPTIONS_MAX);
    url->key[url->options] = part;
    url->value[url->options] = equals + 1;
    url->options++;
    return 0;
}
