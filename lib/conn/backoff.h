/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backoff.h: how long to wait before a lock that somebody else holds is tried again. Every try is
 * an atomic on one word, and those queue up in front of the one that would free it. So the wait
 * doubles from try to try, with some chance in it, up to a maximum; and that follows the share of
 * tries that fail (Ren et al., "Scaling Up Memory Disaggregated Applications with SMART", ASPLOS
 * 2024): without a conflict nobody waits for long, and with many everybody does.
 *
 * No clock is read here. The unit is one round trip, measured.
 *
 * Invariant: unit_ns <= wait_ns <= most_ns <= unit_ns * 1024.
 *
 * Tests: tests/unit/conn/backoff_test.cpp
 */
#ifndef RPMI_BACKOFF_H
#define RPMI_BACKOFF_H

#include "base/rng.h"

struct rpmi_backoff {
    struct rpmi_rng rng;
    uint64_t unit_ns;
    uint64_t most_ns; /* the wait doubles up to this */
    uint64_t wait_ns; /* before the next try, at least */
    uint64_t begin_ns;
    uint64_t tries; /* since then */
    uint64_t conflicts;
};

/* Any seed will do, but each client's should be its own. */
void rpmi_backoff_open(struct rpmi_backoff *backoff, uint64_t seed);

/* The first try of a lock is to follow. */
void rpmi_backoff_begin(struct rpmi_backoff *backoff);

/* A try took this long, whatever came of it. */
void rpmi_backoff_round_trip(struct rpmi_backoff *backoff, uint64_t ns);

/* It succeeded. */
void rpmi_backoff_done(struct rpmi_backoff *backoff, uint64_t now_ns);

/* It failed. Returns how long to wait before the next one. */
uint64_t rpmi_backoff_conflict(struct rpmi_backoff *backoff, uint64_t now_ns);

#endif
