/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum_avx512.c: the checksum compiled for AVX-512; the flag is set in CMakeLists.txt. Called only
 * on a CPU that has it. On other architectures it is the common path again.
 *
 * Tests: tests/unit/base/sum_test.cpp
 */
#include "base/sum.h"

uint64_t rpmi_sum_avx512(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

uint64_t rpmi_sum_seeded_avx512(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

void rpmi_sum_reset_avx512(XXH3_state_t *state)
{
    XXH3_INITSTATE(state);
    (void)XXH3_64bits_reset(state);
}

void rpmi_sum_update_avx512(XXH3_state_t *state, const void *data, size_t len)
{
    (void)XXH3_64bits_update(state, data, len);
}
