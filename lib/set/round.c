/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.c: see round.h. Each step is taken on all members before the next one begins. A member that
 * fails in a step is left out from then on.
 *
 * Tests: tests/unit/set/round_test.cpp
 */
#include "set/round.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "set/fill.h"

#include <inttypes.h>

int rpmi_round_epoch(const struct rpmi_leg *legs, uint32_t n, uint32_t *epoch)
{
    uint32_t highest = 0;

    RPM_ASSERT(n >= 1 && n <= RPMI_COPIES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t claimed = 0;

        if (legs[i].log != NULL && rpmi_member_claimed(legs[i].log, &claimed) == 0 &&
            claimed > highest)
            highest = claimed;
    }
    if (highest >= UINT32_MAX - 1)
        return rpmi_fail(RPM_E_CORRUPT,
                         "a member was claimed with epoch %" PRIu32
                         ", the highest that there is; create a new log and copy the records",
                         highest);
    *epoch = highest + 1;
    return 0;
}

/* Is the error one of this member alone, so that the round may go on without it? */
static bool is_its_own(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_CORRUPT || err == RPM_E_IO ||
           err == RPM_E_NOENT || err == RPM_E_FENCED;
}

static const char *reason_of(int err)
{
    return err == RPM_E_FENCED    ? "another writer has claimed it with a later epoch"
           : err == RPM_E_CORRUPT ? "a record that was durable, or its head, is damaged"
                                  : "its server does not answer";
}

const char *rpmi_leg_lost(const struct rpm_log *log, uint32_t level)
{
    bool durable =
        (log->head.flags & RPMI_HEAD_DURABLE) != 0 && log->conn->link->facts.domain_declared != 1;

    if (log->head.epoch == 0 || RPMI_CANARY(FORGET_LIFE))
        return NULL;
    if (!durable && (log->lasts & RPMI_REPLY_BOOT_LASTS) == 0)
        return "its machine was started again, which the records' level does not survive";
    if (level < RPM_PROCESS && (log->lasts & RPMI_REPLY_RUN_LASTS) == 0)
        return "its server was started again, which the records' level does not survive";
    return NULL;
}

/* Claims a member and finds out what it has. The round's own error, or 0. */
static int look_at(struct rpmi_round *round, struct rpmi_leg *leg, struct rpmi_found *found)
{
    struct rpm_log *log = leg->log;
    int err;

    *found = (struct rpmi_found){ .name = leg->name, .wrong = "its server cannot be reached" };
    leg->claimed = leg->filled = leg->sealed = false;
    if (log == NULL)
        return 0;
    err = rpmi_member_claim(log, round->epoch, round->flags);
    leg->claimed = err == 0;
    if (err == 0)
        err = rpmi_member_committed(log, &found->commit_lsn);
    if (err == 0) {
        found->sealed = log->head.epoch;
        found->base_lsn = log->head.base_lsn;
        err = rpmi_log_scan(log, log->head.trim_lsn, NULL, NULL, &log->report);
        found->end_lsn = log->report.end_lsn;
    }
    if (err != 0) {
        leg->claimed = leg->claimed && err == RPM_E_CORRUPT;
        found->wrong = reason_of(err);
        return is_its_own(err) ? 0 : err;
    }
    found->wrong = NULL;
    found->wrong = rpmi_choose_lacks(found);
    if (found->wrong == NULL)
        found->wrong = rpmi_leg_lost(log, round->level);
    return 0;
}

static bool was_lost(const struct rpmi_leg *leg)
{
    return leg->log->conn->link->lost != 0;
}

/* Makes each claimed member equal to the best, then all of them durable. */
static int fill_all(struct rpmi_round *round, const struct rpmi_chosen *chosen)
{
    struct rpmi_leg *best = &round->legs[chosen->best];

    round->filled = 0;
    for (uint32_t i = 0; i < round->n; i++) {
        struct rpmi_leg *leg = &round->legs[i];
        uint64_t filled = 0;
        int err = 0;

        if (leg->claimed && leg != best && !RPMI_CANARY(NO_COPY))
            err = rpmi_fill(leg->log, best->log, chosen->tail_lsn, &filled);
        if (err != 0 && (was_lost(best) || !is_its_own(err)))
            return err;
        leg->filled = leg->claimed && err == 0;
        round->filled += filled;
    }
    for (uint32_t i = 0; i < round->n; i++) {
        struct rpmi_leg *leg = &round->legs[i];
        int err = 0;

        if (leg->filled && !RPMI_CANARY(EARLY_SEAL))
            err = rpmi_member_harden(leg->log, chosen->tail_lsn);
        if (err != 0 && !is_its_own(err))
            return err;
        leg->filled = leg->filled && err == 0;
    }
    return 0;
}

static uint32_t count(const struct rpmi_round *round, bool sealed)
{
    uint32_t counted = 0;

    for (uint32_t i = 0; i < round->n; i++)
        counted += sealed ? round->legs[i].sealed : round->legs[i].filled;
    return counted;
}

/* So many members must be sealed. */
static uint32_t needed(const struct rpmi_round *round)
{
    return RPMI_CANARY(FEW_SEALS) && round->acks > 1 ? round->acks - 1 : round->acks;
}

/* Fewer than acks members are left. @fenced: some of the others were claimed by another writer. */
static int give_up(const struct rpmi_round *round, bool fenced, const char *step)
{
    if (fenced)
        return rpmi_fail(RPM_E_FENCED,
                         "another writer claimed members of the set while they were %s with epoch "
                         "%" PRIu32 "; open it again, with RPM_LOG_TAKEOVER to fence that writer",
                         step, round->epoch);
    return rpmi_fail(RPM_E_QUORUM,
                     "fewer than %u of %u members could be %s; start the servers of the others",
                     round->acks, round->n, step);
}

static int seal_all(struct rpmi_round *round)
{
    bool fenced = false;

    for (uint32_t i = 0; i < round->n; i++) {
        struct rpmi_leg *leg = &round->legs[i];
        int err;

        if (!leg->filled)
            continue;
        err = rpmi_member_seal_hardened(leg->log, round->tail_lsn);
        if (err != 0 && !is_its_own(err))
            return err;
        leg->sealed = err == 0;
        fenced = fenced || err == RPM_E_FENCED;
    }
    return count(round, true) >= needed(round) ? 0 : give_up(round, fenced, "sealed");
}

int rpmi_round_run(struct rpmi_round *round)
{
    struct rpmi_found found[RPMI_COPIES_MAX];
    struct rpmi_chosen chosen;
    int err;

    RPM_ASSERT(round->n >= 1 && round->n <= RPMI_COPIES_MAX);
    RPM_ASSERT(round->acks >= 1 && round->acks <= round->n && round->epoch != 0);
    for (uint32_t i = 0; i < round->n; i++) {
        err = look_at(round, &round->legs[i], &found[i]);
        if (err != 0)
            return err;
    }
    err = rpmi_choose(found, round->n, round->acks, round->installed, &chosen);
    if (err != 0)
        return err;
    round->tail_lsn = chosen.tail_lsn;
    err = fill_all(round, &chosen);
    if (err != 0)
        return err;
    if (count(round, false) < needed(round))
        return give_up(round, false, "filled");
    return seal_all(round);
}
