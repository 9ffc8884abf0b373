/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_choose.c: choose the instructions with which this CPU copies and flushes.
 *
 * Invariant: after rpmi_cpu.nt_write and a fence every byte of the range is past the CPU caches.
 *
 * Tests: tests/unit/pmem/cpu_copy_test.cpp
 */
#include "pmem/cpu_lines.h"

struct rpmi_cpu rpmi_cpu;

static void written_frame(void *dst, const uint64_t head[3], const void *body, size_t body_bytes,
                          size_t len)
{
    rpmi_cpu.nt_write(dst, head, 3 * sizeof(head[0]), body, body_bytes, len);
}

/* For memory that needs no flush: a pool that needs one is refused on this CPU. */
static void flush_nothing(const void *ptr, size_t len)
{
    (void)ptr;
    (void)len;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

enum rpmi_cpu_copy rpmi_cpu_choose(enum rpmi_cpu_copy best)
{
    rpmi_cpu = (struct rpmi_cpu){
        .nt_write = rpmi_flushed_write,
        .back_write = rpmi_flushed_write,
        .nt_frame = written_frame,
        .lone_frame = written_frame,
        .flush = flush_nothing,
        .copy = RPMI_COPY_PLAIN,
        .copy_name = "memcpy",
        .flush_name = "none",
    };
    rpmi_cpu_choose_native(best);
    return rpmi_cpu.copy;
}

__attribute__((constructor)) static void choose_at_load(void)
{
    (void)rpmi_cpu_choose(RPMI_COPY_KINDS);
}

#if !defined(__x86_64__) && !defined(__aarch64__)
void rpmi_cpu_choose_native(enum rpmi_cpu_copy best)
{
    (void)best;
}
#endif
