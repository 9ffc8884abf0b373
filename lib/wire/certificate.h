/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * certificate.h: a server's statement to the writer of a log: the records in [first, end) are whole
 * and at a level. It may reach the writer through a process that the writer does not trust: the
 * server proves it by a key that it made for the writer's claim and sent to the writer alone.
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/certificate_test.cpp
 */
#ifndef RPMI_CERTIFICATE_H
#define RPMI_CERTIFICATE_H

#include <librpm/facts.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPMI_CERTIFICATE_BYTES 64u
#define RPMI_CERTIFICATE_KEY_WORDS 2u
#define RPMI_PROOF_BYTES 16u /* the front of a MAC under that key */

struct rpmi_chunk;  /* base/mac.h */
struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_certificate_layout;

struct rpmi_certificate {
    int32_t status;        /* 0, or why the server states nothing: then the rest is zeros */
    uint32_t level;        /* enum rpm_level */
    uint64_t log_id;       /* as in the log's head */
    uint64_t first_lsn;    /* as the writer asked */
    uint64_t end_lsn;      /* behind the last record of them; first_lsn: there was no whole one */
    uint32_t epoch;        /* of the writer's claim */
    uint32_t server_epoch; /* of the run of the server */
};

/* The MAC of @chunks under a claim's key. The first chunk names the use, as no other use does.
 * RPM_E_NOMEM. */
int rpmi_claim_mac(const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS], const struct rpmi_chunk *chunks,
                   size_t n, unsigned char *mac);

/* Is @proof the front of @mac? Takes the same time if it is not. */
bool rpmi_claim_proves(const unsigned char *mac, const void *proof);

/* Write it with its proof under @key. RPM_E_NOMEM. */
int rpmi_certificate_put(void *bytes, const struct rpmi_certificate *certificate,
                         const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS]);

/* Write one that says only why the server states nothing; it has no proof. */
void rpmi_certificate_refuse(void *bytes, int status);

/* 0, RPM_E_PROTO (no certificate), RPM_E_DENIED (not made under @key), RPM_E_NOMEM, or the
 * status that the server, or any process on the way, gives as its reason. */
int rpmi_certificate_get(const void *bytes, const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS],
                         struct rpmi_certificate *certificate);

#endif
