/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.h: the descriptor, the first bytes of a shard: which schema, shard and server it is
 * of, and how many shards the database has. It is written when the shard is created, and never
 * changes.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/descriptor_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_DESCRIPTOR_H
#define DTX_ENGINE_FORMAT_DESCRIPTOR_H

#include <dtx/layout.h>

#include <cstddef>
#include <cstdint>

namespace dtx
{

inline constexpr uint64_t kDescriptorMagic = 0x3144524148535844; /* "DXSHARD1" */
inline constexpr uint32_t kFormatVersion = 7;
inline constexpr uint32_t kNotDurable = 1; /* no redo logs, nothing is flushed */

struct Descriptor {
    uint64_t magic;
    uint32_t format;
    uint32_t schema_version;
    uint64_t schema_sum; /* of the description of the tables, at kDescriptorBytes */
    uint32_t shards;
    uint32_t shard;
    uint32_t replicas;
    uint32_t server;
    uint32_t description_bytes;
    uint32_t flags;    /* kNotDurable */
    uint64_t checksum; /* of the fields before it */
};
static_assert(offsetof(Descriptor, checksum) == 48 && sizeof(Descriptor) == 56);

/* Set magic, format and checksum. */
void seal(Descriptor &descriptor);

/* Is its checksum right? */
bool is_whole(const Descriptor &descriptor);

} // namespace dtx
#endif
