/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit_avx512.cc: the limit with whole lines in one register; compiled with the flags for it, and
 * called only on a CPU that has them.
 */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__BMI2__) && defined(__CLWB__)

#include "bench/limit_kernel.h"

namespace bench
{
namespace
{

inline __mmask64 low_mask(size_t n)
{
    return _bzhi_u64(~0ull, static_cast<unsigned>(n < 64 ? n : 64));
}

struct Stream {
    static constexpr bool kAsksAhead = false;
    static void line(unsigned char *to, __m512i value)
    {
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to), value);
    }
};

/* Prefetches the lines some frames ahead in the ring. */
struct StoreFlush {
    static constexpr bool kAsksAhead = true;
    static void line(unsigned char *to, __m512i value)
    {
        _mm512_store_si512(to, value);
        _mm_clwb(to);
    }
};

template <typename How> struct Lines {
    static void frame(unsigned char *to, const Header &header, const unsigned char *data,
                      size_t len, uint64_t stride)
    {
        __m512i line = _mm512_set_epi64(0, 0, 0, 0, 0, static_cast<long long>(header.sum),
                                        static_cast<long long>(header.word),
                                        static_cast<long long>(header.lsn));
        const unsigned char *from = data - 24;
        size_t total = len + 24;
        size_t at = 64;

        How::line(to, _mm512_mask_loadu_epi8(line, low_mask(total) & ~0xffffffull, from));
        for (; at + 64 <= total; at += 64)
            How::line(to + at, _mm512_loadu_si512(from + at));
        if (at < total) {
            How::line(to + at, _mm512_maskz_loadu_epi8(low_mask(total - at), from + at));
            at += 64;
        }
        for (; at < stride; at += 64)
            How::line(to + at, _mm512_setzero_si512());
        for (at = 0; How::kAsksAhead && at < stride; at += 64)
            __builtin_prefetch(to + 1024 + at, 1, 3);
    }

    static void copy(void *to, const void *from, size_t len)
    {
        for (size_t at = 0; at < len; at += 64)
            How::line(static_cast<unsigned char *>(to) + at,
                      _mm512_maskz_loadu_epi8(low_mask(len - at),
                                              static_cast<const unsigned char *>(from) + at));
    }
};

const LimitKernel kKernels[kLimitAvx512Kernels] = {
    { "avx512 past the caches", limit_append<Lines<Stream>>, Lines<Stream>::copy, limit_sum },
    { "avx512 and clwb", limit_append<Lines<StoreFlush>>, Lines<StoreFlush>::copy, limit_sum },
};

} // namespace

const LimitKernel *const limit_avx512_kernels = kKernels;

} // namespace bench

#else
#include "bench/limit.h"
const bench::LimitKernel *const bench::limit_avx512_kernels = nullptr;
#endif
