/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claim.h: a log's claim as the guard of regions: a guarded region can be written only while the
 * log holds its claim.
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

/* A region's reference to the claim that guards it. */
struct rpmi_claim {
    struct rpm_log *log; /* NULL: no guard */
    uint32_t key;        /* key of the log, which OPEN of the region names */
    uint32_t epoch;
};

/* Guard one more region of @conn by @log's claim, until rpmi_claim_leave(). RPM_E_INVAL (the log is
 * of another connection, or open for reading), RPM_E_FENCED, RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_claim_join(struct rpm_log *log, const struct rpm_conn *conn, struct rpmi_claim *claim);
void rpmi_claim_leave(struct rpmi_claim *claim);

/* Is it known that another client has claimed the log, so that @claim has ended? */
bool rpmi_claim_has_ended(const struct rpmi_claim *claim);
/* A region found that another client has claimed the log: record it for all regions of @claim. */
void rpmi_claim_set_ended(const struct rpmi_claim *claim);

/* rpmi_claim_read_op() makes the op that reads the claim word into a word of the connection;
 * rpmi_claim_check_word() checks that word once the op has completed: 0 or RPM_E_FENCED. */
void rpmi_claim_read_op(const struct rpmi_claim *claim, struct rpmi_op *op);
int rpmi_claim_check_word(const struct rpmi_claim *claim);

#endif
