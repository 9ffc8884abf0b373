/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet.h: how a client from another machine is let in, in four messages, before it may do anything
 * else. What travels is a proof that both know the secret, never the secret.
 *
 *   opening    client   version, 16 random bytes          fits private data of a connection request
 *   challenge  server   version, status, 16 random bytes  fits that of its acceptance or refusal
 *   entry      client   wishes, pool, proof               over all that was said so far
 *   welcome    server   hello.h's welcome, proof          over the entry's proof and the welcome,
 *                                                         and what travels beside it
 *
 * Each proof covers the other side's random bytes, so a recorded conversation opens no door; each
 * says who is speaking, so that a proof cannot be sent back to where it came from.
 *
 * Format: FORMAT.md, section 9.   Tests: tests/unit/wire/greet_test.cpp
 */
#ifndef RPMI_GREET_H
#define RPMI_GREET_H

#include "base/mac.h"
#include "wire/hello.h"

#include <librpm/conn.h>
#include <stdint.h>

#define RPMI_OPENING_BYTES 40u
#define RPMI_CHALLENGE_BYTES 32u
#define RPMI_ENTRY_BYTES 192u
#define RPMI_SEALED_BYTES (RPMI_WELCOME_BYTES + RPMI_MAC_BYTES) /* a welcome and its proof */
#define RPMI_BESIDE_BYTES_MAX 64u
#define RPMI_GREET_VERSION 1u

_Static_assert(RPMI_OPENING_BYTES <= 56, "private data of a connection request");
_Static_assert(RPMI_CHALLENGE_BYTES <= 148, "private data of a refusal");

struct rpmi_opening {
    uint32_t version;
    unsigned char nonce[RPMI_NONCE_BYTES];
};

struct rpmi_challenge {
    uint32_t version;
    int32_t status; /* 0, or why the door stays shut */
    unsigned char nonce[RPMI_NONCE_BYTES];
};

struct rpmi_entry {
    uint32_t depth;              /* requests outstanding, wished for */
    uint64_t staging_bytes;      /* wished for */
    char pool[RPM_NAME_MAX + 1]; /* "": whichever the server has */
};

/* What was said so far, as it travelled. */
struct rpmi_talk {
    unsigned char opening[RPMI_OPENING_BYTES];
    unsigned char challenge[RPMI_CHALLENGE_BYTES];
    unsigned char entry[RPMI_ENTRY_BYTES];
    unsigned char beside[RPMI_BESIDE_BYTES_MAX]; /* what travels with the welcome */
    uint32_t beside_bytes;                       /* 0: nothing does */
};

/* Begin a conversation: fill @talk->opening. RPM_E_IO. */
int rpmi_opening_make(struct rpmi_talk *talk);

/* 0, RPM_E_PROTO (not an opening), RPM_E_VERSION (of another version). */
int rpmi_opening_get(const void *bytes, size_t len);

/* Answer: fill @talk->challenge, a refusal if @status is not 0. RPM_E_IO. */
int rpmi_challenge_make(struct rpmi_talk *talk, int status);

/* 0, RPM_E_PROTO, RPM_E_VERSION, or the server's refusal. */
int rpmi_challenge_get(const void *bytes, size_t len);

/* Fill @talk->entry, with its proof. RPM_E_NOMEM. */
int rpmi_entry_make(struct rpmi_talk *talk, const char *secret, const struct rpmi_entry *entry);

/* Judge @talk->entry: 0, RPM_E_PROTO, RPM_E_DENIED (wrong secret), RPM_E_NOMEM. */
int rpmi_entry_get(const struct rpmi_talk *talk, const char *secret, struct rpmi_entry *entry);

/* A welcome with its proof, also of @talk->beside, into @sealed. RPM_E_NOMEM. */
int rpmi_sealed_make(const struct rpmi_talk *talk, const char *secret,
                     const struct rpmi_welcome *welcome, unsigned char sealed[RPMI_SEALED_BYTES]);

/* 0 (then look at the welcome's status), RPM_E_PROTO, RPM_E_VERSION, RPM_E_DENIED: the server does
 * not know the secret, or @talk->beside is not what it sent; a refusal is believed unproven. */
int rpmi_sealed_get(const struct rpmi_talk *talk, const char *secret,
                    const unsigned char sealed[RPMI_SEALED_BYTES], struct rpmi_welcome *welcome);

#endif
