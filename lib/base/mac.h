/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mac.h: proof that whoever wrote some bytes knows a secret, and random bytes nobody can guess.
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
 * HMAC-SHA-256 under @secret ("" is a secret too, that everybody knows) over the chunks, each with
 * its length in front, so that no two lists of chunks look alike. RPM_E_NOMEM: the cryptographic
 * library failed.
 */
int rpmi_mac(const char *secret, const struct rpmi_chunk *chunks, size_t n,
             unsigned char mac[RPMI_MAC_BYTES]);

/* Takes the same time wherever they differ. */
bool rpmi_mac_same(const unsigned char *one, const unsigned char *other);

/* Random bytes that were never used before. RPM_E_IO: the system has none. */
int rpmi_nonce(unsigned char nonce[RPMI_NONCE_BYTES]);

/* The calling thread is done with cryptography for now: what libcrypto keeps for it is freed. It
 * does that by itself when a thread ends, but not all of it. */
void rpmi_mac_thread_end(void);

#endif
