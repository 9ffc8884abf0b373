/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h: one table of one copy with its index, as far as it was ever written, in memory.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#ifndef DTX_CHECK_PARTS_H
#define DTX_CHECK_PARTS_H

#include "engine/format/allocator.h"
#include "workload/findings.h"
#include <dtx/cluster.h>
#include <dtx/object.h>

#include <cstring>
#include <string>
#include <unordered_map>

namespace dtx::checks
{

/* A slot that was written: what its header says, and how often an index leads to it. */
struct Slot {
    uint64_t key;
    bool valid;
    uint32_t entered = 0;
};

/* A bucket or node with how often others, or the root, lead to it. */
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

/* One index entry: to a row of that key, which nothing else leads to. */
void enter(const Cluster &cluster, Slots &rows, Address row, uint64_t key, Findings &found);

/* Go through the index of a table, from its homes or its root, and enter what is in it. */
void walk_buckets(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows,
                  Findings &found);
void walk_nodes(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows,
                Findings &found);

/* What the allocator heads say of the slots of a table or an index, against what is in them. */
void check_slots(const Cluster &cluster, uint32_t table, const Slots &slots,
                 const std::unordered_map<uint64_t, AllocatorHead> &heads, Findings &found);

inline std::string name_of(const Cluster &cluster, Address address)
{
    return "table '" + cluster.schema().tables()[address.table()].name + "' shard " +
           std::to_string(address.shard()) + " slot " + std::to_string(address.slot());
}

} // namespace dtx::checks
#endif
