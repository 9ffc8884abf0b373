/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit.cc: the limit on any x86-64 CPU, and the choice of the kernels that this CPU can run.
 */
#include "bench/limit.h"

#if defined(__x86_64__)
#include "bench/limit_kernel.h"

#include <cstring>

namespace bench
{
namespace
{

struct Sse2 {
    static void line(unsigned char *to, const unsigned char *from)
    {
        for (size_t i = 0; i < 64; i += 16)
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                             _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
    }

    static void frame(unsigned char *to, const Header &header, const unsigned char *data,
                      size_t len, uint64_t stride)
    {
        alignas(64) unsigned char edge[64] = {};
        size_t total = len + 24;
        size_t at = 64;

        memcpy(edge, &header, 24);
        memcpy(edge + 24, data, len < 40 ? len : 40);
        line(to, edge);
        for (; at + 64 <= total; at += 64)
            line(to + at, data + at - 24);
        memset(edge, 0, sizeof(edge));
        if (at < total) {
            memcpy(edge, data + at - 24, total - at);
            line(to + at, edge);
            memset(edge, 0, sizeof(edge));
            at += 64;
        }
        for (; at < stride; at += 64)
            line(to + at, edge);
    }

    static void copy(void *to, const void *from, size_t len)
    {
        alignas(64) unsigned char edge[64] = {};
        size_t at = 0;

        for (; at + 64 <= len; at += 64)
            line(static_cast<unsigned char *>(to) + at,
                 static_cast<const unsigned char *>(from) + at);
        if (at < len) {
            memcpy(edge, static_cast<const unsigned char *>(from) + at, len - at);
            line(static_cast<unsigned char *>(to) + at, edge);
        }
    }
};

const LimitKernel kSse2 = { "sse2 past the caches", limit_append<Sse2>, Sse2::copy, limit_sum };

} // namespace

size_t limit_kernels(const LimitKernel **kernels)
{
    if (limit_avx512_kernels != nullptr && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2")) {
        *kernels = limit_avx512_kernels;
        return kLimitAvx512Kernels;
    }
    *kernels = &kSse2;
    return 1;
}

void limit_fence()
{
    _mm_sfence();
}

} // namespace bench

#else

namespace bench
{

size_t limit_kernels(const LimitKernel **)
{
    return 0;
}

void limit_fence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

} // namespace bench

#endif
