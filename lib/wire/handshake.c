/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handshake.c: the four messages of a handshake.
 *
 * Invariants
 *   magic and version have the same offsets in every version, and are checked first
 *   no field of an auth message is used before its proof was verified
 *
 * Format: FORMAT.md, section 9.   Tests: tests/unit/wire/handshake_test.cpp
 */
#include "wire/handshake.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/layout.h"
#include "wire/prefix.h"

#include <inttypes.h>
#include <string.h>

#define NET_HELLO_MAGIC 0x4e45504f4d5052ull /* "RPMOPEN" */
#define CHALLENGE_MAGIC 0x4c4148434d5052ull /* "RPMCHAL" */
#define AUTH_MAGIC 0x485455414d5052ull      /* "RPMAUTH" */

#define AT_NONCE 16
#define AT_END 32 /* of a hello: the magic, inverted; missing if it was cut short and padded */

#define AUTH_AT_MAC 160

_Static_assert(AT_END + 8 == RPMI_NET_HELLO_BYTES, "a mark ends a hello");
_Static_assert(AT_NONCE + RPMI_NONCE_BYTES == RPMI_CHALLENGE_BYTES, "a nonce ends a challenge");
_Static_assert(AUTH_AT_MAC + RPMI_MAC_BYTES == RPMI_AUTH_BYTES, "a proof ends an auth message");

static const struct rpmi_field NET_HELLO_FIELDS[] = {
    RPMI_PREFIX_FIELDS,
    RPMI_OWN(AT_NONCE, RPMI_NONCE_BYTES, "random"),
    RPMI_OWN(AT_END, 8, "end"),
};

struct challenge {
    int32_t status;
};

static const struct rpmi_field CHALLENGE_FIELDS[] = {
    RPMI_PREFIX_FIELDS,
    RPMI_NUMBER(12, struct challenge, status),
    RPMI_OWN(AT_NONCE, RPMI_NONCE_BYTES, "random"),
};

static const struct rpmi_field AUTH_FIELDS[] = {
    RPMI_PREFIX_FIELDS,
    RPMI_NUMBER(12, struct rpmi_auth, depth),
    RPMI_NUMBER(16, struct rpmi_auth, staging_bytes),
    RPMI_TEXT(24, struct rpmi_auth, pool),
    RPMI_OWN(AUTH_AT_MAC, RPMI_MAC_BYTES, "proof"),
};

const struct rpmi_layout rpmi_net_hello_layout =
    RPMI_LAYOUT("net hello", NET_HELLO_FIELDS, RPMI_NET_HELLO_BYTES);
const struct rpmi_layout rpmi_challenge_layout =
    RPMI_LAYOUT("challenge", CHALLENGE_FIELDS, RPMI_CHALLENGE_BYTES);
const struct rpmi_layout rpmi_auth_layout = RPMI_LAYOUT("auth", AUTH_FIELDS, RPMI_AUTH_BYTES);

static const struct rpmi_prefix NET_HELLO = { NET_HELLO_MAGIC, RPMI_HANDSHAKE_VERSION, "a hello",
                                              "handshake" };
static const struct rpmi_prefix CHALLENGE = { CHALLENGE_MAGIC, RPMI_HANDSHAKE_VERSION,
                                              "a challenge", "handshake" };
static const struct rpmi_prefix AUTH = { AUTH_MAGIC, RPMI_HANDSHAKE_VERSION, "an auth message",
                                         "handshake" };

int rpmi_net_hello_make(struct rpmi_transcript *transcript)
{
    memset(transcript, 0, sizeof(*transcript));
    rpmi_layout_put(&rpmi_net_hello_layout, transcript->hello, NULL); /* each field is OWN */
    rpmi_prefix_put(&NET_HELLO, transcript->hello);
    rpmi_store64(transcript->hello + AT_END, ~NET_HELLO_MAGIC);
    return rpmi_nonce(transcript->hello + AT_NONCE);
}

int rpmi_net_hello_get(const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    int err;

    if (len < RPMI_NET_HELLO_BYTES)
        return rpmi_fail(RPM_E_PROTO, "a hello of %zu bytes, expected are %u", len,
                         RPMI_NET_HELLO_BYTES);
    err = rpmi_prefix_check(&NET_HELLO, from, len);
    if (err == 0 && !rpmi_layout_is_clean(&rpmi_net_hello_layout, from))
        err = rpmi_fail(RPM_E_PROTO, "a hello with reserved bytes in use");
    if (err == 0 && rpmi_load64(from + AT_END) != ~NET_HELLO_MAGIC)
        err = rpmi_fail(RPM_E_PROTO, "a hello that was cut short");
    return err;
}

int rpmi_challenge_make(struct rpmi_transcript *transcript, int status)
{
    const struct challenge challenge = { .status = status };

    RPM_ASSERT(status <= 0 && status >= -RPMI_ERRNO_MAX);
    rpmi_layout_put(&rpmi_challenge_layout, transcript->challenge, &challenge);
    rpmi_prefix_put(&CHALLENGE, transcript->challenge);
    return rpmi_nonce(transcript->challenge + AT_NONCE);
}

