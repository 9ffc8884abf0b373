/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rng.c: SplitMix64. Its seed is one word, from which a simulated run is replayed on any machine.
 *
 * Not for secrets. Every seed is valid, and neighbouring seeds give independent sequences, which a
 * test needs that counts its seeds up.
 *
 * Tests: tests/unit/base/rng_test.cpp
 */
#include "base/rng.h"

#include "base/assert.h"
#include "base/clock.h"

#include <sys/random.h>
#include <unistd.h>

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: Steele, Lea, Flood, OOPSLA 2014 */

void rpmi_rng_seed(struct rpmi_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t rpmi_rng_next(struct rpmi_rng *rng)
{
    uint64_t z = rng->state += GOLDEN;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

uint64_t rpmi_rng_below(struct rpmi_rng *rng, uint64_t bound)
{
    uint64_t reject;
    uint64_t value;

    RPM_ASSERT(rng != NULL);
    if (bound == 0)
        return 0;
    /* Discard the lowest 2^64 mod bound values, which would make small results too likely, and draw
     * again. Each draw is kept with a chance above one half. */
    reject = (0 - bound) % bound;
    do {
        value = rpmi_rng_next(rng);
    } while (value < reject);
    return value % bound;
}

bool rpmi_rng_chance(struct rpmi_rng *rng, uint32_t ppm)
{
    RPM_ASSERT(ppm <= 1000000u);
    /* Draws even if @ppm decides the result, so that a chance of 0 does not shift the sequence. */
    return rpmi_rng_below(rng, 1000000u) < ppm;
}

uint64_t rpmi_rng_entropy(void)
{
    uint64_t value = 0;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value)) {
        /* The system has no entropy early in boot: ids must differ, but need not be secret. */
        struct rpmi_rng rng = { rpmi_clock_ns() ^ ((uint64_t)getpid() << 40) };

        value = rpmi_rng_next(&rng);
    }
    return value;
}
