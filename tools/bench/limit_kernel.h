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

inline Header make_header(const LimitRing &ring, const void *data, size_t len)
{
    uint64_t word = len | 0xa4ull << 24 | static_cast<uint64_t>(ring.epoch) << 32;
    uint64_t block[4] = { XXH3_64bits(data, len), ring.lsn, word, ring.log_id };

    return { ring.lsn, word, XXH3_64bits(block, sizeof(block)) };
}

uint64_t limit_sum(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

/* Lines::frame stores one frame of @stride bytes; Lines::copy whole lines without one. */
template <typename Lines>
void limit_append(LimitRing *ring, const void *data, size_t len, uint64_t n, uint32_t depth)
{
    uint64_t stride = limit_stride(len);
    LimitRing at = *ring;

    for (uint64_t i = 0; i < n; i += depth) {
        for (uint32_t k = 0; k < depth; k++) {
            Header header = make_header(at, data, len);

            Lines::frame(at.base + at.position, header, static_cast<const unsigned char *>(data),
                         len, stride);
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