int rpmi_challenge_get(const void *bytes, size_t len)
{
    struct challenge found;
    const char *wrong;
    int err;

    if (len < RPMI_CHALLENGE_BYTES)
        return rpmi_fail(RPM_E_PROTO, "a challenge of %zu bytes, expected are %u", len,
                         RPMI_CHALLENGE_BYTES);
    err = rpmi_prefix_check(&CHALLENGE, bytes, len);
    if (err != 0)
        return err;
    wrong = rpmi_layout_get(&rpmi_challenge_layout, bytes, &found);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "a challenge with %s", wrong);
    if (found.status > 0 || found.status < -RPMI_ERRNO_MAX)
        return rpmi_fail(RPM_E_PROTO, "a challenge with status %d, expected is %d to 0",
                         found.status, -RPMI_ERRNO_MAX);
    return found.status == 0
               ? 0
               : rpmi_fail(found.status, "the server refused: %s", rpm_strerror(found.status));
}

static int auth_mac(const struct rpmi_transcript *transcript, const char *secret,
                    unsigned char mac[RPMI_MAC_BYTES])
{
    static const char who[] = "librpm client";
    const struct rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { transcript->hello, sizeof(transcript->hello) },
        { transcript->challenge, sizeof(transcript->challenge) },
        { transcript->auth, AUTH_AT_MAC },
    };

    return rpmi_mac(secret, chunks, sizeof(chunks) / sizeof(chunks[0]), mac);
}

int rpmi_auth_make(struct rpmi_transcript *transcript, const char *secret,
                   const struct rpmi_auth *auth)
{
    unsigned char *to = transcript->auth;

    rpmi_layout_put(&rpmi_auth_layout, to, auth);
    rpmi_prefix_put(&AUTH, to);
    return auth_mac(transcript, secret, to + AUTH_AT_MAC);
}

int rpmi_secret_denied(bool server_has, bool given)
{
    RPM_ASSERT(server_has || given); /* otherwise they are equal */
    return rpmi_fail(RPM_E_DENIED,
                     !server_has ? "the server takes no secret: leave out --secret-file (of the "
                                   "library: rpm_conn_opts.secret)"
                     : given     ? "the secret is not the server's: name the file with that one by "
                                   "--secret-file (of the library: rpm_conn_opts.secret)"
                                 : "no secret was given, and the server asks for one: name its "
                                   "file by --secret-file (of the library: rpm_conn_opts.secret)");
}

int rpmi_auth_get(const struct rpmi_transcript *transcript, const char *secret,
                  struct rpmi_auth *auth)
{
    const unsigned char *from = transcript->auth;
    unsigned char mac[RPMI_MAC_BYTES];
    struct rpmi_auth found;
    const char *wrong;
    int err = rpmi_prefix_check(&AUTH, from, RPMI_AUTH_BYTES);

    if (err == 0)
        err = auth_mac(transcript, secret, mac);
    if (err != 0)
        return err;
    if (!rpmi_mac_same(mac, from + AUTH_AT_MAC)) {
        err = auth_mac(transcript, "", mac);
        return err != 0
                   ? err
                   : rpmi_secret_denied(secret[0] != '\0', !rpmi_mac_same(mac, from + AUTH_AT_MAC));
    }
    wrong = rpmi_layout_get(&rpmi_auth_layout, from, &found);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "an auth message with %s", wrong);
    if (found.depth == 0 || found.depth > RPMI_DEPTH_MAX)
        return rpmi_fail(RPM_E_PROTO,
                         "an auth message asks for depth %" PRIu32 ", expected is 1 to %u",
                         found.depth, RPMI_DEPTH_MAX);
    *auth = found;
    return 0;
}

static int sealed_mac(const struct rpmi_transcript *transcript, const char *secret,
                      const unsigned char *sealed, unsigned char mac[RPMI_MAC_BYTES])
{
    static const char who[] = "librpm server";
    const struct rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { transcript->hello, sizeof(transcript->hello) },
        { transcript->challenge, sizeof(transcript->challenge) },
        { transcript->auth, sizeof(transcript->auth) },
        { sealed, RPMI_ACCEPT_BYTES },
        { transcript->beside, transcript->beside_bytes },
    };
    size_t n = sizeof(chunks) / sizeof(chunks[0]);

    RPM_ASSERT(transcript->beside_bytes <= RPMI_BESIDE_BYTES_MAX);
    if (transcript->beside_bytes == 0)
        n--;
    return rpmi_mac(secret, chunks, n, mac);
}

int rpmi_sealed_make(const struct rpmi_transcript *transcript, const char *secret,
                     const struct rpmi_accept *accepted, unsigned char sealed[RPMI_SEALED_BYTES])
{
    rpmi_accept_put(sealed, accepted);
    memset(sealed + RPMI_ACCEPT_BYTES, 0, RPMI_MAC_BYTES);
    /* A refused client gets no proof: it could test guesses of the secret on a proof. */
    if (accepted->status != 0)
        return 0;
    return sealed_mac(transcript, secret, sealed, sealed + RPMI_ACCEPT_BYTES);
}

int rpmi_sealed_get(const struct rpmi_transcript *transcript, const char *secret,
                    const unsigned char sealed[RPMI_SEALED_BYTES], struct rpmi_accept *accepted)
{
    unsigned char mac[RPMI_MAC_BYTES];
    int err = rpmi_accept_get(sealed, RPMI_ACCEPT_BYTES, accepted);

    /* Refusals are unauthenticated. */
    if (err != 0 || accepted->status != 0)
        return err;
    err = sealed_mac(transcript, secret, sealed, mac);
    if (err != 0)
        return err;
    if (!rpmi_mac_same(mac, sealed + RPMI_ACCEPT_BYTES))
        return rpmi_fail(RPM_E_DENIED, "the server does not know the secret of this client: check "
                                       "the address, and the secret of both sides");
    return 0;
}
