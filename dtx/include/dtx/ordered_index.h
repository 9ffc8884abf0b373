/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_index.h: a B+tree from keys to slots, one in each shard. Nodes are objects: a scan reads
 * the leaves of its range, and the commit validates that they have not changed, so no key can have
 * appeared in the range.
 *
 * Each node stores the range of its keys. The session caches inner nodes, and reads them again only
 * if they lead to a leaf whose range does not have the key.
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#ifndef DTX_ORDERED_INDEX_H
#define DTX_ORDERED_INDEX_H

#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace dtx
{

struct Store;

enum class Order { ascending, descending };

/* Awaited: the slot of a key's row, as this transaction sees it; nullopt: the key is absent. */
Task<std::optional<uint64_t>> ordered_find(Store &store, ReadWriteSet &set, uint32_t table,
                                           uint64_t key);

/* The same if the nodes are in the set, cached, or in mapped memory. nullopt: ordered_find() has to
 * be called. */
std::optional<std::optional<uint64_t>> ordered_find_now(Store &store, ReadWriteSet &set,
                                                        uint32_t table, uint64_t key);

/* Awaited: insert a key that is absent. */
Task<> ordered_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot);

/* The leaf to which a key can be added now, if the key is absent, and the leaf is known as above
 * and has room; else nullptr. put_in_leaf() adds it. */
Access *leaf_with_room_now(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key);
void put_in_leaf(Access *leaf, uint64_t key, uint64_t slot);

/* Awaited: remove a key. Returns its slot, or nullopt: the key was absent. */
Task<std::optional<uint64_t>> ordered_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                             uint64_t key);

/* A part of a table's keys: at most @limit of those with from <= key <= to. */
struct Range {
    uint64_t from;
    uint64_t to;
    uint32_t limit;
    Order order;
};

/* Awaited: the keys in the range, and their slots, in order. */
Task<std::vector<std::pair<uint64_t, uint64_t>>> ordered_range(Store &store, ReadWriteSet &set,
                                                               uint32_t table, Range range);

/* The same if the leaves are known as above; else nullopt. */
std::optional<std::vector<std::pair<uint64_t, uint64_t>>>
ordered_range_now(Store &store, ReadWriteSet &set, uint32_t table, Range range);

} // namespace dtx
#endif
