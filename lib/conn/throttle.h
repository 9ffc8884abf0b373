/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * throttle.h: limit how many operations of one connection are outstanding. A NIC with more work
 * requests than fit into its caches fetches them again over PCIe, so that its throughput falls (Ren
 * et al., "Scaling Up Memory Disaggregated Applications with SMART", ASPLOS 2024). NICs do not
 * report that number. So the throttle tries each limit for one epoch, in a trial, and keeps the
 * best one for many epochs; then it begins a new trial, since the load of others on the NIC may
 * have changed.
 *
 * The caller passes the time. An epoch is a number of measured round trips.
 *
 * Invariant: LIMIT_MIN <= limit <= depth; limit == depth means no limit.
 *
 * Tests: tests/unit/conn/throttle_test.cpp
 */
#ifndef RPMI_THROTTLE_H
#define RPMI_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_THROTTLE_LIMIT_MIN                                                                    \
    8u /* the first limit tried; each next one is twice the one
                                      before */

struct rpmi_throttle {
    uint32_t depth;
    uint32_t limit;    /* operations that may be outstanding now */
    uint64_t posted;   /* operations, ever; the caller counts */
    uint64_t held;     /* posts held back, ever; the caller counts */
    uint64_t changes;  /* of the limit, ever */
    uint64_t epoch_ns; /* length of an epoch */
    uint64_t round_trip_ns;
    uint64_t alone_ns; /* when a post was sent with no other op outstanding; 0: none is
                          outstanding */
    /* The current epoch. */
    bool counting; /* the epoch has begun: all ops posted under the previous limit have completed */
    uint64_t begin_ns;
    uint64_t begin_done; /* operations completed before it */
    uint64_t begin_held; /* held when it began */
    /* The trial. */
    uint32_t epochs_left; /* for which the best limit is kept; 0: a trial is running */
    uint32_t best_limit;
    uint64_t best_rate; /* operations a second */
};

/* @depth: operations that the link takes, at least RPMI_THROTTLE_LIMIT_MIN. */
void rpmi_throttle_open(struct rpmi_throttle *throttle, uint32_t depth);

/* The link is new: no op is outstanding and no round trip is known. Counters go on. */
void rpmi_throttle_restart(struct rpmi_throttle *throttle);

/* A post is about to be sent and no other op is outstanding: measure its round trip. */
static inline void rpmi_throttle_alone(struct rpmi_throttle *throttle, uint64_t now_ns)
{
    throttle->alone_ns = now_ns;
}

/* Some operations just completed; @outstanding are left. May change the limit. */
void rpmi_throttle_done(struct rpmi_throttle *throttle, uint32_t outstanding, uint64_t now_ns);

#endif
