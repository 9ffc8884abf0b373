/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_x86.c: copies and flushes of x86-64: whole lines by the widest non-temporal stores that the
 * CPU has, and the cheapest flush: clwb keeps the line cached, clflushopt evicts it, clflush does
 * so one line after another.
 *
 * The head and the body of a frame lie in different places. With AVX-512 two masked loads put them
 * side by side in one register; a lane that is masked out is neither read nor written. With AVX2
 * and SSE2 a line that holds the end of one and the start of the next is assembled on the stack.
 *
 * Tests: tests/unit/pmem/cpu_copy_test.cpp
 */
#if defined(__x86_64__)

#include "pmem/cpu_lines.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"

#include <cpuid.h>

#define LINE RPMI_LINE_BYTES
#define WITH_AVX512 __attribute__((target("avx512f,avx512bw,bmi2,clwb")))
#define AHEAD_BYTES 1024 /* distance of the lines that lone_frame_avx512() prefetches */
#define FRAME_WORDS 3
#define FRAME_HEAD (FRAME_WORDS * sizeof(uint64_t))
#define WITH_AVX2 __attribute__((target("avx2")))

static inline int whole_lines(const void *dst, size_t len)
{
    return (((uintptr_t)dst | len) & (LINE - 1)) == 0;
}

/* Is there only a body, of whole lines, long enough to be stored past the caches? */
static inline int is_lines(const void *dst, size_t body_bytes, size_t len)
{
    return body_bytes == len && whole_lines(dst, len) && len > rpmi_cpu.store_max;
}

/* A pointer @back bytes before @ptr. Only bytes from @ptr on are loaded through it. */
static inline const unsigned char *shifted(const void *ptr, size_t back)
{
    return (const unsigned char *)((uintptr_t)ptr - back);
}

/* Lowest @n bits; all of them from 64 on. The instruction itself saturates, up to 255. */
WITH_AVX512 static inline uint64_t low_mask(size_t n)
{
    return _bzhi_u64(~(uint64_t)0, (unsigned)(n < LINE ? n : LINE));
}

/* The same for less than a line. */
WITH_AVX512 static inline uint64_t low_part(size_t n)
{
    return _bzhi_u64(~(uint64_t)0, (unsigned)n);
}

/* Would a load of a whole line from @ptr touch two pages? The other one may not be mapped, and a
 * lane that is masked out there costs a trip through microcode, 200 ns, although it never traps. */
static inline int crosses_page(const unsigned char *ptr)
{
    return ((uintptr_t)ptr & (RPMI_PAGE_BYTES - 1)) > RPMI_PAGE_BYTES - LINE;
}

/* Load the lanes of @mask from @ptr, which are bytes [@first, @end); other lanes keep the bytes of
 * @line. */
WITH_AVX512 static inline __m512i merge_avx512(__m512i line, uint64_t mask,
                                               const unsigned char *ptr, size_t first, size_t end)
{
    unsigned char copy[LINE] __attribute__((aligned(64)));

    if (RPMI_LIKELY(!crosses_page(ptr)))
        return _mm512_mask_loadu_epi8(line, mask, ptr);
    memcpy(copy + first, ptr + first, end - first);
    return _mm512_mask_loadu_epi8(line, mask, copy);
}

/* Line @at of head, body and zeros, in one register. */
WITH_AVX512 static inline __m512i gather_avx512(const void *head, size_t head_bytes,
                                                const void *body, size_t body_bytes, size_t at)
{
    size_t first = at == 0 ? head_bytes : 0;
    size_t left = head_bytes + body_bytes > at ? head_bytes + body_bytes - at : 0;
    size_t end = left < LINE ? left : LINE;
    __m512i line = _mm512_setzero_si512();

    if (first != 0)
        line = merge_avx512(line, low_mask(first), head, 0, first);
    if (first < end)
        line = merge_avx512(line, low_mask(end) & ~low_mask(first), shifted(body, head_bytes) + at,
                            first, end);
    return line;
}

/* The last @n bytes of a body, fewer than a line, behind @before others. */
WITH_AVX512 static inline __m512i tail_avx512(const unsigned char *ptr, size_t n, size_t before)
{
    const size_t word = sizeof(uint64_t);

    if (RPMI_UNLIKELY(crosses_page(ptr)) && n % word == 0 && before + n >= LINE)
        return _mm512_maskz_compress_epi64((__mmask8)(0xffu << (LINE - n) / word),
                                           _mm512_loadu_si512(ptr + n - LINE));
    return merge_avx512(_mm512_setzero_si512(), low_mask(n), ptr, 0, n);
}

