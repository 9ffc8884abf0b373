/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * throttle.h: how many operations of one connection may be outstanding, found by trying. A NIC that
 * holds more work requests than its caches do fetches them again over PCIe, and gets less done with
 * more to do (Ren et al., "Scaling Up Memory Disaggregated Applications with SMART", ASPLOS 2024).
 * How many that are nobody tells, so each limit is tried for an epoch and the best one kept for
 * many; then they are tried again, since others use the NIC too.
 *
 * No clock is read here: the caller says what time it is. An epoch is a number of round trips, and
 * the round trip is measured.
 *
 * Invariant: LIMIT_MIN <= limit <= depth; limit == depth means none at all.
 *
 * Tests: tests/unit/conn/throttle_test.cpp
 */
#ifndef RPMI_THROTTLE_H
#define RPMI_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_THROTTLE_LIMIT_MIN 8u /* the first one tried; each next is twice the one before */

struct rpmi_throttle {
    uint32_t depth;
    uint32_t limit;    /* operations that may be outstanding now */
    uint64_t posted;   /* operations, ever; the caller counts */
    uint64_t held;     /* posts held back, ever; the caller counts */
    uint64_t changes;  /* of the limit, ever */
    uint64_t epoch_ns; /* how long one is */
    uint64_t round_trip_ns;
    uint64_t alone_ns; /* when a post left that had the link to itself; 0: none is under way */
    /* The epoch under way. */
    bool counting; /* what was posted under the limit before has ended */
    uint64_t begin_ns;
    uint64_t begin_done;
    uint64_t begin_held;
    /* The trial. */
    uint32_t epochs_left; /* to go with what was found best; 0: limits are being tried */
    uint32_t best_limit;
    uint64_t best_rate; /* operations a second */
};

/* @depth: operations that the link takes, at least RPMI_THROTTLE_LIMIT_MIN. */
void rpmi_throttle_open(struct rpmi_throttle *throttle, uint32_t depth);

/* The link is a new one: nothing is outstanding, nothing known of it. Counters go on. */
void rpmi_throttle_restart(struct rpmi_throttle *throttle);

/* A post is about to leave and nothing else is outstanding: its way there and back is measured. */
static inline void rpmi_throttle_alone(struct rpmi_throttle *throttle, uint64_t now_ns)
{
    throttle->alone_ns = now_ns;
}

/* Of all operations posted ever @outstanding have not ended; some just did. May change limit. */
void rpmi_throttle_done(struct rpmi_throttle *throttle, uint32_t outstanding, uint64_t now_ns);

#endif
