/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.c: the library's allocator, which counts and can be made to fail, and the arena on top of it.
 *
 * Invariants
 *   every byte handed out is zero, except by rpmi_alloc_unset()
 *   nothing is handed out to a frozen thread
 *   an arena hands out at most the bytes it was opened with, in whole cache lines
 *
 * Freeze and failure are settings of a thread: those of a test's thread must not affect other
 * threads.
 *
 * Tests: tests/unit/base/mem_test.cpp
 */
#include "base/mem.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_least64_t count;
static _Thread_local uint32_t frozen;
static _Thread_local uint64_t fail_in; /* allocations until the one that fails, 0: none */

static void *allocate(size_t bytes, size_t align, bool zero)
{
    void *ptr = NULL;

    RPM_ASSERT(frozen == 0);
    RPM_ASSERT(align >= 8 && (align & (align - 1)) == 0);
    if (fail_in > 0 && --fail_in == 0) {
        rpmi_fail(RPM_E_NOMEM, "out of memory: %zu bytes (made to fail)", bytes);
        return NULL;
    }
    if (bytes == 0)
        bytes = 1;
    if (zero && align <= _Alignof(max_align_t)) {
        /* calloc() knows that large blocks come zeroed from the system; memset() would write them
         * again. */
        ptr = calloc(1, bytes);
    } else if (posix_memalign(&ptr, align, bytes) != 0) {
        ptr = NULL;
    } else if (zero) {
        memset(ptr, 0, bytes);
    }
    if (ptr == NULL) {
        rpmi_fail(RPM_E_NOMEM, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return ptr;
}

void *rpmi_alloc(size_t bytes, size_t align)
{
    return allocate(bytes, align, true);
}

void *rpmi_alloc_unset(size_t bytes, size_t align)
{
    return allocate(bytes, align, false);
}

void rpmi_free(void *ptr)
{
    free(ptr);
}

void rpmi_mem_freeze(void)
{
    RPM_ASSERT(frozen < UINT32_MAX);
    frozen++;
}

void rpmi_mem_thaw(void)
{
    RPM_ASSERT(frozen > 0);
    frozen--;
}

uint64_t rpmi_mem_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void rpmi_mem_fail_at(uint64_t nth)
{
    fail_in = nth;
}

int rpmi_arena_open(struct rpmi_arena *arena, void *mem, size_t bytes)
{
    unsigned char *base = mem;

    if (!rpmi_is_aligned((uintptr_t)mem, RPMI_LINE_BYTES))
        return rpmi_fail(RPM_E_INVAL,
                         "memory for a handle at %p; its address must be a multiple of %u", mem,
                         RPMI_LINE_BYTES);
    if (base == NULL) /* rpmi_arena_take() sets each piece to zero */
        base = rpmi_alloc_unset(bytes, RPMI_LINE_BYTES);
    if (base == NULL)
        return RPM_E_NOMEM;
    arena->base = base;
    arena->bytes = bytes;
    arena->used = 0;
    arena->owned = mem == NULL;
    return 0;
}

void *rpmi_arena_take(struct rpmi_arena *arena, size_t bytes)
{
    size_t cost = rpmi_arena_cost(bytes);
    unsigned char *piece = arena->base + arena->used;

    RPM_ASSERT(arena->base != NULL);
    RPM_ASSERT(cost >= bytes && cost <= arena->bytes - arena->used);
    arena->used += cost;
    memset(piece, 0, bytes);
    return piece;
}

size_t rpmi_arena_cost(size_t bytes)
{
    return (size_t)rpmi_align_up(bytes, RPMI_LINE_BYTES);
}

void rpmi_arena_close(struct rpmi_arena *arena)
{
    RPM_ASSERT(arena->used <= arena->bytes);
    if (arena->owned)
        rpmi_free(arena->base);
    memset(arena, 0, sizeof(*arena));
}