WITH_AVX512 static inline void lines_avx512(unsigned char *dst, const void *head, size_t head_bytes,
                                            const void *body, size_t body_bytes, size_t len)
{
    const unsigned char *from = shifted(body, head_bytes);
    size_t data = head_bytes + body_bytes;
    size_t at;

    _mm512_stream_si512((void *)dst, gather_avx512(head, head_bytes, body, body_bytes, 0));
    for (at = LINE; at + LINE <= data; at += LINE)
        _mm512_stream_si512((void *)(dst + at), _mm512_loadu_si512(from + at));
    if (at < data) {
        _mm512_stream_si512((void *)(dst + at), tail_avx512(from + at, data - at, at - head_bytes));
        at += LINE;
    }
    for (; at < len; at += LINE)
        _mm512_stream_si512((void *)(dst + at), _mm512_setzero_si512());
}

/* Stores of any length at any place, into the caches. */
WITH_AVX512 static inline void put_avx512(unsigned char *dst, const void *head, size_t head_bytes,
                                          const void *body, size_t body_bytes, size_t len)
{
    for (size_t at = 0; at < len; at += LINE)
        _mm512_mask_storeu_epi8(dst + at, low_mask(len - at),
                                gather_avx512(head, head_bytes, body, body_bytes, at));
}

/* The same, then a write-back of their lines. */
WITH_AVX512 static inline void store_avx512(unsigned char *dst, const void *head, size_t head_bytes,
                                            const void *body, size_t body_bytes, size_t len)
{
    put_avx512(dst, head, head_bytes, body, body_bytes, len);
    for (uintptr_t at = (uintptr_t)dst & ~(uintptr_t)(LINE - 1); at < (uintptr_t)dst + len;
         at += LINE)
        _mm_clwb((void *)at);
}

WITH_AVX512 static void back_avx512(void *dst, const void *head, size_t head_bytes,
                                    const void *body, size_t body_bytes, size_t len)
{
    RPM_ASSERT(head_bytes <= LINE && head_bytes + body_bytes <= len);
    put_avx512(dst, head, head_bytes, body, body_bytes, len);
    rpmi_cpu_flush(dst, len);
}

WITH_AVX512 static void edges_avx512(void *dst, const struct rpmi_gather *from, size_t len)
{
    lines_avx512(dst, from->head, from->head_bytes, from->body, from->body_bytes, len);
}

/* Not inlined, so that the usual path below needs no stack frame. */
__attribute__((noinline)) static void partial_avx512(void *dst, const void *head, size_t head_bytes,
                                                     const void *body, size_t body_bytes,
                                                     size_t len)
{
    struct rpmi_gather from = { head, head_bytes, body, body_bytes };

    rpmi_edges_write(dst, &from, len, edges_avx512);
}

WITH_AVX512 static void write_avx512(void *dst, const void *head, size_t head_bytes,
                                     const void *body, size_t body_bytes, size_t len)
{
    RPM_ASSERT(head_bytes <= LINE && head_bytes + body_bytes <= len);
    if (is_lines(dst, body_bytes, len))
        for (size_t at = 0; at < len; at += LINE)
            _mm512_stream_si512((void *)((unsigned char *)dst + at),
                                _mm512_loadu_si512((const unsigned char *)body + at));
    else if (len <= rpmi_cpu.store_max)
        store_avx512(dst, head, head_bytes, body, body_bytes, len);
    else if (RPMI_LIKELY(whole_lines(dst, len) && len != 0))
        lines_avx512(dst, head, head_bytes, body, body_bytes, len);
    else
        partial_avx512(dst, head, head_bytes, body, body_bytes, len);
}

/* How the lines of a frame are stored: past the caches, or into them and written back. */
enum store { STORE_STREAM, STORE_BACK };

WITH_AVX512 static inline void line_avx512(unsigned char *dst, __m512i line, enum store how)
{
    if (how == STORE_STREAM) {
        _mm512_stream_si512((void *)dst, line);
    } else {
        _mm512_store_si512(dst, line);
        _mm_clwb(dst);
    }
}

/* The first line of a frame: the three words of its head, then the first lanes of @body. */
WITH_AVX512 static inline __m512i first_avx512(const uint64_t head[3], __m512i body)
{
    __m512i words =
        _mm512_set_epi64(0, 0, 0, 0, 0, (int64_t)head[2], (int64_t)head[1], (int64_t)head[0]);

    return _mm512_mask_expand_epi64(words, (__mmask8)(0xffu << FRAME_WORDS), body);
}

