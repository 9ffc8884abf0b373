/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * carry.h: the proof of a CARRY: a step with bytes of records that a writer sends by way of an
 * agent. The writer proves the step by the key that the server made for its claim, so the server
 * stores what the writer gave, where it was to be, whatever process handed it on.
 *
 * Format: FORMAT.md, section 12.   Tests: tests/unit/wire/carry_test.cpp
 */
#ifndef RPMI_CARRY_H
#define RPMI_CARRY_H

#include "wire/certificate.h"
#include "wire/steps.h"

/* Append a CARRY with its proof; @step->data may be the place in @to where the bytes will be. 0 and
 * @bytes, the length of the step; or RPM_E_NOMEM. */
int rpmi_carry_put(void *to, const struct rpmi_step *step,
                   const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS], uint32_t *bytes);

/* Was @step, decoded from a list in private memory, made under @key? 0, RPM_E_DENIED,
 * RPM_E_NOMEM. */
int rpmi_carry_check(const struct rpmi_step *step, const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS]);

#endif
