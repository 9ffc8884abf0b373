/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit_kernel.h: the loop of limit.h over one way to store lines. Included once for each
 * instruction set, into a namespace without a name: the same code is compiled with different flags.
 */
#ifndef RPM_TOOLS_BENCH_LIMIT_KERNEL_H
#define RPM_TOOLS_BENCH_LIMIT_KERNEL_H

#include "bench/limit.h"

#define XXH_INLINE_ALL
#include <immintrin.h>
#include <xxhash.h>

namespace bench
{
namespace
{

struct Header {
    uint64_t lsn;
    uint64_t word;
    uint64_t sum;
};

inline Header make_header(const LimitRing &ring, uint64_t payload_sum, size_t len)
{
    uint64_t word = len | 0x14ull << 24 | static_cast<uint64_t>(ring.epoch) << 32;
    uint64_t block[4] = { payload_sum, ring.lsn, word, ring.log_id };

    return { ring.lsn, word, XXH3_64bits(block, sizeof(block)) };
}

uint64_t limit_sum(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

constexpr size_t kPiece = 4096;

/* Sum one piece while the stores of the previous piece drain; store the header's line last. */
template <typename Lines>
void limit_pieces(const LimitRing &ring, unsigned char *to, const unsigned char *data, size_t len)
{
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    (void)XXH3_64bits_reset(&state);
    for (size_t at = 0; at < len; at += kPiece) {
        size_t end = at + 40 + kPiece < len ? at + 40 + kPiece : len;

        (void)XXH3_64bits_update(&state, data + at, len - at < kPiece ? len - at : kPiece);
        if (end > at + 40)
            Lines::copy(to + 64 + at, data + at + 40, end - at - 40);
    }
    Lines::frame(to, make_header(ring, XXH3_64bits_digest(&state), len), data, 40, 64);
}

/* Lines::frame stores one frame of @stride bytes; Lines::copy whole lines without one. */
template <typename Lines>
void limit_append(LimitRing *ring, const void *data, size_t len, uint64_t n, uint32_t depth)
{
    uint64_t stride = limit_stride(len);
    LimitRing at = *ring;

    for (uint64_t i = 0; i < n; i += depth) {
        for (uint32_t k = 0; k < depth; k++) {
            const unsigned char *from = static_cast<const unsigned char *>(data);
            unsigned char *to = at.base + at.position;

            if (len >= 2 * kPiece)
                limit_pieces<Lines>(at, to, from, len);
            else
                Lines::frame(to, make_header(at, XXH3_64bits(data, len), len), from, len, stride);
            at.lsn += stride;
            at.position += stride;
            if (at.position + stride > at.capacity)
                at.position = 0;
        }
        _mm_sfence();
    }
    *ring = at;
}

} // namespace
} // namespace bench
#endif
