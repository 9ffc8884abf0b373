/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mac.c: HMAC-SHA-256 by OpenSSL's libcrypto.
 *
 * Tests: tests/unit/base/mac_test.cpp
 */
#include "base/mac.h"

#include "base/bytes.h"
#include "base/err.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>
#include <sys/random.h>

/* HMAC pads a key with zeros, so an empty key equals a key of zeros: both mean "no secret". */
static int mac_begin(EVP_MAC_CTX *context, const char *secret)
{
    static const unsigned char nothing[1];
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    size_t len = strlen(secret);

    return EVP_MAC_init(context, len != 0 ? (const unsigned char *)secret : nothing,
                        len != 0 ? len : sizeof(nothing), params);
}

static bool mac_add(EVP_MAC_CTX *context, const struct rpmi_chunk *chunk)
{
    unsigned char len[sizeof(uint64_t)];

    rpmi_store64(len, chunk->len);
    return EVP_MAC_update(context, len, sizeof(len)) == 1 &&
           EVP_MAC_update(context, chunk->bytes, chunk->len) == 1;
}

int rpmi_mac(const char *secret, const struct rpmi_chunk *chunks, size_t n,
             unsigned char mac[RPMI_MAC_BYTES])
{
    EVP_MAC *method = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = method != NULL ? EVP_MAC_CTX_new(method) : NULL;
    bool ok = context != NULL && mac_begin(context, secret) == 1;
    size_t len = 0;

    for (size_t i = 0; ok && i < n; i++)
        ok = mac_add(context, &chunks[i]);
    ok = ok && EVP_MAC_final(context, mac, &len, RPMI_MAC_BYTES) == 1 && len == RPMI_MAC_BYTES;
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(method);
    return ok ? 0 : rpmi_fail(RPM_E_NOMEM, "libcrypto could not compute HMAC-SHA-256");
}

bool rpmi_mac_same(const unsigned char *one, const unsigned char *other)
{
    return CRYPTO_memcmp(one, other, RPMI_MAC_BYTES) == 0;
}

int rpmi_nonce(unsigned char nonce[RPMI_NONCE_BYTES])
{
    ssize_t got = getrandom(nonce, RPMI_NONCE_BYTES, 0);

    if (got != (ssize_t)RPMI_NONCE_BYTES)
        return rpmi_fail(RPM_E_IO, "the system gives no random bytes: %s", strerror(errno));
    return 0;
}

void rpmi_mac_thread_end(void)
{
    OPENSSL_thread_stop();
}
