/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_node.h: nodes of an ordered index: read, split, given up.
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#ifndef DTX_ENGINE_ORDERED_NODE_H
#define DTX_ENGINE_ORDERED_NODE_H

#include <dtx/ordered_index.h>

namespace dtx
{

inline constexpr uint32_t kDepthMax = 16; /* 14 to the 16th is more than there are slots */

Address root_of(const Store &store, uint32_t table, uint64_t key);

/* The first entry that is not smaller than @key; used if there is none. */
uint32_t lower_bound(const Node &node, uint64_t key);

/* Of an inner node: the entry of the child that @key is in. */
uint32_t child_of(const Node &node, uint64_t key);

void add_entry(Node &node, uint64_t key, uint64_t slot);
void remove_entry(Node &node, uint32_t i);

/* The node, as an object that the transaction has seen. A root that was never written becomes an
 * empty leaf. */
Task<Access *> fetch_node(Store &store, ReadWriteSet &set, Address address);

/* A node as this transaction has it or, not @anew, as it was when last looked at; nullptr: it is
 * to be looked at. The pointer is good until the coroutine waits. */
const Node *known_node(Store &store, ReadWriteSet &set, Address address, bool anew);

/* Read a node without a transaction into @node. False: another session is writing it. */
Task<bool> look_at_node(Store &store, Address address, Node *node);

/* The leaf of a key, when it has room; nodes on the way that are full are split. */
Task<Access *> leaf_with_room(Store &store, ReadWriteSet &set, Address root, uint64_t key);

/* From the root to the leaf of a key, all of them as objects that the transaction has seen. */
Task<std::vector<Access *>> path_to_leaf(Store &store, ReadWriteSet &set, Address root,
                                         uint64_t key);

/* Take @leaf, which the transaction has made empty, out of the tree, with all above it that would
 * be empty. @key: any that it is for. */
Task<> drop_leaf(Store &store, ReadWriteSet &set, Address root, Access *leaf, uint64_t key);

} // namespace dtx
#endif
