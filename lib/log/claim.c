/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claim.c: lend a log's claim to regions of the same connection.
 *
 * The server, or the guard of a direct link, decides which client may write. What is kept here only
 * saves attempts that would be refused: when one region finds that the claim has ended, all regions
 * of that claim stop writing.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/log/claim_test.cpp
 */
#include "log/claim.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "log/log.h"

#define WORD_AT RPMI_GUARD_OFFSET /* offset of the claim word in the log's header */

static unsigned char *word_of(const struct rpm_log *log)
{
    return log->conn->word + RPMI_WORD_CLAIM;
}

int rpmi_claim_join(struct rpm_log *log, const struct rpm_conn *conn, struct rpmi_claim *claim)
{
    *claim = (struct rpmi_claim){ .log = NULL };
    if (log == NULL)
        return 0;
    if (log->conn != conn)
        return rpmi_fail(RPM_E_INVAL,
                         "log '%s' is open on another connection than the region that it is to "
                         "guard; open both on one",
                         log->name);
    if ((log->flags & RPM_LOG_WRITE) == 0)
        return rpmi_fail(RPM_E_INVAL,
                         "log '%s' is open for reading only and has no claim to guard a region; "
                         "open it with RPM_LOG_WRITE",
                         log->name);
    if (log->dead != 0)
        return rpmi_log_refuse(log);
    RPM_ASSERT(log->write_key != 0);
    log->guarded++;
    *claim = (struct rpmi_claim){ .log = log, .key = log->write_key, .epoch = log->epoch };
    return 0;
}

void rpmi_claim_leave(struct rpmi_claim *claim)
{
    if (claim->log == NULL)
        return;
    RPM_ASSERT(claim->log->guarded > 0);
    claim->log->guarded--;
    claim->log = NULL;
}

bool rpmi_claim_has_ended(const struct rpmi_claim *claim)
{
    const struct rpm_log *log = claim->log;

    return log != NULL && (log->dead == RPM_E_FENCED || log->ended_epoch >= claim->epoch);
}

void rpmi_claim_set_ended(const struct rpmi_claim *claim)
{
    RPM_ASSERT(claim->log != NULL && claim->epoch > 0);
    if (claim->log->ended_epoch < claim->epoch)
        claim->log->ended_epoch = claim->epoch;
}

void rpmi_claim_read_op(const struct rpmi_claim *claim, struct rpmi_op *op)
{
    RPM_ASSERT(claim->log != NULL);
    *op = (struct rpmi_op){
        .kind = RPMI_OP_READ,
        .key = claim->log->read_key,
        .offset = WORD_AT,
        .len = sizeof(uint64_t),
        .into = word_of(claim->log),
    };
}

int rpmi_claim_check_word(const struct rpmi_claim *claim)
{
    if (rpmi_load64(word_of(claim->log)) == claim->epoch)
        return 0;
    return rpmi_fail(RPM_E_FENCED,
                     "another writer claimed log '%s'; rpm_log_claim() to write again",
                     claim->log->name);
}
