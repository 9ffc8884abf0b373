/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media_mem.c: load, store and persist over a mapping.
 *
 * Only the domain decides how a range is made durable: flush instructions for ADR, a fence for
 * eADR, msync for a page cache; volatile memory gets a fence, for its order alone.
 *
 * Invariant: once a persist failed, every later one fails too: the kernel may have dropped the
 * pages it could not write, and a second msync would then falsely succeed.
 *
 * Tests: tests/unit/pmem/media_test.cpp
 */
#include "pmem/media_map.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "pmem/cpu_copy.h"

#include <sys/mman.h>

static struct rpmi_media *media_of(struct rpmi_mem *mem)
{
    return (struct rpmi_media *)((unsigned char *)mem - offsetof(struct rpmi_media, mem));
}

static void media_load(struct rpmi_mem *mem, uint64_t offset, void *to, uint64_t len)
{
    const unsigned char *from = media_of(mem)->base + offset;

    if (len == sizeof(uint64_t) && rpmi_is_aligned(offset, sizeof(uint64_t))) {
        uint64_t word = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_ACQUIRE);

        memcpy(to, &word, sizeof(word));
    } else {
        memcpy(to, from, len);
    }
}

static void media_store(struct rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len)
{
    unsigned char *to = media_of(mem)->base + offset;

    if (len == sizeof(uint64_t) && rpmi_is_aligned(offset, sizeof(uint64_t))) {
        uint64_t word;

        memcpy(&word, from, sizeof(word));
        __atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELEASE);
    } else {
        memcpy(to, from, len);
    }
}

static int media_msync(struct rpmi_media *media, uint64_t offset, uint64_t len)
{
    uint64_t first = rpmi_align_down(offset, RPMI_PAGE_BYTES);

    if (msync(media->base + first, offset + len - first, MS_SYNC) == 0)
        return 0;
    media->failed = 1;
    return rpmi_fail(RPM_E_IO, "msync of the pool failed: %s", strerror(errno));
}

static int media_persist(struct rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    struct rpmi_media *media = media_of(mem);

    if (media->failed != 0)
        return rpmi_fail(RPM_E_IO, "an earlier msync of the pool failed, so nothing since can be "
                                   "called durable; check the medium, then restart the server");
    switch (media->facts.domain) {
    case RPM_DOMAIN_MSYNC:
        return media_msync(media, offset, len);
    case RPM_DOMAIN_ADR:
        RPM_ASSERT(rpmi_cpu.can_flush);
        rpmi_cpu_flush(media->base + offset, len);
        break;
    default:
        break;
    }
    rpmi_cpu_fence();
    return 0;
}

static uint64_t media_cas(struct rpmi_mem *mem, uint64_t offset, uint64_t expect, uint64_t desired)
{
    uint64_t *word = (uint64_t *)(void *)(media_of(mem)->base + offset);

    (void)__atomic_compare_exchange_n(word, &expect, desired, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return expect;
}

const struct rpmi_mem_ops rpmi_media_mem_ops = {
    .load = media_load,
    .store = media_store,
    .persist = media_persist,
    .cas = media_cas,
};

bool rpmi_media_by_cpu(const struct rpmi_media *media)
{
    return media->facts.domain != RPM_DOMAIN_MSYNC;
}
