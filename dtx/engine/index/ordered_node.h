/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_node.h: nodes of an ordered index: read, split, merge, remove.
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#ifndef DTX_ENGINE_ORDERED_NODE_H
#define DTX_ENGINE_ORDERED_NODE_H

#include "engine/format/node.h"
#include "engine/store/store.h"
#include <dtx/ordered_index.h>

namespace dtx
{

inline constexpr uint32_t kDepthMax =
    16; /* half full nodes have 14 entries, and 14^16 exceeds the number of slots */

Address root_of(const Store &store, uint32_t table, uint64_t key);

/* The index of the first entry that is not smaller than @key; node.used if there is none. */
uint32_t lower_bound(const Node &node, uint64_t key);

/* The index of the entry for @key in an inner node. The node's range includes the key. */
uint32_t child_of(const Node &node, uint64_t key);

void add_entry(Node &node, uint64_t key, uint64_t slot);
void remove_entry(Node &node, uint32_t i);

/* What was fetched from @address, as a node. Throws Inconsistent. */
Access *as_node(Access *fetched, Address address);

/* Awaited: the node, as an object of the transaction. Throws Inconsistent. */
inline auto fetch_node(Store &store, ReadWriteSet &set, Address address)
{
    return Then(store.objects.fetch(set, address),
                [address](Access *fetched) { return as_node(fetched, address); });
}

/* The same in the set or in mapped memory; else nullptr. */
Access *fetch_node_now(Store &store, ReadWriteSet &set, Address address);

/* The node as the transaction has it or, unless @anew, as the session has cached it; nullptr: it
 * has to be read. The pointer is valid until the coroutine waits. */
const Node *known_node(Store &store, ReadWriteSet &set, Address address, bool anew);

/* The node as known_node() has it; else, in mapped memory, as it is there: then the session caches
 * it, if it is an inner one, and the commit need not validate it. nullptr: it has to be read, or is
 * none of the tree any more. */
const Node *node_now(Store &store, ReadWriteSet &set, Address address);

/* Awaited: read a node into @node without adding it to the transaction. False: another session is
 * writing it. */
Task<bool> peek_node(Store &store, Address address, Node *node);

/* Awaited: the leaf of a key, with room for an entry; full nodes on the path are split. */
Task<Access *> leaf_with_room(Store &store, ReadWriteSet &set, Address root, uint64_t key);

/* Awaited: the nodes from the root to the leaf of a key, all of them objects of the transaction. */
Task<std::vector<Access *>> path_to_leaf(Store &store, ReadWriteSet &set, Address root,
                                         uint64_t key);

/* Awaited: after the transaction has removed the entry of @key from @leaf, which is not empty: if
 * it is sparse, merge it and a neighbour, and so on with the inner nodes above. */
Task<> shrink_leaf(Store &store, ReadWriteSet &set, Address root, Access *leaf, uint64_t key);

/* Awaited: remove @leaf, which the transaction has made empty, from the tree, and inner nodes that
 * would become empty. @key: any key in the leaf's range. */
Task<> drop_leaf(Store &store, ReadWriteSet &set, Address root, Access *leaf, uint64_t key);

} // namespace dtx
#endif
