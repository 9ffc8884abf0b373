/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.h: find a log's records in its ring without the head. A frame whose checksum is right is
 * whole; whole frames, each of which begins where the previous frame ends, form a chain. The
 * functions do no I/O: the caller adds the frames of the ring, and the functions choose the chain
 * that is the log.
 *
 * Invariants
 *   the epochs of a chain do not decrease: a record of an older writer behind one of a newer writer
 *   is not part of the log
 *   a frame that a later frame overwrote, in part or whole, is in no chain
 *   the log that is kept is in one chain, and within one ring length of the end of the last frame
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

/*
 * Is a frame of this @epoch what a copy into this member of a set has left that was never sealed?
 * Between its claim and its seal a client writes frames there that other members have, and their
 * epochs may be above the head's; they are below that of the claim, and so below the claim word. A
 * frame that the client of a claim appends has the claim's epoch, and comes after its seal.
 */
static inline bool rpmi_is_unsealed(const struct rpmi_head *head, uint64_t claim, uint32_t epoch)
{
    return head->set.copies != 0 && epoch > head->epoch && epoch < claim && claim < UINT32_MAX;
}

/* What the head slots and the caller say about the log. */
struct rpmi_known {
    bool has_head;         /* at least one slot is valid */
    struct rpmi_head head; /* of the valid slot with the highest turn */
    uint64_t claim;        /* the claim word if that is the log's newest head for certain; else 0 */
    uint64_t trim_lsn;     /* highest trim_lsn of all valid slots */
    bool lacks_start;      /* no whole frame begins at trim_lsn */
    bool has_from;         /* the caller gives the first record's LSN: */
    uint64_t from_lsn;
};

struct rpmi_chains {
    uint64_t capacity;
    struct rpmi_known known;
    struct rpmi_chain chain[RPMI_CHAINS_MAX];
    uint32_t count;
    uint64_t dropped_records; /* of chains that found no entry free and may be a part of the log */
    uint64_t end_lsn;         /* the highest end of a whole frame */
    uint32_t epoch;           /* the highest epoch of a whole frame */
    uint64_t last_lsn;        /* LSN of the frame added last */
    uint64_t last_end;        /* position in the ring where that frame ends */
};

/* Where the log begins. */
struct rpmi_start {
    uint64_t walk_lsn;  /* LSN of a frame from which the frames are followed to the log's end */
    uint64_t least_lsn; /* frames with a lower LSN are skipped: the log begins here or later */
    uint64_t floor_lsn; /* frames that end here or before were trimmed or overwritten */
};

enum rpmi_fate {
    RPMI_FATE_KEPT = 1,     /* the log is this chain or a part of it */
    RPMI_FATE_TRIMMED = 2,  /* it ends before the log begins */
    RPMI_FATE_GIVEN_UP = 3, /* an older writer left it behind the LSN from which the next writer
                               continued, or a copy that was never sealed did: not part of the log
                             */
    RPMI_FATE_LOST = 4      /* may have been a part of the log, and is not kept */
};

/* @known decides which chains are dropped first if there are more than RPMI_CHAINS_MAX: trimmed
 * chains, then chains that an older writer left, then chains of old epochs, then short chains. The
 * chain at the log's first LSN is never dropped. */
void rpmi_chains_begin(struct rpmi_chains *chains, uint64_t capacity,
                       const struct rpmi_known *known);
/* Add a whole frame. The caller adds frames in the order of their positions in the ring. */
void rpmi_chains_add(struct rpmi_chains *chains, const struct rpmi_frame *frame);
/* Would a frame at @lsn continue a chain? */
bool rpmi_chains_expect(const struct rpmi_chains *chains, uint64_t lsn);
/* All frames were added: join chains that continue at the ring's beginning. */
void rpmi_chains_end(struct rpmi_chains *chains);

/* Choose where the log begins. RPM_E_RANGE: no whole frame begins at known->from_lsn. */
int rpmi_chains_choose(const struct rpmi_chains *chains, const struct rpmi_known *known,
                       struct rpmi_start *start);
/* In the log, may @frame follow a frame of epoch @prior_epoch (0: none)? */
bool rpmi_known_allows(const struct rpmi_known *known, const struct rpmi_frame *frame,
                       uint32_t prior_epoch);
/* What happens to @chain if the log is repaired to be @kept. */
enum rpmi_fate rpmi_chain_fate(const struct rpmi_chain *chain, const struct rpmi_known *known,
                               const struct rpmi_start *start, const struct rpmi_chain *kept);

#endif
