/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum.c: choose among the compiled paths of the checksum; and the path that runs on every CPU.
 *
 * The first thread that needs a path makes the choice; two threads that race make the same choice.
 *
 * Tests: tests/unit/base/sum_test.cpp
 */
#include "base/sum.h"

#include "base/assert.h"

#include <stdatomic.h>

struct path {
    uint64_t (*sum)(const void *data, size_t len);
    uint64_t (*seeded)(const void *data, size_t len, uint64_t seed);
    void (*reset)(XXH3_state_t *state);
    void (*update)(XXH3_state_t *state, const void *data, size_t len);
};

static const struct path base = { rpmi_sum_base, rpmi_sum_seeded_base, rpmi_sum_reset_base,
                                  rpmi_sum_update_base };
#if defined(__x86_64__)
static const struct path avx2 = { rpmi_sum_avx2, rpmi_sum_seeded_avx2, rpmi_sum_reset_avx2,
                                  rpmi_sum_update_avx2 };
static const struct path avx512 = { rpmi_sum_avx512, rpmi_sum_seeded_avx512, rpmi_sum_reset_avx512,
                                    rpmi_sum_update_avx512 };
#endif

static _Atomic(const struct path *) chosen;

static const struct path *choose(void)
{
    const struct path *path = &base;

#if defined(__x86_64__)
    /* These also check that the operating system saves the wider registers. */
    if (__builtin_cpu_supports("avx512f"))
        path = &avx512;
    else if (__builtin_cpu_supports("avx2"))
        path = &avx2;
#endif
    atomic_store_explicit(&chosen, path, memory_order_relaxed);
    return path;
}

static inline const struct path *widest(void)
{
    const struct path *path = atomic_load_explicit(&chosen, memory_order_relaxed);

    return RPMI_LIKELY(path != NULL) ? path : choose();
}

uint64_t rpmi_sum_long(const void *data, size_t len)
{
    return widest()->sum(data, len);
}

uint64_t rpmi_sum_seeded_long(const void *data, size_t len, uint64_t seed)
{
    return widest()->seeded(data, len, seed);
}

void rpmi_sum_reset(XXH3_state_t *state)
{
    widest()->reset(state);
}

void rpmi_sum_update(XXH3_state_t *state, const void *data, size_t len)
{
    widest()->update(state, data, len);
}

uint64_t rpmi_sum_base(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

uint64_t rpmi_sum_seeded_base(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

void rpmi_sum_reset_base(XXH3_state_t *state)
{
    XXH3_INITSTATE(state);
    (void)XXH3_64bits_reset(state);
}

void rpmi_sum_update_base(XXH3_state_t *state, const void *data, size_t len)
{
    (void)XXH3_64bits_update(state, data, len);
}
