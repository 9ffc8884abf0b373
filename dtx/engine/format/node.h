/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.h: a node of an ordered index, and how many of them a table has.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_NODE_H
#define DTX_ENGINE_FORMAT_NODE_H

#include <cstdint>

namespace dtx
{

inline constexpr uint32_t kNodeEntries = 28;

/* An entry of a leaf is a key and its row's slot; of an inner node, the lowest key of a child's
 * range, and the child's slot. The root is always slot 0. */
struct Node {
    uint64_t low;   /* range of the keys, */
    uint64_t high;  /* inclusive */
    uint32_t level; /* 0: a leaf */
    uint32_t used;
    uint64_t unused;
    struct Entry {
        uint64_t key;
        uint64_t slot;
    } entry[kNodeEntries];
};
static_assert(sizeof(Node) == 480); /* 512 with its header: two XPLines */

/* How many slots a tree of @rows_max rows needs if splits have left all nodes half full. */
constexpr uint64_t node_slots(uint64_t rows_max)
{
    return rows_max / (kNodeEntries / 2) * 5 / 4 + 512;
}

} // namespace dtx
#endif
