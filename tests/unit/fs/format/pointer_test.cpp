// SPDX-License-Identifier: BSD-3-Clause
// Pointers to blocks, and the checksums of blocks.
#include "core/format/pointer.h"

#include "support/catch.h"

#include <cstddef>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

TEST_CASE("fs: a pointer has its shard and block", "[unit]")
{
    rfs::Pointer most = rfs::point_to(255, rfs::Pointer::kBlockMost);
    rfs::Pointer least = rfs::point_to(0, 0);

    CHECK(most.shard() == 255);
    CHECK(most.block() == rfs::Pointer::kBlockMost);
    CHECK_FALSE(least.is_hole()); // block 0 of shard 0 is a block as any other
    CHECK(least.shard() == 0);
    CHECK(least.block() == 0);
    CHECK_FALSE(least.is_unwritten());
    CHECK(rfs::point_to(3, 4, rfs::Pointer::kUnwritten).is_unwritten());
    CHECK(rfs::Pointer{}.is_hole());
}

TEST_CASE("fs: only pointers of a form that point_to() makes are sound", "[unit]")
{
    rfs::Pointer good = rfs::point_to(1, 99);
    rfs::Pointer unwritten = rfs::point_to(1, 99, rfs::Pointer::kUnwritten);
    rfs::Pointer odd = good;

    good.sum = 5;
    CHECK(rfs::is_sound(good, 2, 100));
    CHECK_FALSE(rfs::is_sound(good, 1, 100)); // no such shard
    CHECK_FALSE(rfs::is_sound(good, 2, 99));  // no such block
    CHECK(rfs::is_sound(unwritten, 2, 100));
    unwritten.sum = 5;
    CHECK_FALSE(rfs::is_sound(unwritten, 2, 100));
    CHECK(rfs::is_sound({}, 1, 1));
    CHECK_FALSE(rfs::is_sound({ 0, 5 }, 1, 1));
    for (int bit = 0; bit < 16; bit++) {
        odd = good;
        odd.place ^= 1ull << bit;
        CHECK_FALSE(rfs::is_sound(odd, 2, 100));
    }
}

TEST_CASE("fs: a checksum tells apart blocks of equal bytes", "[unit]")
{
    std::vector<unsigned char> bytes(rfs::kBlockBytes, 7);
    uint64_t sum = rfs::block_sum(5, 6, bytes.data());

    CHECK(sum == rfs::block_sum(5, 6, bytes.data()));
    CHECK(sum != rfs::block_sum(5, 7, bytes.data()));
    CHECK(sum != rfs::block_sum(6, 6, bytes.data()));
    bytes.back() ^= 1;
    CHECK(sum != rfs::block_sum(5, 6, bytes.data()));
}

#if defined(__x86_64__)
// The upper half of a vector register that the checksum uses, as the last call has left it.
[[gnu::target("avx"), gnu::noinline]] static __m128i upper_half()
{
    __m128i half;

    __asm__ volatile("vextractf128 $1, %%ymm1, %0" : "=x"(half));
    return half;
}

TEST_CASE("fs: a checksum leaves nothing in the upper halves of vector registers", "[unit]")
{
    std::vector<unsigned char> bytes(rfs::kBlockBytes, 7);
    alignas(16) unsigned char left[16];

    if (!__builtin_cpu_supports("avx"))
        SKIP("this CPU has no registers of more than 128 bits");
    (void)rfs::block_sum(5, 6, bytes.data());
    _mm_store_si128(reinterpret_cast<__m128i *>(left), upper_half());
    for (size_t i = 0; i < sizeof(left); i++)
        CHECK(left[i] == 0);
}
#endif
