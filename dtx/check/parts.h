/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h: the written slots of one table of one copy, and of its index, in memory.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#ifndef DTX_CHECK_PARTS_H
#define DTX_CHECK_PARTS_H

#include "engine/format/allocator.h"
#include "engine/format/roots.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>
#include <dtx/object.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace dtx::checks
{

/* A written slot: fields of its header, and how many index entries refer to it. */
struct Slot {
    uint64_t key = 0;
    uint32_t entered = 0;
    bool written = false;
    bool valid = false;
    bool returned = false; /* in the list of returned slots */
};

/* A bucket or node, and how often the walk from homes or root has reached it. */
template <class Body> struct Inner {
    Body body;
    uint32_t reached = 0;
    bool written = false;
    bool valid = false;
};

/* Values of the written slots of one table. Slots are handed out in order, so most that lie near a
 * written one are written as well: they share a block of memory. */
template <class Value> class BySlot
{
  public:
    BySlot(const Cluster &cluster, uint32_t table) : table_(table), shards_(cluster.shards()) {}

    /* Of a slot that is written. */
    Value &add(Address address)
    {
        Shard &shard = shards_[address.shard()];
        size_t number = address.slot() / kTogether;

        if (number >= shard.size())
            shard.resize(number + 1);
        if (!shard[number])
            shard[number] = std::make_unique<Together>();

        Value &value = (*shard[number])[address.slot() % kTogether];

        value.written = true;
        return value;
    }
    /* nullptr: the slot is not written, or there is none, as a damaged object may say. */
    Value *find(Address address)
    {
        if (address.table() != table_ || address.shard() >= shards_.size())
            return nullptr;

        Shard &shard = shards_[address.shard()];
        size_t number = address.slot() / kTogether;

        if (number >= shard.size() || !shard[number])
            return nullptr;

        Value &value = (*shard[number])[address.slot() % kTogether];

        return value.written ? &value : nullptr;
    }
    /* Calls @take(address, value) for each written slot. */
    template <class Take> void each(Take take) const
    {
        for (uint32_t shard = 0; shard < shards_.size(); shard++)
            for (uint64_t first = 0; first < shards_[shard].size(); first++)
                for (uint64_t i = 0; shards_[shard][first] && i < kTogether; i++) {
                    const Value &value = (*shards_[shard][first])[i];

                    if (value.written)
                        take(Address::of(shard, table_, first * kTogether + i), value);
                }
    }

  private:
    static constexpr size_t kTogether = 128;
    using Together = std::array<Value, kTogether>;
    using Shard = std::vector<std::unique_ptr<Together>>;

    uint32_t table_;
    std::vector<Shard> shards_;
};

using Slots = BySlot<Slot>;
template <class Body> using Inners = BySlot<Inner<Body>>;

inline Slots slots_of(const Cluster &cluster, uint32_t copy, uint32_t table)
{
    Slots slots(cluster, table);

    cluster.each_object(table, copy, [&](Address address, const unsigned char *image, uint32_t) {
        const ObjectHeader &header = header_of(image);

        if (is_unused(cluster.schema(), address, header))
            return;

        Slot &slot = slots.add(address);

        slot.key = header.key;
        slot.valid = (header.flags & kObjectValid) != 0;
    });
    return slots;
}

template <class Body> Inners<Body> inners_of(const Cluster &cluster, uint32_t copy, uint32_t table)
{
    Inners<Body> inners(cluster, table);

    cluster.each_object(table, copy, [&](Address address, const unsigned char *image, uint32_t) {
        const ObjectHeader &header = header_of(image);

        if (is_unused(cluster.schema(), address, header))
            return;

        Inner<Body> &inner = inners.add(address);

        std::memcpy(&inner.body, image + sizeof(header), sizeof(inner.body));
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
void check_slots(const Cluster &cluster, uint32_t table, Slots &slots,
                 const std::unordered_map<uint64_t, AllocatorHead> &heads, Findings &found);

inline std::string name_of(const Cluster &cluster, Address address)
{
    return "table '" + cluster.schema().tables()[address.table()].name + "' shard " +
           std::to_string(address.shard()) + " slot " + std::to_string(address.slot());
}

} // namespace dtx::checks
#endif
