/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet.c: the four messages of a greeting.
 *
 * Invariants
 *   magic and version lie at the same place in every version, and are judged first
 *   nothing of an entry is believed before its proof was
 *
 * Format: FORMAT.md, section 9.   Tests: tests/unit/wire/greet_test.cpp
 */
#include "wire/greet.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/field.h"

#include <inttypes.h>
#include <string.h>

#define OPENING_MAGIC 0x4e45504f4d5052ull   /* "RPMOPEN" */
#define CHALLENGE_MAGIC 0x4c4148434d5052ull /* "RPMCHAL" */
#define ENTRY_MAGIC 0x595254454d5052ull     /* "RPMETRY" */

#define AT_VERSION 8
#define AT_STATUS 12 /* of a challenge; zero in an opening */
#define AT_NONCE 16
#define AT_END                                                                                     \
    32 /* of an opening: the magic, inverted. What carries it may pad what was cut short */

#define ENTRY_AT_DEPTH 12
#define ENTRY_AT_STAGING 16
#define ENTRY_AT_POOL 24
#define ENTRY_AT_REST 88
#define ENTRY_AT_MAC 160

#define ERRNO_MAX 4095

_Static_assert(AT_END + 8 == RPMI_OPENING_BYTES, "a mark ends an opening");
_Static_assert(AT_NONCE + RPMI_NONCE_BYTES == RPMI_CHALLENGE_BYTES, "a nonce ends a challenge");
_Static_assert(ENTRY_AT_POOL + RPM_NAME_MAX + 1 == ENTRY_AT_REST, "a pool's name fits");
_Static_assert(ENTRY_AT_MAC + RPMI_MAC_BYTES == RPMI_ENTRY_BYTES, "a proof ends an entry");

static int prefix_get(const unsigned char *from, uint64_t magic, const char *what)
{
    uint32_t version;

    if (rpmi_load64(from) != magic)
        return rpmi_fail(RPM_E_PROTO, "the other side's message is not %s", what);
    version = rpmi_load32(from + AT_VERSION);
    if (version != RPMI_GREET_VERSION)
        return rpmi_fail(RPM_E_VERSION, "the other side greets in version %" PRIu32 ", not %u",
                         version, RPMI_GREET_VERSION);
    return 0;
}

int rpmi_opening_make(struct rpmi_talk *talk)
{
    memset(talk, 0, sizeof(*talk));
    rpmi_store64(talk->opening, OPENING_MAGIC);
    rpmi_store32(talk->opening + AT_VERSION, RPMI_GREET_VERSION);
    rpmi_store64(talk->opening + AT_END, ~OPENING_MAGIC);
    return rpmi_nonce(talk->opening + AT_NONCE);
}

int rpmi_opening_get(const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    int err;

    if (len < RPMI_OPENING_BYTES)
        return rpmi_fail(RPM_E_PROTO, "an opening of %zu bytes", len);
    err = prefix_get(from, OPENING_MAGIC, "an opening");
    if (err == 0 && rpmi_load32(from + AT_STATUS) != 0)
        err = rpmi_fail(RPM_E_PROTO, "an opening with reserved bytes in use");
    if (err == 0 && rpmi_load64(from + AT_END) != ~OPENING_MAGIC)
        err = rpmi_fail(RPM_E_PROTO, "an opening that was cut short");
    return err;
}

int rpmi_challenge_make(struct rpmi_talk *talk, int status)
{
    RPM_ASSERT(status <= 0 && status >= -ERRNO_MAX);
    rpmi_store64(talk->challenge, CHALLENGE_MAGIC);
    rpmi_store32(talk->challenge + AT_VERSION, RPMI_GREET_VERSION);
    rpmi_store32(talk->challenge + AT_STATUS, (uint32_t)status);
    return rpmi_nonce(talk->challenge + AT_NONCE);
}

int rpmi_challenge_get(const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    int32_t status;
    int err;

    if (len < RPMI_CHALLENGE_BYTES)
        return rpmi_fail(RPM_E_PROTO, "a challenge of %zu bytes", len);
    err = prefix_get(from, CHALLENGE_MAGIC, "a challenge");
    if (err != 0)
        return err;
    status = (int32_t)rpmi_load32(from + AT_STATUS);
    if (status > 0 || status < -ERRNO_MAX)
        return rpmi_fail(RPM_E_PROTO, "a challenge with a status out of bounds");
    return status == 0 ? 0 : rpmi_fail(status, "the server refused: %s", rpm_strerror(status));
}

