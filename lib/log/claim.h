/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claim.h: a log's claim, as the regions see it that are guarded by it: they may be written to for
 * as long as it is held.
 *
 * Invariant: a log is not closed while its claim guards a region.
 *
 * Tests: tests/unit/log/claim_test.cpp, tests/conform/guard_test.cpp
 */
#ifndef RPMI_LOG_CLAIM_H
#define RPMI_LOG_CLAIM_H

#include "conn/conn.h"

#include <librpm/log.h>
#include <stdbool.h>

/* What a region needs of the claim that guards it. */
struct rpmi_claim {
    struct rpm_log *log; /* NULL: none guards it */
    uint32_t key;        /* to be named when the region is opened */
    uint32_t epoch;
};

/* One region of @conn more is guarded by @log's claim, until rpmi_claim_leave(). RPM_E_INVAL
 * (another connection's, or open for reading), RPM_E_FENCED, RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_claim_join(struct rpm_log *log, const struct rpm_conn *conn, struct rpmi_claim *claim);
void rpmi_claim_leave(struct rpmi_claim *claim);

/* Is it known that the claim is another's by now? */
bool rpmi_claim_is_gone(const struct rpmi_claim *claim);
/* A region heard so. */
void rpmi_claim_tell(const struct rpmi_claim *claim);

/* The op that reads who holds the claim, into a word of the connection's; and, once it has ended,
 * what it says: 0 or RPM_E_FENCED. */
void rpmi_claim_ask(const struct rpmi_claim *claim, struct rpmi_op *op);
int rpmi_claim_judge(const struct rpmi_claim *claim);

#endif
