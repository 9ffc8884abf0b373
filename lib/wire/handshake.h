/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handshake.h: the handshake over tcp:, unix: and verbs:, four messages before the client may do
 * anything else. Client and server prove that they know the secret; the secret is never sent.
 *
 *   hello      client   version, 16 random bytes          fits private data of a connection request
 *   challenge  server   version, status, 16 random bytes  fits that of its acceptance or refusal
 *   auth       client   what it asks for, pool, proof     over all messages so far
 *   accept     server   hello.h's accept message, proof   over all messages so far, this message,
 *                                                         and the bytes sent beside it
 *
 * Each proof covers the other side's random bytes, so a recorded handshake cannot be replayed; each
 * names its sender's role, so that a proof cannot be sent back to the side that made it.
 *
 * Format: FORMAT.md, section 9.   Tests: tests/unit/wire/handshake_test.cpp
 */
#ifndef RPMI_HANDSHAKE_H
#define RPMI_HANDSHAKE_H

#include "base/assert.h"
#include "base/mac.h"
#include "wire/hello.h"

#include <librpm/conn.h>
#include <stdint.h>

#define RPMI_NET_HELLO_BYTES 40u
#define RPMI_CHALLENGE_BYTES 32u
#define RPMI_AUTH_BYTES 192u
#define RPMI_SEALED_BYTES (RPMI_ACCEPT_BYTES + RPMI_MAC_BYTES) /* an accept message and its proof */
#define RPMI_BESIDE_BYTES_MAX 64u
/* 1: an auth message began "RPMETRY"; 2: no certificates; 3: no start counter, no claims by epoch
 */
#define RPMI_HANDSHAKE_VERSION 4u

_Static_assert(RPMI_NET_HELLO_BYTES <= 56, "private data of a connection request");
_Static_assert(RPMI_CHALLENGE_BYTES <= 148, "private data of a refusal");

struct rpmi_auth {
    uint32_t depth;              /* requests outstanding, asked for */
    uint64_t staging_bytes;      /* asked for */
    char pool[RPM_NAME_MAX + 1]; /* "": the server's only pool */
};

/* The messages of a handshake so far, byte by byte. */
struct rpmi_transcript {
    unsigned char hello[RPMI_NET_HELLO_BYTES];
    unsigned char challenge[RPMI_CHALLENGE_BYTES];
    unsigned char auth[RPMI_AUTH_BYTES];
    unsigned char beside[RPMI_BESIDE_BYTES_MAX]; /* bytes sent with the accept message, which its
                                                    proof covers too */
    uint32_t beside_bytes;                       /* 0: none */
};

extern const struct rpmi_layout rpmi_net_hello_layout;
extern const struct rpmi_layout rpmi_challenge_layout;
extern const struct rpmi_layout rpmi_auth_layout;

/* Begin a handshake: fill @transcript->hello. RPM_E_IO. */
int rpmi_net_hello_make(struct rpmi_transcript *transcript);

/* 0, RPM_E_PROTO (not a hello), RPM_E_VERSION (of another version). */
int rpmi_net_hello_get(const void *bytes, size_t len);

/* Answer: fill @transcript->challenge, a refusal if @status is not 0. RPM_E_IO. */
int rpmi_challenge_make(struct rpmi_transcript *transcript, int status);

/* 0, RPM_E_PROTO, RPM_E_VERSION, or the server's refusal. */
int rpmi_challenge_get(const void *bytes, size_t len);

/* Fill @transcript->auth, with its proof. RPM_E_NOMEM. */
int rpmi_auth_make(struct rpmi_transcript *transcript, const char *secret,
                   const struct rpmi_auth *auth);

/* RPM_E_DENIED, with a text about the secret of a client. @server_has, @given: does the server ask
 * for one, did the client give one? */
int rpmi_secret_denied(bool server_has, bool given);

/* Judge @transcript->auth: 0, RPM_E_PROTO, RPM_E_DENIED (wrong secret), RPM_E_NOMEM. */
int rpmi_auth_get(const struct rpmi_transcript *transcript, const char *secret,
                  struct rpmi_auth *auth);

/* An accept message with its proof, also of @transcript->beside, into @sealed. RPM_E_NOMEM. */
int rpmi_sealed_make(const struct rpmi_transcript *transcript, const char *secret,
                     const struct rpmi_accept *accepted, unsigned char sealed[RPMI_SEALED_BYTES]);

/* 0 (then look at the accept message's status), RPM_E_PROTO, RPM_E_VERSION, RPM_E_DENIED: the
 * server does not know the secret, or @transcript->beside is not what it sent; a refusal carries no
 * proof and is accepted without. */
int rpmi_sealed_get(const struct rpmi_transcript *transcript, const char *secret,
                    const unsigned char sealed[RPMI_SEALED_BYTES], struct rpmi_accept *accepted);

#endif
