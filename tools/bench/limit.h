/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit.h: the limit with which librpm is compared: the fastest hand-written loop known to us that
 * frames, checksums, copies, flushes and fences records; and the same without frames, for the
 * server side of a bare ring.
 *
 * The frames are those of a log on such memory, whose media line is 64 bytes: 24 bytes of header,
 * XXH3 over payload and header, padded to 64 bytes. For each size the fastest way to store is
 * chosen by trying all of them.
 */
#ifndef RPM_TOOLS_BENCH_LIMIT_H
#define RPM_TOOLS_BENCH_LIMIT_H

#include <cstddef>
#include <cstdint>

namespace bench
{

struct LimitRing {
    unsigned char *base;
    uint64_t capacity; /* multiple of the stride in use */
    uint64_t position = 0;
    uint64_t lsn = 0;
    uint64_t log_id = 0x5eed5eed5eed5eedull;
    uint32_t epoch = 1;
};

struct LimitKernel {
    const char *name;
    /* @n records, fenced after every @depth of them. */
    void (*append)(LimitRing *ring, const void *data, size_t len, uint64_t n, uint32_t depth);
    /* Copy and flush, to be fenced by the caller. */
    void (*copy)(void *to, const void *from, size_t len);
    /* The checksum alone. */
    uint64_t (*sum)(const void *data, size_t len);
};

inline uint64_t limit_stride(uint64_t len)
{
    return (len + 24 + 63) / 64 * 64;
}

/* The kernels that this CPU can run; their number, 0 on an unknown CPU. */
size_t limit_kernels(const LimitKernel **kernels);

void limit_fence();

/* limit_avx512.cc; nullptr where not compiled. */
extern const LimitKernel *const limit_avx512_kernels;
constexpr size_t kLimitAvx512Kernels = 2;

} // namespace bench
#endif
