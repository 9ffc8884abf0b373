/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h: the written slots of one table of one copy, and of its index, in memory.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#ifndef DTX_CHECK_PARTS_H
#define DTX_CHECK_PARTS_H

#include "engine/format/allocator.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>
#include <dtx/object.h>

#include <cstring>
#include <string>
#include <unordered_map>

namespace dtx::checks
{

/* A written slot: fields of its header, and how many index entries refer to it. */
struct Slot {
    uint64_t key;
    bool valid;
    uint32_t entered = 0;
};

/* A bucket or node, and how often the walk from homes or root has reached it. */
template <class Body> struct Inner {
    Body body;
    uint64_t key;
    bool valid;
    uint32_t reached = 0;
};

/* By address. */
using Slots = std::unordered_map<uint64_t, Slot>;
template <class Body> using Inners = std::unordered_map<uint64_t, Inner<Body>>;

inline Slots slots_of(const Cluster &cluster, uint32_t copy, uint32_t table)
{
    Slots slots;

    cluster.each_object(table, copy, [&](Address address, const unsigned char *image, uint32_t) {
        const ObjectHeader &header = header_of(image);

        if (header.version != 0)
            slots[address.word] = { header.key, (header.flags & kObjectValid) != 0 };
    });
    return slots;
}

template <class Body> Inners<Body> inners_of(const Cluster &cluster, uint32_t copy, uint32_t table)
{
    Inners<Body> inners;

    cluster.each_object(table, copy, [&](Address address, const unsigned char *image, uint32_t) {
        const ObjectHeader &header = header_of(image);

        if (header.version == 0)
            return;

        Inner<Body> &inner = inners[address.word];

        std::memcpy(&inner.body, image + sizeof(header), sizeof(inner.body));
        inner.key = header.key;
        inner.valid = (header.flags & kObjectValid) != 0;
    });
    return inners;
}

/* Counts an index entry that refers to slot @row; a finding unless a row of @key is there. */
void enter(const Cluster &cluster, Slots &rows, Address row, uint64_t key, Findings &found);

/* Walk the index of a table, from its home buckets or its root, and enter() each entry. */
void walk_buckets(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows,
                  Findings &found);
void walk_nodes(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows,
                Findings &found);

/* Compares the slots of a table or an index with its allocator heads. */
void check_slots(const Cluster &cluster, uint32_t table, const Slots &slots,
                 const std::unordered_map<uint64_t, AllocatorHead> &heads, Findings &found);

inline std::string name_of(const Cluster &cluster, Address address)
{
    return "table '" + cluster.schema().tables()[address.table()].name + "' shard " +
           std::to_string(address.shard()) + " slot " + std::to_string(address.slot());
}

} // namespace dtx::checks
#endif
