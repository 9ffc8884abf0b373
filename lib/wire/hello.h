/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello.h: the handshake of shm:. The client's hello has the version, the secret and what the
 * client asks for; the server's accept message has the facts and what the server grants, or a
 * refusal. The accept message also ends the handshake of handshake.h.
 *
 * Format: FORMAT.md, section 6.   Tests: tests/unit/wire/hello_test.cpp
 */
#ifndef RPMI_HELLO_H
#define RPMI_HELLO_H

#include <librpm/facts.h>
#include <stdint.h>

#define RPMI_HELLO_BYTES 256u
#define RPMI_ACCEPT_BYTES 384u
#define RPMI_PROTOCOL_VERSION 3u /* 1: no certificates; 2: no start counter, no claims by epoch */
#define RPMI_SECRET_BYTES 128u
#define RPMI_ACCEPT_TEXT_BYTES 160u

struct rpmi_layout; /* wire/layout.h */

enum rpmi_mode { RPMI_MODE_AUTO = 0, RPMI_MODE_DIRECT = 1, RPMI_MODE_RING = 2 };

struct rpmi_hello {
    uint32_t version;
    uint32_t mode;                  /* enum rpmi_mode asked for */
    uint32_t depth;                 /* ring slots asked for */
    uint64_t staging_bytes;         /* shared payload memory asked for */
    char secret[RPMI_SECRET_BYTES]; /* NUL-terminated, "" for none */
};

struct rpmi_accept {
    uint32_t version;
    int32_t status;         /* 0, or why the client is refused */
    uint32_t mode;          /* granted */
    uint32_t client;        /* id, never 0 */
    uint32_t server_epoch;  /* of this run of the server, never 0 */
    uint32_t depth;         /* granted */
    uint64_t staging_bytes; /* granted */
    uint64_t pool_bytes;
    uint64_t dram_bytes;
    struct rpm_facts facts;
    uint32_t steps; /* bit (1 << enum rpmi_step_kind): the kinds of steps that the server carries
                       out; 0: it says nothing. Bits that a client does not know mean nothing */
    char text[RPMI_ACCEPT_TEXT_BYTES];
};

/* The descriptors that are sent with an accept message, in this order: the liveness page, then by
 * mode. A refusal has none. */
enum {
    RPMI_FD_LIVENESS = 0,
    RPMI_FD_POOL = 1, /* direct */
    RPMI_FD_DRAM = 2,
    RPMI_FD_RING = 1, /* ring */
    RPMI_FD_NOTIFY = 2,
    RPMI_FDS = 3
};

extern const struct rpmi_layout rpmi_hello_layout;
extern const struct rpmi_layout rpmi_accept_layout;

void rpmi_hello_put(void *bytes, const struct rpmi_hello *hello);
void rpmi_accept_put(void *bytes, const struct rpmi_accept *accepted);

/* 0, RPM_E_PROTO (not a hello), RPM_E_VERSION (a hello of another version). */
int rpmi_hello_get(const void *bytes, size_t len, struct rpmi_hello *hello);
int rpmi_accept_get(const void *bytes, size_t len, struct rpmi_accept *accepted);

#endif
