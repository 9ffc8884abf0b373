/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * certificate.c: encode and decode certificates, with their proofs.
 *
 * Invariant: a proof is made of, and compared with, bytes in private memory: the other side may be
 * able to change the certificate meanwhile, as over shared memory.
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/certificate_test.cpp
 */
#include "wire/certificate.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mac.h"
#include "wire/layout.h"

#include <inttypes.h>
#include <stdio.h>

#define AT_PROOF 48u

_Static_assert(AT_PROOF + RPMI_PROOF_BYTES == RPMI_CERTIFICATE_BYTES, "the proof ends it");
_Static_assert(RPMI_PROOF_BYTES <= RPMI_MAC_BYTES, "the front of a MAC");

static const struct rpmi_field CERTIFICATE_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_certificate, status),
    RPMI_NUMBER(4, struct rpmi_certificate, level),
    RPMI_NUMBER(8, struct rpmi_certificate, log_id),
    RPMI_NUMBER(16, struct rpmi_certificate, first_lsn),
    RPMI_NUMBER(24, struct rpmi_certificate, end_lsn),
    RPMI_NUMBER(32, struct rpmi_certificate, epoch),
    RPMI_NUMBER(36, struct rpmi_certificate, server_epoch),
    RPMI_OWN(AT_PROOF, RPMI_PROOF_BYTES, "proof"),
};

const struct rpmi_layout rpmi_certificate_layout =
    RPMI_LAYOUT("certificate", CERTIFICATE_FIELDS, RPMI_CERTIFICATE_BYTES);

/* rpmi_mac() takes a text as the key. */
int rpmi_claim_mac(const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS], const struct rpmi_chunk *chunks,
                   size_t n, unsigned char *mac)
{
    char text[2 * RPMI_CERTIFICATE_KEY_WORDS * sizeof(uint64_t) + 1];

    (void)snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, key[0], key[1]);
    return rpmi_mac(text, chunks, n, mac);
}

bool rpmi_claim_proves(const unsigned char *mac, const void *proof)
{
    unsigned char given[RPMI_MAC_BYTES];

    memcpy(given, mac, sizeof(given)); /* compared in front only */
    memcpy(given, proof, RPMI_PROOF_BYTES);
    return rpmi_mac_same(mac, given);
}

/* The proof of the bytes in front of it. */
static int prove(const unsigned char *bytes, const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS],
                 unsigned char mac[RPMI_MAC_BYTES])
{
    static const char role[] = "certificate";
    const struct rpmi_chunk chunks[] = { { role, sizeof(role) }, { bytes, AT_PROOF } };

    return rpmi_claim_mac(key, chunks, sizeof(chunks) / sizeof(chunks[0]), mac);
}

int rpmi_certificate_put(void *bytes, const struct rpmi_certificate *certificate,
                         const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS])
{
    unsigned char own[RPMI_CERTIFICATE_BYTES];
    unsigned char mac[RPMI_MAC_BYTES];
    int err;

    RPM_ASSERT(certificate->status == 0 && certificate->first_lsn <= certificate->end_lsn);
    RPM_ASSERT(certificate->epoch != 0 && certificate->server_epoch != 0);
    rpmi_layout_put(&rpmi_certificate_layout, own, certificate);
    err = prove(own, key, mac);
    if (err != 0)
        return err;
    memcpy(own + AT_PROOF, mac, RPMI_PROOF_BYTES);
    memcpy(bytes, own, sizeof(own));
    return 0;
}

void rpmi_certificate_refuse(void *bytes, int status)
{
    const struct rpmi_certificate refusal = { .status = status };

    RPM_ASSERT(status < 0 && status >= -RPMI_ERRNO_MAX);
    rpmi_layout_put(&rpmi_certificate_layout, bytes, &refusal);
}

int rpmi_certificate_get(const void *bytes, const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS],
                         struct rpmi_certificate *certificate)
{
    unsigned char from[RPMI_CERTIFICATE_BYTES];
    struct rpmi_certificate found;
    const char *wrong;
    unsigned char mac[RPMI_MAC_BYTES];
    int err;

    memcpy(from, bytes, sizeof(from));
    /* Keeps the compiler from reading the shared original again instead of the copy. */
    __asm__ volatile("" : "+m"(from));
    wrong = rpmi_layout_get(&rpmi_certificate_layout, from, &found);
    if (wrong != NULL || found.status > 0 || found.status < -RPMI_ERRNO_MAX)
        return rpmi_fail(RPM_E_PROTO, "no certificate: %s", wrong != NULL ? wrong : "its status");
    if (found.status != 0)
        return rpmi_fail(found.status, "the server certifies nothing: %s",
                         rpm_strerror(found.status));
    err = prove(from, key, mac);
    if (err != 0)
        return err;
    if (!RPMI_CANARY(CERTIFICATE_UNCHECKED) && !RPMI_CANARY(COPIED_DURABLE) &&
        !rpmi_claim_proves(mac, from + AT_PROOF))
        return rpmi_fail(RPM_E_DENIED,
                         "a certificate whose proof is wrong: the server did not make it for this "
                         "writer's claim; check which server the agent is connected to");
    if (found.first_lsn > found.end_lsn || found.epoch == 0 || found.server_epoch == 0)
        return rpmi_fail(RPM_E_PROTO,
                         "a certificate for LSNs %" PRIu64 " to %" PRIu64 " of epoch %" PRIu32,
                         found.first_lsn, found.end_lsn, found.epoch);
    *certificate = found;
    return 0;
}