/* The slow path: not whole lines, or a body whose first or last load would touch a page that the
 * body does not occupy. */
WITH_AVX512 __attribute__((noinline)) static void frame_slow(unsigned char *dst,
                                                             const uint64_t head[3],
                                                             const void *body, size_t body_bytes,
                                                             size_t len)
{
    const unsigned char *from = shifted(body, FRAME_HEAD);
    size_t data = FRAME_HEAD + body_bytes;
    __m512i line = _mm512_setzero_si512();
    size_t at;

    if (!whole_lines(dst, len)) {
        rpmi_cpu.nt_write(dst, head, FRAME_HEAD, body, body_bytes, len);
        return;
    }
    if (body_bytes >= LINE)
        line = _mm512_loadu_si512(body);
    else if (body_bytes != 0)
        line = merge_avx512(line, low_mask(body_bytes), body, 0, body_bytes);
    _mm512_stream_si512((void *)dst, first_avx512(head, line));
    for (at = LINE; at + LINE <= data; at += LINE)
        _mm512_stream_si512((void *)(dst + at), _mm512_loadu_si512(from + at));
    if (at < data) {
        _mm512_stream_si512((void *)(dst + at), tail_avx512(from + at, data - at, at - FRAME_HEAD));
        at += LINE;
    }
    for (; at < len; at += LINE)
        _mm512_stream_si512((void *)(dst + at), _mm512_setzero_si512());
}

/* This must not store anything but the lines themselves: stores reach memory in order, so another
 * store would wait behind the lines of all frames before. */
WITH_AVX512 static inline void frame_fast(unsigned char *dst, const uint64_t head[3],
                                          const void *body, size_t body_bytes, size_t len,
                                          enum store how)
{
    const unsigned char *from = shifted(body, FRAME_HEAD);
    size_t data = FRAME_HEAD + body_bytes;
    size_t at;

    line_avx512(dst,
                first_avx512(head, body_bytes >= LINE
                                       ? _mm512_loadu_si512(body)
                                       : _mm512_maskz_loadu_epi8(low_part(body_bytes), body)),
                how);
    for (at = LINE; at + LINE <= data; at += LINE)
        line_avx512(dst + at, _mm512_loadu_si512(from + at), how);
    if (at < data) {
        line_avx512(dst + at, _mm512_maskz_loadu_epi8(low_part(data - at), from + at), how);
        at += LINE;
    }
    for (; at < len; at += LINE)
        line_avx512(dst + at, _mm512_setzero_si512(), how);
}

/* Would the first or the last load of a body touch a page that the body does not occupy? */
static inline int edges_cross(const void *body, size_t body_bytes)
{
    const unsigned char *from = shifted(body, FRAME_HEAD);

    return crosses_page(body) || crosses_page(from + ((FRAME_HEAD + body_bytes) & ~(LINE - 1u)));
}

WITH_AVX512 static void frame_avx512(void *dst, const uint64_t head[3], const void *body,
                                     size_t body_bytes, size_t len)
{
    RPM_ASSERT(FRAME_HEAD + body_bytes <= len);
    if (RPMI_UNLIKELY(!whole_lines(dst, len) || edges_cross(body, body_bytes)))
        frame_slow(dst, head, body, body_bytes, len);
    else
        frame_fast(dst, head, body, body_bytes, len, STORE_STREAM);
}

/* Store one frame, then prefetch the lines AHEAD_BYTES behind it, where the log will continue. */
WITH_AVX512 static void lone_frame_avx512(void *to, const uint64_t head[3], const void *body,
                                          size_t body_bytes, size_t len)
{
    unsigned char *dst = to;

    RPM_ASSERT(FRAME_HEAD + body_bytes <= len);
    if (RPMI_UNLIKELY(len > rpmi_cpu.back_max || !whole_lines(dst, len) ||
                      edges_cross(body, body_bytes))) {
        frame_avx512(dst, head, body, body_bytes, len);
        return;
    }
    frame_fast(dst, head, body, body_bytes, len, STORE_BACK);
    for (size_t at = 0; at < len; at += LINE)
        __builtin_prefetch(dst + AHEAD_BYTES + at, 1, 3);
}

