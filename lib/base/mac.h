/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mac.h: message authentication codes under a shared secret, and unpredictable random bytes.
 */
#ifndef RPMI_MAC_H
#define RPMI_MAC_H

#include <stdbool.h>
#include <stddef.h>

#define RPMI_MAC_BYTES 32u
#define RPMI_NONCE_BYTES 16u

struct rpmi_chunk {
    const void *bytes;
    size_t len;
};

/*
 * HMAC-SHA-256 under @secret ("" counts as a secret, a public one) over the chunks, each with its
 * length in front, so that no two lists of chunks give the same input. RPM_E_NOMEM: the
 * cryptographic library failed.
 */
int rpmi_mac(const char *secret, const struct rpmi_chunk *chunks, size_t n,
             unsigned char mac[RPMI_MAC_BYTES]);

/* Compare; the time does not depend on where they differ. */
bool rpmi_mac_same(const unsigned char *one, const unsigned char *other);

/* Random bytes that were never used before. RPM_E_IO: the system has none. */
int rpmi_nonce(unsigned char nonce[RPMI_NONCE_BYTES]);

/* Free what libcrypto keeps for the calling thread, when the thread needs no cryptography for now.
 * libcrypto frees only a part of it by itself when a thread ends. */
void rpmi_mac_thread_end(void);

#endif
