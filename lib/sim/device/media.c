/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.c: the pool and the DRAM of one machine.
 *
 * Invariants
 *   DRAM is never dirty and never survives: the cache keeps no versions of its lines
 *   only the preset says where the persistence domain begins
 *
 * Tests: tests/unit/sim/device/media_test.cpp
 */
#include "sim/device/media.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <librpm/error.h>

int rpmi_sim_media_open(struct rpmi_sim_media *media, const struct rpmi_preset *preset,
                        uint64_t pool_bytes, uint64_t dram_bytes)
{
    size_t cache_bytes = rpmi_cache_bytes(pool_bytes);
    unsigned char *base;

    RPM_ASSERT(cache_bytes % RPMI_LINE_BYTES == 0);
    RPM_ASSERT(pool_bytes % RPMI_PAGE_BYTES == 0 && dram_bytes % RPMI_LINE_BYTES == 0);
    memset(media, 0, sizeof(*media));
    /* Not aligned by the allocator, so that the system provides a large pool zeroed and
     * untouched. */
    media->room =
        rpmi_alloc(RPMI_LINE_BYTES + cache_bytes + pool_bytes + dram_bytes, sizeof(uint64_t));
    if (media->room == NULL)
        return RPM_E_NOMEM;
    base = media->room + (RPMI_LINE_BYTES - (uintptr_t)media->room % RPMI_LINE_BYTES);
    media->preset = preset;
    media->pool = base + cache_bytes;
    media->pool_bytes = pool_bytes;
    media->dram = media->pool + pool_bytes;
    media->dram_bytes = dram_bytes;
    rpmi_cache_open(&media->cache, base, media->pool, pool_bytes, preset->unit_lines);
    return 0;
}

void rpmi_sim_media_close(struct rpmi_sim_media *media)
{
    rpmi_free(media->room);
    memset(media, 0, sizeof(*media));
}

const unsigned char *rpmi_sim_media_at(const struct rpmi_sim_media *media,
                                       enum rpmi_sim_place place, uint64_t offset, uint64_t len)
{
    if (place == RPMI_PLACE_DRAM) {
        RPM_ASSERT(rpmi_in_bounds(offset, len, media->dram_bytes));
        return media->dram + offset;
    }
    RPM_ASSERT(rpmi_in_bounds(offset, len, media->pool_bytes));
    return media->pool + offset;
}

static bool durable_on_arrival(const struct rpmi_preset *preset, enum rpmi_writer writer)
{
    if (writer == RPMI_BY_STREAM)
        return preset->domain != RPM_DOMAIN_MSYNC; /* non-temporal, so in the controller's queue */
    return rpmi_preset_at_once(preset, writer == RPMI_BY_NIC);
}

bool rpmi_sim_media_land(struct rpmi_sim_media *media, enum rpmi_sim_place place,
                         const struct rpmi_piece *piece, enum rpmi_writer writer,
                         struct rpmi_rng *rng)
{
    RPM_ASSERT(piece->bytes > 0 && piece->bytes == rpmi_line_part(piece->offset, piece->bytes));
    if (place == RPMI_PLACE_DRAM) {
        RPM_ASSERT(rpmi_in_bounds(piece->offset, piece->bytes, media->dram_bytes));
        memcpy(media->dram + piece->offset, piece->from, piece->bytes);
        return false;
    }
    RPM_ASSERT(rpmi_in_bounds(piece->offset, piece->bytes, media->pool_bytes));
    if (durable_on_arrival(media->preset, writer)) {
        rpmi_cache_write_through(&media->cache, piece->offset, piece->from, piece->bytes);
        return false;
    }
    rpmi_cache_write(&media->cache, piece->offset, piece->from, piece->bytes, rng);
    return true;
}
