/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum.c: the choice among the compiled paths of the checksum, and the path that runs everywhere.
 *
 * The choice is made once, by whichever thread comes first; two threads that race make the same
 * one.
 *
 * Tests: tests/unit/base/sum_test.cpp
 */
#include "base/sum.h"

#include <stdatomic.h>

typedef uint64_t sum_fn(const void *data, size_t len);
typedef void update_fn(XXH3_state_t *state, const void *data, size_t len);

static uint64_t choose(const void *data, size_t len);
static void choose_update(XXH3_state_t *state, const void *data, size_t len);

static _Atomic(sum_fn *) chosen = choose;
static _Atomic(update_fn *) chosen_update = choose_update;

uint64_t rpmi_sum_long(const void *data, size_t len)
{
    return atomic_load_explicit(&chosen, memory_order_relaxed)(data, len);
}

uint64_t rpmi_sum_base(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

void rpmi_sum_update(XXH3_state_t *state, const void *data, size_t len)
{
    atomic_load_explicit(&chosen_update, memory_order_relaxed)(state, data, len);
}

void rpmi_sum_update_base(XXH3_state_t *state, const void *data, size_t len)
{
    (void)XXH3_64bits_update(state, data, len);
}

static void choose_update(XXH3_state_t *state, const void *data, size_t len)
{
    update_fn *fn = rpmi_sum_update_base;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        fn = rpmi_sum_update_avx512;
    else if (__builtin_cpu_supports("avx2"))
        fn = rpmi_sum_update_avx2;
#endif
    atomic_store_explicit(&chosen_update, fn, memory_order_relaxed);
    fn(state, data, len);
}

static uint64_t choose(const void *data, size_t len)
{
    sum_fn *fn = rpmi_sum_base;

#if defined(__x86_64__)
    /* These ask for the operating system's consent too: it must save the wider registers. */
    if (__builtin_cpu_supports("avx512f"))
        fn = rpmi_sum_avx512;
    else if (__builtin_cpu_supports("avx2"))
        fn = rpmi_sum_avx2;
#endif
    atomic_store_explicit(&chosen, fn, memory_order_relaxed);
    return fn(data, len);
}