/* One line of head, body from @skip on, and zeros, put together at @line. */
static void assemble(unsigned char *line, const struct rpmi_gather *from, size_t at)
{
    size_t head = at == 0 ? from->head_bytes : 0;
    size_t skip = at == 0 ? 0 : at - from->head_bytes;
    size_t body = from->body_bytes - skip < LINE - head ? from->body_bytes - skip : LINE - head;

    memset(line, 0, LINE);
    if (head != 0)
        memcpy(line, from->head, head);
    if (body != 0)
        memcpy(line + head, from->body + skip, body);
}

WITH_AVX2 static inline void line_avx2(unsigned char *dst, const unsigned char *from)
{
    __m256i low = _mm256_loadu_si256((const void *)from);
    __m256i high = _mm256_loadu_si256((const void *)(from + 32));

    _mm256_stream_si256((void *)dst, low);
    _mm256_stream_si256((void *)(dst + 32), high);
}

static inline void line_sse2(unsigned char *dst, const unsigned char *from)
{
    for (size_t i = 0; i < LINE; i += 16)
        _mm_stream_si128((void *)(dst + i), _mm_loadu_si128((const void *)(from + i)));
}

/* AVX2 and SSE2 differ only in how they store one line. */
#define DEFINE_LINES(name, attribute, store_line)                                                  \
    attribute static void name(void *to, const struct rpmi_gather *from, size_t len)               \
    {                                                                                              \
        unsigned char *dst = to;                                                                   \
        unsigned char line[LINE] __attribute__((aligned(64)));                                     \
        size_t data = from->head_bytes + from->body_bytes;                                         \
        size_t at;                                                                                 \
                                                                                                   \
        assemble(line, from, 0);                                                                   \
        store_line(dst, line);                                                                     \
        for (at = LINE; at + LINE <= data; at += LINE)                                             \
            store_line(dst + at, from->body + (at - from->head_bytes));                            \
        if (at < data) {                                                                           \
            assemble(line, from, at);                                                              \
            store_line(dst + at, line);                                                            \
            at += LINE;                                                                            \
        }                                                                                          \
        if (at < len)                                                                              \
            memset(line, 0, LINE);                                                                 \
        for (; at < len; at += LINE)                                                               \
            store_line(dst + at, line);                                                            \
    }

DEFINE_LINES(lines_avx2, WITH_AVX2, line_avx2)
DEFINE_LINES(lines_sse2, , line_sse2)

static inline void write_by(rpmi_lines_fn *lines, void *dst, const struct rpmi_gather *from,
                            size_t len)
{
    if (len <= rpmi_cpu.store_max) {
        rpmi_store_write(dst, from, len);
    } else if (!whole_lines(dst, len)) {
        rpmi_edges_write(dst, from, len, lines);
    } else if (len != 0) {
        RPM_ASSERT(from->head_bytes <= LINE && from->head_bytes + from->body_bytes <= len);
        lines(dst, from, len);
    }
}

/* A body of whole lines is stored directly: this path needs no stack frame. */
#define DEFINE_WRITE(name, attribute, lines, store_line)                                           \
    __attribute__((noinline)) static void lines##_slow(void *dst, const void *head,                \
                                                       size_t head_bytes, const void *body,        \
                                                       size_t body_bytes, size_t len)              \
    {                                                                                              \
        struct rpmi_gather from = { head, head_bytes, body, body_bytes };                          \
                                                                                                   \
        write_by(lines, dst, &from, len);                                                          \
    }                                                                                              \
                                                                                                   \
    attribute static void name(void *dst, const void *head, size_t head_bytes, const void *body,   \
                               size_t body_bytes, size_t len)                                      \
    {                                                                                              \
        if (!is_lines(dst, body_bytes, len)) {                                                     \
            lines##_slow(dst, head, head_bytes, body, body_bytes, len);                            \
            return;                                                                                \
        }                                                                                          \
        RPM_ASSERT(head_bytes == 0);                                                               \
        for (size_t at = 0; at < len; at += LINE)                                                  \
            store_line((unsigned char *)dst + at, (const unsigned char *)body + at);               \
    }

DEFINE_WRITE(write_avx2, WITH_AVX2, lines_avx2, line_avx2)
DEFINE_WRITE(write_sse2, , lines_sse2, line_sse2)

