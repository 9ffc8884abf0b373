/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pointer.cc: make and judge pointers to blocks.
 *
 * Tests: tests/unit/fs/format/pointer_test.cpp
 */
#include "core/format/pointer.h"

#include "core/base/assert.h"
#include "core/base/canary.h"

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <immintrin.h>
#include <xxh_x86dispatch.h> /* the same function, by the widest registers of this CPU */
#else
#include <xxhash.h>
#endif

namespace rfs
{

/* Debian's libxxhash leaves values in the upper halves of the vector registers. Until they are 0,
 * each instruction that uses a lower half waits for the upper one too: 240 ns for each block. */
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
[[gnu::target("avx")]] static void clear_upper_halves()
{
    _mm256_zeroupper();
}

static const bool has_upper_halves = __builtin_cpu_supports("avx") != 0;
#else
static void clear_upper_halves() {}

static constexpr bool has_upper_halves = false;
#endif

Pointer point_to(uint32_t shard, uint64_t block, uint64_t flags)
{
    RFS_ASSERT(shard < 256 && block <= Pointer::kBlockMost);
    RFS_ASSERT((flags & ~Pointer::kUnwritten) == 0);
    return { uint64_t{ shard } << 56 | block << 16 | Pointer::kAllocated | flags, 0 };
}

uint64_t block_seed(uint32_t ino, uint64_t number)
{
    RFS_ASSERT(number < 1ull << 32);
    return canary(Canary::sum_unseeded) ? 0 : uint64_t{ ino } << 32 | number;
}

uint64_t block_sum(uint32_t ino, uint64_t number, const void *bytes)
{
    uint64_t sum = XXH3_64bits_withSeed(bytes, kBlockBytes, block_seed(ino, number));

    if (has_upper_halves)
        clear_upper_halves();
    return sum;
}

bool is_sound(const Pointer &pointer, uint32_t shards, uint64_t blocks)
{
    if (pointer.is_hole())
        return pointer.sum == 0;
    return (pointer.place & 0xffff & ~Pointer::kUnwritten) == Pointer::kAllocated &&
           pointer.shard() < shards && pointer.block() < blocks &&
           (!pointer.is_unwritten() || pointer.sum == 0);
}

} // namespace rfs
