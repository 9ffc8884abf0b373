/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allocator.h: table 0 of every shard: its slot t is the allocator head of table t.
 *
 * A session takes up to kSlotsAtOnce slots at a time from the head, keeps the slots of rows that it
 * deletes, and returns its free slots when it ends. Returned slots form a linked list: each has the
 * number of the next in its key field. The free slots of a session that died stay unused until a
 * vacuum returns them.
 */
#ifndef DTX_ENGINE_ALLOCATOR_H
#define DTX_ENGINE_ALLOCATOR_H

#include "engine/format/bucket.h"
#include <dtx/schema.h>

#include <cstdint>

namespace dtx
{

inline constexpr uint32_t kAllocatorTable = 0;
inline constexpr uint64_t kSlotsAtOnce = 64;

struct AllocatorHead {
    uint64_t handed_out; /* slots from first_slot() on that were ever handed out */
    uint64_t returned;   /* the first slot on the list of returned slots, plus 1; 0: none */
};

/* The first slot of a table that may be handed out. */
inline uint64_t first_slot(const Schema &schema, uint64_t table)
{
    const TableSpec &spec = schema.tables()[table];

    if (spec.kind == TableKind::buckets)
        return first_spare_bucket(schema.tables()[spec.index].rows_max);
    return spec.kind == TableKind::nodes ? 1 : 0;
}

} // namespace dtx
#endif
