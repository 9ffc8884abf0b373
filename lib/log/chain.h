/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.h: what a ring holds where no head says where the log begins and ends: whole frames, each
 * at the end of the one before it, make a chain. Pure: frames in, a choice out.
 *
 * Invariants
 *   the epochs of a chain do not decrease: behind a newer writer's record nothing older counts
 *   a frame whose place a later one took, in part or whole, is in no chain
 *   what is kept lies in one chain, and within one lap of the last whole frame
 *
 * Tests: tests/unit/log/chain_test.cpp
 */
#ifndef RPMI_LOG_CHAIN_H
#define RPMI_LOG_CHAIN_H

#include "wire/frame.h"
#include "wire/head.h"

#include <stdbool.h>

#define RPMI_CHAINS_MAX 64u

struct rpmi_chain {
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t records;
    uint64_t bytes; /* of their payloads */
    uint32_t epoch_first;
    uint32_t epoch_last;
};

struct rpmi_chains {
    uint64_t capacity;
    struct rpmi_chain chain[RPMI_CHAINS_MAX];
    uint32_t count;
    uint64_t dropped_records; /* of chains that had no room here: those that end first */
    uint64_t end_lsn;         /* the highest end of a whole frame */
    uint32_t epoch;           /* the highest of one */
    uint64_t over_lsn;        /* the last frame that was added, */
    uint64_t over_end;        /* and the position in the ring where it ends */
};

/* What is known of the log beside its ring. */
struct rpmi_known {
    bool has_head;         /* a slot is valid; of those that are: */
    struct rpmi_head head; /* the one with the highest turn, */
    uint64_t trim_lsn;     /* and the highest trim_lsn */
    bool lacks_start;      /* no whole frame begins at trim_lsn */
    bool has_from;         /* the caller says where the log is to begin: */
    uint64_t from_lsn;
};

/* Where the log begins. */
struct rpmi_start {
    uint64_t walk_lsn;  /* frames follow one another from here on, unless the log is empty */
    uint64_t least_lsn; /* the first of them that does not begin below is the first one kept */
    uint64_t floor_lsn; /* what ends here or before was trimmed */
};

enum rpmi_fate {
    RPMI_FATE_KEPT = 1,     /* all of it, or what is not trimmed and not given up */
    RPMI_FATE_TRIMMED = 2,  /* it ends before the log begins */
    RPMI_FATE_GIVEN_UP = 3, /* a newer writer sealed the log in front of it: it was no part of it */
    RPMI_FATE_LOST = 4      /* perhaps a part of the log, and out of reach from now on */
};

void rpmi_chains_begin(struct rpmi_chains *chains, uint64_t capacity);
/* A whole frame. They come in the order of their places in the ring. */
void rpmi_chains_add(struct rpmi_chains *chains, const struct rpmi_frame *frame);
/* Would a frame at @lsn go on with a chain? */
bool rpmi_chains_expect(const struct rpmi_chains *chains, uint64_t lsn);
/* That was all: join chains that go on at the ring's beginning. */
void rpmi_chains_end(struct rpmi_chains *chains);

/* Choose. RPM_E_RANGE: the log cannot begin where the caller says. */
int rpmi_chains_choose(const struct rpmi_chains *chains, const struct rpmi_known *known,
                       struct rpmi_start *start);
/* May @frame follow one of epoch @before (0: none) in the log? */
bool rpmi_known_allows(const struct rpmi_known *known, const struct rpmi_frame *frame,
                       uint32_t before);
/* What becomes of @chain if @kept is all of the log. */
enum rpmi_fate rpmi_chain_fate(const struct rpmi_chain *chain, const struct rpmi_known *known,
                               const struct rpmi_start *start, const struct rpmi_chain *kept);

#endif