static int entry_mac(const struct rpmi_talk *talk, const char *secret,
                     unsigned char mac[RPMI_MAC_BYTES])
{
    static const char who[] = "librpm client";
    const struct rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { talk->opening, sizeof(talk->opening) },
        { talk->challenge, sizeof(talk->challenge) },
        { talk->entry, ENTRY_AT_MAC },
    };

    return rpmi_mac(secret, chunks, sizeof(chunks) / sizeof(chunks[0]), mac);
}

int rpmi_entry_make(struct rpmi_talk *talk, const char *secret, const struct rpmi_entry *entry)
{
    unsigned char *to = talk->entry;

    memset(to, 0, RPMI_ENTRY_BYTES);
    rpmi_store64(to, ENTRY_MAGIC);
    rpmi_store32(to + AT_VERSION, RPMI_GREET_VERSION);
    rpmi_store32(to + ENTRY_AT_DEPTH, entry->depth);
    rpmi_store64(to + ENTRY_AT_STAGING, entry->staging_bytes);
    rpmi_text_put(to + ENTRY_AT_POOL, sizeof(entry->pool), entry->pool);
    return entry_mac(talk, secret, to + ENTRY_AT_MAC);
}

int rpmi_entry_get(const struct rpmi_talk *talk, const char *secret, struct rpmi_entry *entry)
{
    const unsigned char *from = talk->entry;
    unsigned char mac[RPMI_MAC_BYTES];
    struct rpmi_entry found;
    int err = prefix_get(from, ENTRY_MAGIC, "an entry");

    if (err == 0)
        err = entry_mac(talk, secret, mac);
    if (err != 0)
        return err;
    if (!rpmi_mac_same(mac, from + ENTRY_AT_MAC))
        return rpmi_fail(RPM_E_DENIED, "the secret is not the server's");
    found.depth = rpmi_load32(from + ENTRY_AT_DEPTH);
    found.staging_bytes = rpmi_load64(from + ENTRY_AT_STAGING);
    if (!rpmi_text_get(from + ENTRY_AT_POOL, sizeof(found.pool), found.pool) ||
        !rpmi_all_zero(from + ENTRY_AT_REST, ENTRY_AT_MAC - ENTRY_AT_REST))
        return rpmi_fail(RPM_E_PROTO, "an entry with reserved bytes in use");
    if (found.depth == 0 || found.depth > RPMI_DEPTH_MAX)
        return rpmi_fail(RPM_E_PROTO, "an entry that wishes for depth %" PRIu32, found.depth);
    *entry = found;
    return 0;
}

static int sealed_mac(const struct rpmi_talk *talk, const char *secret, const unsigned char *sealed,
                      unsigned char mac[RPMI_MAC_BYTES])
{
    static const char who[] = "librpm server";
    const struct rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { talk->opening, sizeof(talk->opening) },
        { talk->challenge, sizeof(talk->challenge) },
        { talk->entry, sizeof(talk->entry) },
        { sealed, RPMI_WELCOME_BYTES },
        { talk->beside, talk->beside_bytes },
    };
    size_t n = sizeof(chunks) / sizeof(chunks[0]);

    RPM_ASSERT(talk->beside_bytes <= RPMI_BESIDE_BYTES_MAX);
    if (talk->beside_bytes == 0)
        n--;
    return rpmi_mac(secret, chunks, n, mac);
}

int rpmi_sealed_make(const struct rpmi_talk *talk, const char *secret,
                     const struct rpmi_welcome *welcome, unsigned char sealed[RPMI_SEALED_BYTES])
{
    rpmi_welcome_put(sealed, welcome);
    memset(sealed + RPMI_WELCOME_BYTES, 0, RPMI_MAC_BYTES);
    /* Whoever is refused gets nothing to try secrets on. */
    if (welcome->status != 0)
        return 0;
    return sealed_mac(talk, secret, sealed, sealed + RPMI_WELCOME_BYTES);
}

int rpmi_sealed_get(const struct rpmi_talk *talk, const char *secret,
                    const unsigned char sealed[RPMI_SEALED_BYTES], struct rpmi_welcome *welcome)
{
    unsigned char mac[RPMI_MAC_BYTES];
    int err = rpmi_welcome_get(sealed, RPMI_WELCOME_BYTES, welcome);

    /* Whoever has the wrong secret could not tell a refusal from a lie. */
    if (err != 0 || welcome->status != 0)
        return err;
    err = sealed_mac(talk, secret, sealed, mac);
    if (err != 0)
        return err;
    if (!rpmi_mac_same(mac, sealed + RPMI_WELCOME_BYTES))
        return rpmi_fail(RPM_E_DENIED, "the server does not know the secret");
    return 0;
}
