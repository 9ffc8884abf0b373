/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.h: the memory of a server machine: its pool, of which some lines may not be durable yet,
 * and its DRAM, which is never durable. Decides whether a write arrives in the persistence domain.
 *
 * Tests: tests/unit/sim/device/media_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_MEDIA_H
#define RPMI_SIM_DEVICE_MEDIA_H

#include "sim/device/cache.h"
#include "sim/preset/preset.h"

#include <stdbool.h>
#include <stdint.h>

enum rpmi_sim_place { RPMI_PLACE_POOL = 0, RPMI_PLACE_DRAM = 1 };

/* The kind of writer, which decides whether a write stays in the cache. */
enum rpmi_writer {
    RPMI_BY_NIC = 0,    /* posted write */
    RPMI_BY_CPU = 1,    /* cached store */
    RPMI_BY_STREAM = 2, /* non-temporal store that has left its buffer */
    RPMI_BY_ATOMIC = 3  /* NIC's atomic: visible, never durable by itself */
};

/* The memory that an access refers to. */
struct rpmi_sim_address {
    enum rpmi_sim_place place;
    uint64_t offset;
};

/* The part of a write that falls into one line. */
struct rpmi_piece {
    uint64_t offset; /* in the place */
    const unsigned char *from;
    uint32_t bytes;
};

struct rpmi_sim_media {
    const struct rpmi_preset *preset;
    unsigned char *room; /* one allocation for all below */
    unsigned char *pool;
    uint64_t pool_bytes;
    unsigned char *dram;
    uint64_t dram_bytes;
    struct rpmi_cache cache; /* over the pool */
};

/* All zeros, all durable. RPM_E_NOMEM. */
int rpmi_sim_media_open(struct rpmi_sim_media *media, const struct rpmi_preset *preset,
                        uint64_t pool_bytes, uint64_t dram_bytes);
void rpmi_sim_media_close(struct rpmi_sim_media *media);

/* The visible bytes. The caller has checked the range. */
const unsigned char *rpmi_sim_media_at(const struct rpmi_sim_media *media,
                                       enum rpmi_sim_place place, uint64_t offset, uint64_t len);

/* A write inside one line arrives. Returns true if it left the line dirty. */
bool rpmi_sim_media_land(struct rpmi_sim_media *media, enum rpmi_sim_place place,
                         const struct rpmi_piece *piece, enum rpmi_writer writer,
                         struct rpmi_rng *rng);

/* Bytes from @offset up to the end of its line, at most @len. */
static inline uint32_t rpmi_line_part(uint64_t offset, uint64_t len)
{
    uint64_t rest = RPMI_LINE_BYTES - offset % RPMI_LINE_BYTES;

    return (uint32_t)(len < rest ? len : rest);
}

#endif
