/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h: the library's allocator. It counts, so that a test can show that nothing is allocated
 * after open, and it fails on demand, so that a test can make each allocation fail in turn.
 */
#ifndef RPMI_MEM_H
#define RPMI_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, aligned to @align (a power of two, at least 8). NULL and the thread's last error
 * set when there is none. */
void *rpmi_alloc(size_t bytes, size_t align);

/* As rpmi_alloc(), but the bytes are not set: for large blocks of which most callers use a part. */
void *rpmi_alloc_unset(size_t bytes, size_t align);

/* Safe on NULL. */
void rpmi_free(void *ptr);

/* From now on an allocation in this thread is an assertion. Nests. */
void rpmi_mem_freeze(void);
void rpmi_mem_thaw(void);

/* Allocations by all threads so far. */
uint64_t rpmi_mem_count(void);

/* For tests: make the @nth further allocation of this thread fail (1: the next); 0: none. */
void rpmi_mem_fail_at(uint64_t nth);

/*
 * Arena: one block from which open takes pieces; it is freed as a whole. So the caller can supply
 * the memory of a handle.
 */
struct rpmi_arena {
    unsigned char *base;
    size_t bytes;
    size_t used;
    bool owned; /* base came from rpmi_alloc() */
};

/* An arena in the caller's @mem, aligned to a cache line, or in new memory if @mem is NULL.
 * RPM_E_INVAL (alignment), RPM_E_NOMEM. */
int rpmi_arena_open(struct rpmi_arena *arena, void *mem, size_t bytes);

/* Zeroed piece, aligned to a cache line. Never fails: the caller computed the size before, so too
 * little room fails an assertion. */
void *rpmi_arena_take(struct rpmi_arena *arena, size_t bytes);

/* Bytes of the arena that rpmi_arena_take() uses up for @bytes. */
size_t rpmi_arena_cost(size_t bytes);

void rpmi_arena_close(struct rpmi_arena *arena);

#endif
