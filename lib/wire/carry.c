/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * carry.c: make and check the proof of a CARRY.
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/carry_test.cpp
 */
#include "wire/carry.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mac.h"

#include <string.h>

_Static_assert(RPMI_CARRY_AT_PROOF + RPMI_CARRY_PROOF_BYTES == RPMI_CARRY_HEAD_BYTES,
               "the bytes follow the proof");
_Static_assert(RPMI_CARRY_PROOF_BYTES == RPMI_PROOF_BYTES, "as of a certificate");

/* Of everything in the step but the proof itself. @mac: its front is the proof. */
static int prove(const unsigned char *step, uint32_t bytes,
                 const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS], unsigned char mac[RPMI_MAC_BYTES])
{
    static const char role[] = "carry";
    const struct rpmi_chunk chunks[] = {
        { role, sizeof(role) },
        { step, RPMI_CARRY_AT_PROOF },
        { step + RPMI_CARRY_HEAD_BYTES, bytes - RPMI_CARRY_HEAD_BYTES },
    };

    RPM_ASSERT(bytes > RPMI_CARRY_HEAD_BYTES);
    return rpmi_claim_mac(key, chunks, sizeof(chunks) / sizeof(chunks[0]), mac);
}

int rpmi_carry_put(void *to, const struct rpmi_step *step,
                   const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS], uint32_t *bytes)
{
    unsigned char mac[RPMI_MAC_BYTES];
    int err;

    RPM_ASSERT(step->kind == RPMI_STEP_CARRY && step->proof == NULL && step->epoch != 0);
    *bytes = rpmi_step_put(to, step);
    err = prove(to, *bytes, key, mac);
    if (err == 0)
        memcpy((unsigned char *)to + RPMI_CARRY_AT_PROOF, mac, RPMI_CARRY_PROOF_BYTES);
    return err;
}

int rpmi_carry_check(const struct rpmi_step *step, const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS])
{
    const unsigned char *from = (const unsigned char *)step->data - RPMI_CARRY_HEAD_BYTES;
    unsigned char mac[RPMI_MAC_BYTES];
    int err;

    RPM_ASSERT(step->kind == RPMI_STEP_CARRY && step->proof == from + RPMI_CARRY_AT_PROOF);
    err = prove(from, rpmi_step_bytes(step), key, mac);
    if (err != 0)
        return err;
    return rpmi_claim_proves(mac, step->proof) ? 0 : RPM_E_DENIED;
}
