/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backoff.h: how long a client waits before it tries again to take a lock that another client
 * holds. Every try is an atomic on one word, and tries queue up in front of the release. So the
 * wait doubles from try to try, with a random part, up to a maximum, which follows the share of
 * tries that fail (Ren et al., "Scaling Up Memory Disaggregated Applications with SMART", ASPLOS
 * 2024): clients wait briefly if conflicts are rare, and longer if they are frequent.
 *
 * The caller passes the time. The unit of a wait is one measured round trip.
 *
 * Invariant: unit_ns <= wait_ns <= max_ns <= unit_ns * 1024.
 *
 * Tests: tests/unit/conn/backoff_test.cpp
 */
#ifndef RPMI_BACKOFF_H
#define RPMI_BACKOFF_H

#include "base/rng.h"

struct rpmi_backoff {
    struct rpmi_rng rng;
    uint64_t unit_ns;
    uint64_t max_ns;    /* the wait doubles up to this */
    uint64_t wait_ns;   /* before the next try, at least */
    uint64_t begin_ns;  /* of the current epoch */
    uint64_t tries;     /* of this epoch */
    uint64_t conflicts; /* of those, failed */
};

/* Any seed; each client should have a different one. */
void rpmi_backoff_open(struct rpmi_backoff *backoff, uint64_t seed);

/* Call before the first try of a lock. */
void rpmi_backoff_begin(struct rpmi_backoff *backoff);

/* A try took @ns, whether it succeeded or not. */
void rpmi_backoff_round_trip(struct rpmi_backoff *backoff, uint64_t ns);

/* The try succeeded. */
void rpmi_backoff_done(struct rpmi_backoff *backoff, uint64_t now_ns);

/* The try failed. Returns how long to wait before the next one. */
uint64_t rpmi_backoff_conflict(struct rpmi_backoff *backoff, uint64_t now_ns);

#endif
