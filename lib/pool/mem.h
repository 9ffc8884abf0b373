/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h: the interface of the pool to memory: load, store, and bring a range to its persistence
 * domain. Real memory and the device model both implement it.
 */
#ifndef RPMI_POOL_MEM_H
#define RPMI_POOL_MEM_H

#include "base/assert.h"
#include "base/bytes.h"

#include <stdint.h>

struct rpmi_mem;

struct rpmi_mem_ops {
    /* Copy @len bytes out. Bounds were checked by the caller. */
    void (*load)(struct rpmi_mem *mem, uint64_t offset, void *to, uint64_t len);

    /* Copy @len bytes in; visible to later loads, durable only after persist. An aligned 8-byte
     * store is never torn. */
    void (*store)(struct rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len);

    /* Return 0 when the range is in the persistence domain, or RPM_E_IO. Blocks. */
    int (*persist)(struct rpmi_mem *mem, uint64_t offset, uint64_t len);

    /* Compare-and-swap of an aligned word, atomic against every other access. Returns the old
     * value. */
    uint64_t (*cas)(struct rpmi_mem *mem, uint64_t offset, uint64_t expect, uint64_t desired);
};

/* Embedded in the struct that implements it. */
struct rpmi_mem {
    const struct rpmi_mem_ops *ops;
    uint64_t bytes;
};

static inline void rpmi_mem_load(struct rpmi_mem *mem, uint64_t offset, void *to, uint64_t len)
{
    RPM_ASSERT(rpmi_in_bounds(offset, len, mem->bytes));
    mem->ops->load(mem, offset, to, len);
}

static inline void rpmi_mem_store(struct rpmi_mem *mem, uint64_t offset, const void *from,
                                  uint64_t len)
{
    RPM_ASSERT(rpmi_in_bounds(offset, len, mem->bytes));
    mem->ops->store(mem, offset, from, len);
}

static inline int rpmi_mem_persist(struct rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    RPM_ASSERT(rpmi_in_bounds(offset, len, mem->bytes));
    return mem->ops->persist(mem, offset, len);
}

#endif
