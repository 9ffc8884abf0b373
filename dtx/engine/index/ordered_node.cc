/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_node.cc: read nodes of a tree, split full ones, merge sparse ones and remove empty ones.
 * A transaction that splits, merges or removes a node reads all nodes on the path from the root as
 * objects; its commit validates them, or, after a merge, those that it writes.
 *
 * Invariants
 *   the ranges of a node's children are its own range, without gaps and in order
 *   entry 0 of an inner node has the node's own low key
 *   no node but the root is empty
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#include "engine/index/ordered_node.h"

#include "engine/base/assert.h"
#include "engine/store/store.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>

namespace dtx
{

/* The most inner nodes that a session caches, about a megabyte. At the limit it forgets all of
 * them; it soon reads those in use again. */
static constexpr size_t kNodesMost = 2048;
static constexpr uint32_t kMergedMost = kNodeEntries * 3 / 4; /* entries of a merged node */

Address root_of(const Store &store, uint32_t table, uint64_t key)
{
    return Address::of(store.servers.shard_of(table, key),
                       store.servers.cluster().schema().tables()[table].index, 0);
}

uint32_t lower_bound(const Node &node, uint64_t key)
{
    const auto *end = node.entry + node.used;

    return static_cast<uint32_t>(
        std::lower_bound(node.entry, end, key,
                         [](const Node::Entry &entry, uint64_t k) { return entry.key < k; }) -
        node.entry);
}

uint32_t child_of(const Node &node, uint64_t key)
{
    uint32_t i = lower_bound(node, key);

    if (i < node.used && node.entry[i].key == key)
        return i;
    DTX_ASSERT(i > 0); /* entry 0 has the node's low key */
    return i - 1;
}

void add_entry(Node &node, uint64_t key, uint64_t slot)
{
    uint32_t i = lower_bound(node, key);

    DTX_ASSERT(node.used < kNodeEntries);
    std::copy_backward(node.entry + i, node.entry + node.used, node.entry + node.used + 1);
    node.entry[i] = { key, slot };
    node.used++;
}

void remove_entry(Node &node, uint32_t i)
{
    DTX_ASSERT(i < node.used);
    std::copy(node.entry + i + 1, node.entry + node.used, node.entry + i);
    node.used--;
}

/* The bytes of the node come from a server and may be anything: false for a node whose use would
 * lead out of bounds, and for a root whose range is not that of all keys. */
static bool is_sane(const Node &node, Address address)
{
    if (address.slot() == 0 && (node.low != 0 || node.high != UINT64_MAX))
        return false;
    return node.used <= kNodeEntries && node.level < kDepthMax && node.low <= node.high &&
           (node.level == 0 || (node.used > 0 && node.entry[0].key == node.low));
}

Access *as_node(Access *access, Address address)
{
    if (!is_sane(access->as<Node>(), address))
        throw Inconsistent{};
    return access;
}

Access *fetch_node_now(Store &store, ReadWriteSet &set, Address address)
{
    Access *fetched = store.objects.fetch_now(set, address, set.find(address));

    return fetched != nullptr ? as_node(fetched, address) : nullptr;
}

/* Only inner nodes, because leaves change often. */
static void cache_node(Store &store, Address address, const Node &node)
{
    if (node.level == 0) {
        store.nodes.erase(address.word);
        return;
    }
    if (store.nodes.size() >= kNodesMost)
        store.nodes.clear();
    store.nodes[address.word] = node;
}

const Node *known_node(Store &store, ReadWriteSet &set, Address address, bool anew)
{
    Access *own = set.find(address);

    if (own != nullptr && own->whole && own->valid())
        return &own->as<Node>();
    if (anew)
        return nullptr;

    auto found = store.nodes.find(address.word);

    return found != store.nodes.end() ? &found->second : nullptr;
}

Task<bool> peek_node(Store &store, Address address, Node *node)
{
    /* An array of words, because GCC 12 ignores alignas() in a coroutine's frame. */
    uint64_t words[slot_bytes(sizeof(Node)) / sizeof(uint64_t)];
    unsigned char *image = reinterpret_cast<unsigned char *>(words);

    bool known = co_await store.objects.peek(address, image, sizeof(words));

    if (!known)
        co_return false;
    std::memcpy(node, image + sizeof(ObjectHeader), sizeof(*node));
    if ((header_of(image).flags & kObjectValid) == 0 || !is_sane(*node, address))
        *node = Node{}; /* an empty leaf for key 0 alone: the reader looks for the leaf again */
    cache_node(store, address, *node);
    co_return true;
}

const Node *node_now(Store &store, ReadWriteSet &set, Address address)
{
    const Node *known = known_node(store, set, address, false);

    if (known != nullptr)
        return known;

    Access *own = set.find(address);
    bool used = own != nullptr && own->seen;
    Access *access = fetch_node_now(store, set, address);

    if (access == nullptr)
        return nullptr;
    access->seen = used;
    if (!access->valid())
        return nullptr;
    cache_node(store, address, access->as<Node>());
    return &access->as<Node>();
}

static Task<Access *> new_node(Store &store, ReadWriteSet &set, Address beside, uint32_t level)
{
    Access *access = co_await store.slots.allocate(set, beside.shard(), beside.table());

    access->header().flags = kObjectValid;
    access->as<Node>().level = level;
    co_return access;
}

/* The entry at which to split a full node for @key. Ascending inserts leave full nodes, inserts in
 * other orders half full ones. */
static uint32_t split_point(const Node &node, uint64_t key)
{
    return key > node.entry[node.used - 1].key ? node.used - 1 : node.used / 2;
}

static void move_entries(Node &from, uint32_t first, Node &to)
{
    DTX_ASSERT(first <= from.used && to.used == 0);
    to.used = from.used - first;
    std::copy(from.entry + first, from.entry + from.used, to.entry);
    from.used = first;
}

/* The root stays in slot 0: its entries move to two new children. */
static Task<> split_root(Store &store, ReadWriteSet &set, Access *root, uint64_t key)
{
    Node &node = root->as<Node>();
    Access *left = co_await new_node(store, set, root->address, node.level);
    Access *right = co_await new_node(store, set, root->address, node.level);
    DTX_ASSERT(node.used == kNodeEntries);

    uint32_t point = split_point(node, key);
    uint64_t middle = node.entry[point].key;

    move_entries(node, point, right->as<Node>());
    move_entries(node, 0, left->as<Node>());
    left->as<Node>().low = node.low;
    left->as<Node>().high = middle - 1;
    right->as<Node>().low = middle;
    right->as<Node>().high = node.high;
    node.level++;
    add_entry(node, node.low, left->address.slot());
    add_entry(node, middle, right->address.slot());
    root->written = true;
}

/* Splits a full child. The parent has room for another entry. */
static Task<> split_child(Store &store, ReadWriteSet &set, Access *parent, Access *child,
                          uint64_t key)
{
    Node &node = child->as<Node>();
    Access *right = co_await new_node(store, set, child->address, node.level);
    DTX_ASSERT(node.used == kNodeEntries);

    uint32_t point = split_point(node, key);
    uint64_t middle = node.entry[point].key;

    move_entries(node, point, right->as<Node>());
    right->as<Node>().low = middle;
    right->as<Node>().high = node.high;
    node.high = middle - 1;
    add_entry(parent->as<Node>(), middle, right->address.slot());
    parent->written = true;
    child->written = true;
}

static Task<Access *> fetch_child(Store &store, ReadWriteSet &set, Access *parent, uint32_t i)
{
    const Node &node = parent->as<Node>();

    DTX_ASSERT(i < node.used);

    Access *child = co_await fetch_node(
        store, set,
        Address::of(parent->address.shard(), parent->address.table(), node.entry[i].slot));

    /* Parent and child were read at different times and may not fit together. */
    if (!child->valid() || child->as<Node>().level + 1 != node.level ||
        child->as<Node>().low != node.entry[i].key)
        throw Inconsistent{};
    co_return child;
}

Task<std::vector<Access *>> path_to_leaf(Store &store, ReadWriteSet &set, Address root,
                                         uint64_t key)
{
    std::vector<Access *> path;

    path.push_back(co_await fetch_node(store, set, root));
    while (path.back()->as<Node>().level > 0)
        path.push_back(
            co_await fetch_child(store, set, path.back(), child_of(path.back()->as<Node>(), key)));
    if (key > path.back()->as<Node>().high)
        throw Inconsistent{};
    co_return path;
}

Task<Access *> leaf_with_room(Store &store, ReadWriteSet &set, Address root, uint64_t key)
{
    Access *at = co_await fetch_node(store, set, root);

    if (at->as<Node>().used == kNodeEntries)
        co_await split_root(store, set, at, key);
    while (at->as<Node>().level > 0) {
        Access *child = co_await fetch_child(store, set, at, child_of(at->as<Node>(), key));

        if (child->as<Node>().used == kNodeEntries) {
            co_await split_child(store, set, at, child, key);
            child = co_await fetch_child(store, set, at, child_of(at->as<Node>(), key));
        }
        at = child;
    }
    co_return at;
}

static void erase_node(Access *access)
{
    DTX_ASSERT(access->address.slot() != 0); /* the root */
    access->header().flags = 0;
    access->written = true;
    access->freed = true;
}

/* Extends the range of @node, and of the nodes below it down to one leaf, to @bound: they take over
 * the range of a subtree beside @node that was removed. @upwards: @bound is the new highest key. */
static Task<> widen(Store &store, ReadWriteSet &set, Access *node, bool upwards, uint64_t bound)
{
    for (;;) {
        Node &wide = node->as<Node>();

        node->written = true;
        if (upwards)
            wide.high = bound;
        else
            wide.low = bound;
        if (wide.level == 0)
            break;

        Access *child = co_await fetch_child(store, set, node, upwards ? wide.used - 1 : 0);

        if (!upwards)
            wide.entry[0].key = bound;
        node = child;
    }
}

/* A node is merged into a neighbour when it has lost most of its entries. It tries at a few counts
 * only: while its neighbours are full, each try reads the path from the root for nothing. */
static bool is_sparse(const Node &node)
{
    return node.used == kNodeEntries / 4 || node.used == kNodeEntries / 8 || node.used == 1;
}

/* The objects from @first on were read to look for a merge. The commit validates those that the
 * transaction writes; nothing depends on the others, so it need not validate them. */
static void forget_unwritten(ReadWriteSet &set, uint32_t first)
{
    for (uint32_t i = first; i < set.size(); i++)
        if (!set[i].written)
            set[i].seen = false;
}

/* Moves the entries of child @i + 1 of a node to child @i, if they leave room there, so that the
 * next inserts do not split it again. */
static Task<bool> merge_children(Store &store, ReadWriteSet &set, Access *parent, uint32_t i)
{
    Node &above = parent->as<Node>();
    Access *left = co_await fetch_child(store, set, parent, i);
    Access *right = co_await fetch_child(store, set, parent, i + 1);
    Node &into = left->as<Node>();
    const Node &from = right->as<Node>();

    if (into.high + 1 != from.low)
        throw Inconsistent{}; /* they were read at different times */
    if (into.used + from.used > kMergedMost)
        co_return false;
    DTX_ASSERT(into.level == from.level);
    std::copy(from.entry, from.entry + from.used, into.entry + into.used);
    into.used += from.used;
    into.high = from.high;
    left->written = true;
    erase_node(right);
    remove_entry(above, i + 1);
    parent->written = true;
    co_return true;
}

/* A root with a single child becomes as that child. */
static Task<> lower_root(Store &store, ReadWriteSet &set, Access *root)
{
    Node &node = root->as<Node>();

    while (node.level > 0 && node.used == 1) {
        Access *child = co_await fetch_child(store, set, root, 0);

        node = child->as<Node>();
        root->written = true;
        erase_node(child);
    }
}

/* Merges the last node of the path with a neighbour if it is sparse, then the node above, and so
 * on. */
static Task<> merge_sparse(Store &store, ReadWriteSet &set, std::vector<Access *> path,
                           uint64_t key)
{
    for (; path.size() > 1 && is_sparse(path.back()->as<Node>()); path.pop_back()) {
        Access *parent = path[path.size() - 2];
        const Node &above = parent->as<Node>();
        uint32_t i = child_of(above, key);
        bool merged = false;

        if (i + 1 < above.used)
            merged = co_await merge_children(store, set, parent, i);
        if (!merged && i > 0)
            merged = co_await merge_children(store, set, parent, i - 1);
        if (!merged)
            break;
    }
    co_await lower_root(store, set, path.front());
}

Task<> shrink_leaf(Store &store, ReadWriteSet &set, Address root, Access *leaf, uint64_t key)
{
    if (!is_sparse(leaf->as<Node>()) || leaf->address == root)
        co_return;

    uint32_t first = set.size();
    std::vector<Access *> path = co_await path_to_leaf(store, set, root, key);

    if (path.back() != leaf)
        throw Inconsistent{};
    co_await merge_sparse(store, set, std::move(path), key);
    forget_unwritten(set, first);
}

Task<> drop_leaf(Store &store, ReadWriteSet &set, Address root, Access *leaf, uint64_t key)
{
    std::vector<Access *> path = co_await path_to_leaf(store, set, root, key);
    Node gone = leaf->as<Node>();

    /* If the inner nodes lead to another leaf, they were read at another time. */
    if (path.back() != leaf)
        throw Inconsistent{};
    DTX_ASSERT(gone.used == 0);
    while (path.size() > 1) {
        erase_node(path.back());
        path.pop_back();
        if (path.back()->as<Node>().used > 1)
            break;
    }

    Access *above = path.back();
    Node &node = above->as<Node>();
    uint32_t i = child_of(node, key);

    above->written = true;
    if (node.used == 1) {
        node.level = 0; /* the root, which has no children any more, becomes an empty leaf */
        node.used = 0;
        co_return;
    }
    /* Fetch the neighbour before its entry in @node changes. */
    Access *beside = co_await fetch_child(store, set, above, i > 0 ? i - 1 : i + 1);

    remove_entry(node, i);
    if (i == 0)
        node.entry[0].key = gone.low;
    co_await widen(store, set, beside, i > 0, i > 0 ? gone.high : gone.low);

    uint32_t first = set.size();

    co_await merge_sparse(store, set, std::move(path), key);
    forget_unwritten(set, first);
}

} // namespace dtx
