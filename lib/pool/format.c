/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.c: format a pool. The superblock is written last, after everything that it describes is
 * durable, so that an incomplete pool is never taken for a pool.
 *
 * Format: FORMAT.md, section 2.   Tests: tests/unit/pool/format_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "wire/start.h"

#include <inttypes.h>

static int write_all(struct rpmi_mem *pool, const struct rpmi_super *super,
                     const unsigned char *block, uint64_t magic);

static uint64_t dir_bytes(const struct rpmi_super *super)
{
    return (uint64_t)super->entries * RPMI_DIRENT_BYTES;
}

int rpmi_pool_format(struct rpmi_mem *pool, uint64_t pool_id)
{
    struct rpmi_super super = {
        .version = RPMI_FORMAT_VERSION,
        .pool_id = pool_id,
        .pool_bytes = pool->bytes,
        .dir_offset = RPMI_DIR_OFFSET,
        .entries = rpmi_super_entries(pool->bytes),
    };
    unsigned char *block;
    int err;

    if (pool->bytes < RPMI_POOL_BYTES_MIN || !rpmi_is_aligned(pool->bytes, RPMI_PAGE_BYTES))
        return rpmi_fail(RPM_E_INVAL,
                         "a pool has at least %u bytes and a multiple of %u, not %" PRIu64,
                         RPMI_POOL_BYTES_MIN, RPMI_PAGE_BYTES, pool->bytes);
    super.data_offset = rpmi_align_up(super.dir_offset + dir_bytes(&super), RPMI_PAGE_BYTES);
    block = rpmi_alloc(RPMI_SUPER_BYTES, RPMI_LINE_BYTES);
    if (block == NULL)
        return RPM_E_NOMEM;
    err = write_all(pool, &super, block, rpmi_super_put(block, &super));
    rpmi_free(block);
    return err;
}

static int write_all(struct rpmi_mem *pool, const struct rpmi_super *super,
                     const unsigned char *block, uint64_t magic)
{
    unsigned char free_slot[RPMI_DIRENT_BYTES];
    unsigned char word[sizeof(uint64_t)];
    int err;

    RPM_ASSERT(magic != 0 && rpmi_load64(block) == 0); /* no superblock until the magic is stored */
    RPM_ASSERT(rpmi_is_aligned(super->data_offset, RPMI_PAGE_BYTES));
    RPM_ASSERT(super->data_offset < super->pool_bytes);
    rpmi_dirent_put_free(free_slot);
    for (uint32_t i = 0; i < super->entries; i++)
        rpmi_mem_store(pool, super->dir_offset + (uint64_t)i * RPMI_DIRENT_BYTES, free_slot,
                       sizeof(free_slot));
    err = rpmi_mem_persist(pool, super->dir_offset, dir_bytes(super));
    if (err != 0)
        return err;
    rpmi_mem_store(pool, 0, block, RPMI_SUPER_BYTES);
    rpmi_start_put(word, &(struct rpmi_start_count){ .starts = 0 });
    for (uint32_t copy = 0; copy < RPMI_START_COPIES; copy++)
        rpmi_mem_store(pool, RPMI_START_AT + (uint64_t)copy * RPMI_START_STRIDE, word,
                       sizeof(word));
    err = rpmi_mem_persist(pool, 0, RPMI_DIR_OFFSET);
    if (err != 0)
        return err;
    /* 8 bytes at once: a power cut before this store leaves memory that is not a pool. */
    rpmi_store64(word, magic);
    rpmi_mem_store(pool, 0, word, sizeof(word));
    return rpmi_mem_persist(pool, 0, sizeof(word));
}
