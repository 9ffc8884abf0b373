/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decision.c: encode and decode decisions.
 *
 * Format: FORMAT.md, section 14.   Tests: tests/unit/wire/decision_test.cpp
 */
#include "wire/decision.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/head.h"
#include "wire/layout.h"

#define VERSION 1u
#define AT_SUM 56

_Static_assert(AT_SUM + sizeof(uint64_t) == RPMI_DECISION_BYTES, "the sum ends the line");

static const struct rpmi_field FIELDS[] = {
    RPMI_OWN(0, 4, "version"),
    RPMI_NUMBER(4, struct rpmi_decision, epoch),
    RPMI_NUMBER(8, struct rpmi_decision, log_id),
    RPMI_NUMBER(16, struct rpmi_decision, head_lsn),
    RPMI_NUMBER(24, struct rpmi_decision, trim_lsn),
    RPMI_NUMBER(32, struct rpmi_decision, last_lsn),
    RPMI_NUMBER(40, struct rpmi_decision, last_sum),
    RPMI_NUMBER(48, struct rpmi_decision, number),
    RPMI_OWN(AT_SUM, 8, "checksum"),
};

const struct rpmi_layout rpmi_decision_layout =
    RPMI_LAYOUT("decision", FIELDS, RPMI_DECISION_BYTES);

bool rpmi_decision_is_sound(const struct rpmi_decision *decision)
{
    return rpmi_is_aligned(decision->head_lsn | decision->last_lsn | decision->trim_lsn,
                           RPMI_LINE_BYTES) &&
           decision->head_lsn <= decision->last_lsn && decision->last_lsn < decision->trim_lsn &&
           decision->trim_lsn < RPMI_HEAD_LIMIT && decision->epoch != 0 && decision->number != 0;
}

void rpmi_decision_put(void *bytes, const struct rpmi_decision *decision)
{
    unsigned char *to = bytes;

    RPM_ASSERT(bytes != NULL && decision != NULL);
    RPM_ASSERT(rpmi_decision_is_sound(decision));
    rpmi_layout_put(&rpmi_decision_layout, to, decision);
    rpmi_store32(to, VERSION);
    rpmi_store64(to + AT_SUM, rpmi_sum(to, AT_SUM));
}

int rpmi_decision_get(const void *bytes, struct rpmi_decision *decision)
{
    const unsigned char *from = bytes;

    RPM_ASSERT(bytes != NULL && decision != NULL);
    if (rpmi_all_zero(from, RPMI_DECISION_BYTES))
        return rpmi_fail(RPM_E_NOENT, "a line without a decision");
    if (rpmi_load64(from + AT_SUM) != rpmi_sum(from, AT_SUM))
        return rpmi_fail(RPM_E_CORRUPT, "a decision with a wrong checksum");
    if (rpmi_load32(from) != VERSION)
        return rpmi_fail(RPM_E_VERSION,
                         "a decision of version %u, this library reads version %u: run an agent "
                         "of the writer's librpm",
                         rpmi_load32(from), VERSION);
    if (rpmi_layout_get(&rpmi_decision_layout, from, decision) != NULL ||
        !rpmi_decision_is_sound(decision))
        return rpmi_fail(RPM_E_CORRUPT, "a decision with fields out of their bounds");
    return 0;
}
