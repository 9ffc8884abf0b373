/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_index.h: a B+tree from keys to slots, one in each shard. Nodes are objects: a range that
 * was gone through is a list of leaves that must not have changed at the commit, so nothing can
 * have appeared in it.
 *
 * Inner nodes are remembered by the session and only looked at again when a leaf shows that they
 * are no longer true: each node says itself which keys it is for.
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

class Store;

inline constexpr uint32_t kNodeEntries = 28;

/* In a leaf an entry is a key and its row's slot; above, the first key that a child is for, and the
 * child's slot. The root is slot 0, for good. */
struct Node {
    uint64_t low;   /* keys it is for, */
    uint64_t high;  /* this one among them */
    uint32_t level; /* 0: a leaf */
    uint32_t used;
    uint64_t unused;
    struct Entry {
        uint64_t key;
        uint64_t slot;
    } entry[kNodeEntries];
};
static_assert(sizeof(Node) == 480); /* 512 with its header: two XPLines */

/* Enough where nodes are half full, as splits leave them. */
constexpr uint64_t node_slots(uint64_t rows_max)
{
    return rows_max / (kNodeEntries / 2) * 5 / 4 + 512;
}

enum class Order { ascending, descending };

Task<std::optional<uint64_t>> ordered_find(Store &store, ReadWriteSet &set, uint32_t table,
                                           uint64_t key);

/* Enter a key that is not there. */
Task<> ordered_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot);

/* Take a key out. What its slot was, or nothing: it was not there. */
Task<std::optional<uint64_t>> ordered_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                             uint64_t key);

/* A part of a table's keys: at most @limit of those with from <= key <= to. */
struct Range {
    uint64_t from;
    uint64_t to;
    uint32_t limit;
    Order order;
};

/* Those keys and their slots, in order. */
Task<std::vector<std::pair<uint64_t, uint64_t>>> ordered_range(Store &store, ReadWriteSet &set,
                                                               uint32_t table, Range range);

} // namespace dtx
#endif
