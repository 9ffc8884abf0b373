/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rng.h: the pseudo-random generator: a seed gives the same sequence on every machine.
 */
#ifndef RPMI_RNG_H
#define RPMI_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rpmi_rng {
    uint64_t state;
};

/* Any seed is as good as any other. */
void rpmi_rng_seed(struct rpmi_rng *rng, uint64_t seed);

/* 64 bits. */
uint64_t rpmi_rng_next(struct rpmi_rng *rng);

/* Uniform in 0..bound - 1; 0 for a bound of 0. */
uint64_t rpmi_rng_below(struct rpmi_rng *rng, uint64_t bound);

/* True with a chance of @ppm in a million. */
bool rpmi_rng_chance(struct rpmi_rng *rng, uint32_t ppm);

/* A seed that is not repeatable, from the operating system. */
uint64_t rpmi_rng_entropy(void);

#endif
