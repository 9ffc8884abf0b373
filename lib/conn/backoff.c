/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backoff.c: the wait between two tries of a lock, and the maximum of that wait.
 *
 * One thing differs from the paper: there a client adjusts the maximum only after a failed try, so
 * a client without conflicts keeps an old maximum. Here every try counts.
 *
 * Tests: tests/unit/conn/backoff_test.cpp
 */
#include "conn/backoff.h"

#include "base/assert.h"

/* SMART's t0 is 4096 cycles, 1.7 us, on hardware whose round trip is about that. */
#define UNIT_FIRST_NS 2000u
#define UNIT_MIN_NS 100u
#define UNIT_MAX_NS 10000000u
#define MAX_UNITS 1024u /* SMART: t_max is t0 to t0 x 2^10 */
/* SMART adjusts every 20 ms: too few tries on a slow network, a slow start on a fast one. Here an
 * epoch lasts as long as the longest wait, and for a number of tries that is significant. */
#define EPOCH_UNITS MAX_UNITS
#define EPOCH_TRIES 16u
/* SMART's thresholds: the maximum is halved below the low one and doubled above the high one. */
#define LOW_PERCENT 10u
#define HIGH_PERCENT 50u

void rpmi_backoff_open(struct rpmi_backoff *backoff, uint64_t seed)
{
    *backoff = (struct rpmi_backoff){
        .unit_ns = UNIT_FIRST_NS,
        .max_ns = UNIT_FIRST_NS,
        .wait_ns = UNIT_FIRST_NS,
    };
    rpmi_rng_seed(&backoff->rng, seed);
}

void rpmi_backoff_begin(struct rpmi_backoff *backoff)
{
    backoff->wait_ns = backoff->unit_ns;
}

/* Moves an eighth of the way, so that one slow try does not change the unit much. The maximum keeps
 * its number of units. */
void rpmi_backoff_round_trip(struct rpmi_backoff *backoff, uint64_t ns)
{
    uint64_t before = backoff->unit_ns;
    uint64_t units = backoff->max_ns / before;
    uint64_t unit;

    if (ns > UNIT_MAX_NS)
        ns = UNIT_MAX_NS;
    unit = before - before / 8 + ns / 8;
    backoff->unit_ns = unit < UNIT_MIN_NS ? UNIT_MIN_NS : unit;
    backoff->max_ns = backoff->unit_ns * units;
    if (backoff->wait_ns < backoff->unit_ns)
        backoff->wait_ns = backoff->unit_ns;
    if (backoff->wait_ns > backoff->max_ns)
        backoff->wait_ns = backoff->max_ns;
}

/* Count a try; at the end of an epoch adjust the maximum. */
static void count_try(struct rpmi_backoff *backoff, uint64_t now_ns)
{
    if (backoff->begin_ns == 0)
        backoff->begin_ns = now_ns;
    backoff->tries++;
    if (now_ns - backoff->begin_ns < EPOCH_UNITS * backoff->unit_ns || backoff->tries < EPOCH_TRIES)
        return;
    RPM_ASSERT(backoff->conflicts <= backoff->tries);
    if (backoff->conflicts * 100 < backoff->tries * LOW_PERCENT)
        backoff->max_ns /= 2;
    else if (backoff->conflicts * 100 > backoff->tries * HIGH_PERCENT)
        backoff->max_ns *= 2;
    if (backoff->max_ns < backoff->unit_ns)
        backoff->max_ns = backoff->unit_ns;
    if (backoff->max_ns > backoff->unit_ns * MAX_UNITS)
        backoff->max_ns = backoff->unit_ns * MAX_UNITS;
    if (backoff->wait_ns > backoff->max_ns)
        backoff->wait_ns = backoff->max_ns;
    backoff->begin_ns = now_ns;
    backoff->tries = 0;
    backoff->conflicts = 0;
}

void rpmi_backoff_done(struct rpmi_backoff *backoff, uint64_t now_ns)
{
    count_try(backoff, now_ns);
}

uint64_t rpmi_backoff_conflict(struct rpmi_backoff *backoff, uint64_t now_ns)
{
    uint64_t wait;

    backoff->conflicts++;
    count_try(backoff, now_ns);
    RPM_ASSERT(backoff->wait_ns >= backoff->unit_ns && backoff->wait_ns <= backoff->max_ns);
    wait = backoff->wait_ns + rpmi_rng_below(&backoff->rng, backoff->unit_ns);
    backoff->wait_ns =
        backoff->wait_ns < backoff->max_ns / 2 ? backoff->wait_ns * 2 : backoff->max_ns;
    return wait;
}
