/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_copy.h: stores that bypass the CPU caches, and flushes of cache lines. The best instructions
 * of this machine are chosen once, when the library is loaded.
 *
 * Tests: tests/unit/pmem/cpu_copy_test.cpp
 */
#ifndef RPMI_CPU_COPY_H
#define RPMI_CPU_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum rpmi_cpu_copy {
    RPMI_COPY_PLAIN = 0, /* memcpy, then a flush of what it wrote */
    RPMI_COPY_SSE2 = 1,
    RPMI_COPY_AVX2 = 2,
    RPMI_COPY_AVX512 = 3, /* with BW: masked loads put head and body side by side */
    RPMI_COPY_KINDS = 4
};

typedef void rpmi_write_fn(void *dst, const void *head, size_t head_bytes, const void *body,
                           size_t body_bytes, size_t len);

/* rpmi_nt_write() with a head of three words, read one by one into registers: words that were just
 * stored cannot be loaded as one vector until they have reached the cache. */
typedef void rpmi_frame_fn(void *dst, const uint64_t head[3], const void *body, size_t body_bytes,
                           size_t len);

struct rpmi_cpu {
    rpmi_write_fn *nt_write;
    rpmi_write_fn *back_write;
    rpmi_frame_fn *nt_frame;
    rpmi_frame_fn *lone_frame; /* for one frame with a fence behind it: by the stores that drain
                                  soonest */
    void (*flush)(const void *ptr, size_t len);
    enum rpmi_cpu_copy copy;
    const char *copy_name;
    const char *flush_name; /* "clwb", "clflushopt", "clflush", "dc cvap", "dc cvadp", "none" */
    size_t store_max;       /* writes up to this long are plain stores and flushes; 0: none */
    size_t back_max;        /* and lone frames up to this; 0: none */
    bool can_flush;         /* false: no pool in the domain ADR can be opened */
};

/* Chosen before main(). */
extern struct rpmi_cpu rpmi_cpu;

/*
 * Write @head, @body, then zeros up to @len bytes at @dst. Whole aligned lines go past the caches
 * (or are stored and flushed, where that is cheaper); a part of a line at either edge is stored
 * plainly and its line flushed, so that no byte outside [@dst, @dst + @len) is touched. In the
 * persistence domain (ADR) after rpmi_cpu_fence().
 * @head_bytes is at most 64; head_bytes + body_bytes <= len. @head and @body may not overlap @dst.
 */
static inline void rpmi_nt_write(void *dst, const void *head, size_t head_bytes, const void *body,
                                 size_t body_bytes, size_t len)
{
    rpmi_cpu.nt_write(dst, head, head_bytes, body, body_bytes, len);
}

/* The same bytes by stores into the caches at every length, each line then written back: the
 * alternative to rpmi_nt_write() (H4). In the persistence domain after rpmi_cpu_fence(), as with
 * it. */
static inline void rpmi_back_write(void *dst, const void *head, size_t head_bytes, const void *body,
                                   size_t body_bytes, size_t len)
{
    rpmi_cpu.back_write(dst, head, head_bytes, body, body_bytes, len);
}
rpmi_frame_fn rpmi_back_frame;

/* The same bytes by plain stores, into the caches: for memory that needs no flush, or is flushed
 * later. */
rpmi_write_fn rpmi_plain_write;
rpmi_frame_fn rpmi_plain_frame;

/* Write every cache line that [@ptr, @ptr + @len) touches back to memory; complete after
 * rpmi_cpu_fence(). */
static inline void rpmi_cpu_flush(const void *ptr, size_t len)
{
    rpmi_cpu.flush(ptr, len);
}

/* Order, and complete, this thread's earlier non-temporal stores and flushes. */
static inline void rpmi_cpu_fence(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb sy" : : : "memory"); /* a DMB, as of C11 fences, completes no clean */
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* For tests: use nothing better than @best from now on. Returns what is now in use. */
enum rpmi_cpu_copy rpmi_cpu_choose(enum rpmi_cpu_copy best);

#endif
