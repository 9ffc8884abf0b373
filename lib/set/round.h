/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.h: become the writer of a replicated log. A round claims the members with a new epoch,
 * finds the member that has all acknowledged records, makes the others equal to it, and seals them.
 *
 * Invariants
 *   no record is acknowledged in an epoch before acks members are sealed in it
 *   every member that is sealed has all records in front of the new epoch, at the log's level,
 *     before any member is sealed
 *   a member whose bytes may be lost is not counted, but is filled and sealed like the others
 *   two rounds cannot both succeed with one epoch: a server grants it once, and n - acks + 1 claims
 *     and acks seals have a member in common
 *
 * Tests: tests/unit/set/round_test.cpp
 */
#ifndef RPMI_SET_ROUND_H
#define RPMI_SET_ROUND_H

#include "log/member.h"
#include "set/choose.h"

/* A member's log as a writer has it open, over a connection of its own. */
struct rpmi_leg {
    const char *name;    /* in error texts: the member's URL */
    struct rpm_log *log; /* opened by rpmi_member_open(); NULL: its server could not be reached */
    bool claimed;        /* in this round */
    bool filled;         /* its log is as the best member's, at the log's level */
    bool sealed;         /* it can be appended to from rpmi_round.tail_lsn on */
};

struct rpmi_round {
    struct rpmi_leg *legs;
    uint32_t n;         /* members of the set */
    uint32_t acks;      /* how many of them hold an acknowledged record */
    uint32_t level;     /* enum rpm_level of their logs */
    uint32_t epoch;     /* above that of every claim before; rpmi_round_epoch() */
    uint32_t flags;     /* RPMI_CALL_TAKEOVER: fence a living writer; or 0 */
    uint32_t installed; /* as for rpmi_choose() */
    uint64_t tail_lsn;  /* out: where the epoch begins */
    uint64_t filled;    /* out: bytes copied to members that lacked them */
};

/* Was the memory that the log's epoch was sealed in lost since, at a level that does not survive
 * that? The reason, or NULL. @level: enum rpm_level of the set's logs. */
const char *rpmi_leg_lost(const struct rpm_log *log, uint32_t level);

/* The lowest epoch above those of all claims on the members that can be asked. RPM_E_CORRUPT: there
 * is none. */
int rpmi_round_epoch(const struct rpmi_leg *legs, uint32_t n, uint32_t *epoch);

/*
 * Run the round. On 0 at least acks legs are sealed; the others are not used until the next round.
 * RPM_E_FENCED: another writer claimed members with a later epoch; RPM_E_OWNED: it is connected to
 * one, and @flags do not say to fence it; RPM_E_QUORUM, RPM_E_CORRUPT: as rpmi_choose(), or fewer
 * than acks members could be sealed. After an error the log is as it was, or longer by records that
 * were not acknowledged; another round may be run.
 */
int rpmi_round_run(struct rpmi_round *round);

#endif
