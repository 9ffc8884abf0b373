/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.h: where a replicated log ends, and which member has all of it, by what a writer found on
 * the members that it has claimed.
 *
 * Of n members, acks hold every acknowledged record in the epoch in which it was acknowledged, or
 * in a later one that was sealed after the records were copied. So any n - acks + 1 members include
 * one that has it; among them, the member with the highest sealed epoch, and of these the one with
 * the longest log, has all acknowledged records.
 *
 * Invariants
 *   a member that may have lost bytes is not counted among the n - acks + 1, and is not the best
 *   the log chosen is never shorter than a commit word that any member has
 *
 * No I/O. Tests: tests/unit/set/choose_test.cpp
 */
#ifndef RPMI_SET_CHOOSE_H
#define RPMI_SET_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

/* What a writer found on one member. */
struct rpmi_found {
    const char *name;  /* of the member in error texts: its URL */
    const char *wrong; /* why it does not count; NULL: it was claimed and scanned, and is sound */
    uint32_t sealed;   /* epoch in its head */
    uint64_t base_lsn;
    uint64_t end_lsn;    /* of its valid records */
    uint64_t commit_lsn; /* its commit word: all records in front of it are acknowledged. 0: it was
                            not read. Counts also if the member does not */
};

struct rpmi_chosen {
    uint32_t best;     /* index of the member with all acknowledged records */
    uint64_t tail_lsn; /* where its log ends, and the new epoch begins */
};

/* Does a member that was claimed and scanned lack bytes that it once had? The reason, or NULL. */
const char *rpmi_choose_lacks(const struct rpmi_found *found);

/*
 * Choose among the @n members of a set with @acks. @installed: the epoch that the set's directory
 * has; 0: it has none. RPM_E_QUORUM: fewer than n - acks + 1 members count; the text names the
 * others. RPM_E_CORRUPT: members that count lack acknowledged records.
 */
int rpmi_choose(const struct rpmi_found *found, uint32_t n, uint32_t acks, uint32_t installed,
                struct rpmi_chosen *chosen);

#endif