#define DEFINE_FLUSH(name, attribute, flush_line)                                                  \
    attribute static void name(const void *ptr, size_t len)                                        \
    {                                                                                              \
        uintptr_t at = (uintptr_t)ptr & ~(uintptr_t)(LINE - 1);                                    \
                                                                                                   \
        for (; at < (uintptr_t)ptr + len; at += LINE)                                              \
            flush_line((void *)at);                                                                \
    }

DEFINE_FLUSH(flush_clwb, __attribute__((target("clwb"))), _mm_clwb)
DEFINE_FLUSH(flush_clflushopt, __attribute__((target("clflushopt"))), _mm_clflushopt)
DEFINE_FLUSH(flush_clflush, , _mm_clflush)

/* The register state that the operating system saves: other registers must not be used. */
static uint64_t saved_state(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

static void choose_copy(enum rpmi_cpu_copy best, uint32_t leaf7_ebx)
{
    const uint64_t avx_state = 0x6;     /* XCR0: SSE, AVX; Intel SDM volume 1, 13.3 */
    const uint64_t avx512_state = 0xe6; /* and opmask, upper halves */
    uint32_t eax, ebx, ecx, edx;
    uint64_t state = 0;

    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_OSXSAVE) != 0)
        state = saved_state();
    if (best >= RPMI_COPY_SSE2) {
        rpmi_cpu.nt_write = write_sse2;
        rpmi_cpu.copy = RPMI_COPY_SSE2;
        rpmi_cpu.copy_name = "sse2 non-temporal";
    }
    if (best >= RPMI_COPY_AVX2 && (leaf7_ebx & bit_AVX2) != 0 && (state & avx_state) == avx_state) {
        rpmi_cpu.nt_write = write_avx2;
        rpmi_cpu.copy = RPMI_COPY_AVX2;
        rpmi_cpu.copy_name = "avx2 non-temporal";
    }
    if (best >= RPMI_COPY_AVX512 && (leaf7_ebx & bit_AVX512F) != 0 &&
        (leaf7_ebx & bit_AVX512BW) != 0 && (leaf7_ebx & bit_BMI2) != 0 &&
        (leaf7_ebx & bit_CLWB) != 0 && (state & avx512_state) == avx512_state) {
        rpmi_cpu.nt_write = write_avx512;
        rpmi_cpu.back_write = back_avx512;
        rpmi_cpu.nt_frame = frame_avx512;
        rpmi_cpu.lone_frame = lone_frame_avx512;
        rpmi_cpu.copy = RPMI_COPY_AVX512;
        rpmi_cpu.copy_name = "avx512 non-temporal";
    }
}

/*
 * How short a write is cheaper as plain stores and clwb. A drain of non-temporal stores waits for
 * memory, on Intel longer than a drain of write-backs: 231 against 178 ns for one line, 244 against
 * 194 for two, 263 against 250 for five, 275 against 305 for eight (Sapphire Rapids, tmpfs). If the
 * lines were prefetched, write-backs are faster up to a greater length: 203 ns for five, 229 for
 * eight, 302 against 290 for sixteen. On AMD non-temporal stores win at every size: 80 against 140
 * ns at 64 bytes (Zen 4).
 *
 * For lone frames the limit is lower: a reader that follows the tail on another CPU takes the
 * prefetched lines back, and a writer of 256 bytes then needs 4 to 6 times as long.
 */
static void choose_lengths(void)
{
    uint32_t eax, ebx, ecx, edx;

    if (rpmi_cpu.flush != flush_clwb || !__get_cpuid(0, &eax, &ebx, &ecx, &edx))
        return;
    if (ebx != signature_INTEL_ebx || ecx != signature_INTEL_ecx || edx != signature_INTEL_edx)
        return;
    rpmi_cpu.store_max = 4 * LINE;
    rpmi_cpu.back_max = 5 * LINE; /* a record of 256 bytes */
}

void rpmi_cpu_choose_native(enum rpmi_cpu_copy best)
{
    uint32_t eax, ebx = 0, ecx, edx;

    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        ebx = 0;
    rpmi_cpu.can_flush = true;
    if ((ebx & bit_CLWB) != 0) {
        rpmi_cpu.flush = flush_clwb;
        rpmi_cpu.flush_name = "clwb";
    } else if ((ebx & bit_CLFLUSHOPT) != 0) {
        rpmi_cpu.flush = flush_clflushopt;
        rpmi_cpu.flush_name = "clflushopt";
    } else {
        rpmi_cpu.flush = flush_clflush;
        rpmi_cpu.flush_name = "clflush";
    }
    choose_copy(best, ebx);
    choose_lengths();
}

#endif
