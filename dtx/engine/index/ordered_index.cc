/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ordered_index.cc: find the leaf of a key, and scan leaves in the order of their keys.
 *
 * Tests: tests/unit/dtx/engine/index/ordered_index_test.cpp
 */
#include <dtx/ordered_index.h>

#include "engine/base/assert.h"
#include "engine/index/ordered_node.h"
#include "engine/store/store.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr int kStaleTries = 8;

/* The address of the leaf of a key, by inner nodes that the session has cached or reads outside of
 * the transaction. nullopt: a node is being written, or is out of date. @anew: do not use the
 * cache. */
static Task<std::optional<Address>> leaf_below(Store &store, ReadWriteSet &set, Address root,
                                               uint64_t key, bool anew)
{
    Address at = root;

    for (uint32_t depth = 0; depth < kDepthMax; depth++) {
        const Node *node = known_node(store, set, at, anew);
        Node peeked;

        if (node == nullptr) {
            bool known = co_await peek_node(store, at, &peeked);

            if (!known) {
                co_await store.servers.scheduler().step();
                co_return std::nullopt;
            }
            node = &peeked;
        }
        if (node->level == 0)
            co_return at;
        if (key < node->low || key > node->high || node->used == 0)
            co_return std::nullopt;

        Address child = Address::of(at.shard(), at.table(), node->entry[child_of(*node, key)].slot);

        if (node->level == 1)
            co_return child;
        at = child;
    }
    co_return std::nullopt;
}

/* Is this the leaf of a key, and not what an inner node led to that is out of date? */
static bool is_leaf_of(Access *access, uint64_t key)
{
    const Node &node = access->as<Node>();

    return access->valid() && node.level == 0 && node.low <= key && key <= node.high;
}

/* The leaf of a key, as this transaction sees it. If the inner nodes keep changing, or are damaged,
 * the transaction reads them as objects of its own, and its commit validates them. */
static Task<Access *> leaf_later(Store &store, ReadWriteSet &set, Address root, uint64_t key)
{
    for (int tries = 0; tries < kStaleTries; tries++) {
        auto at = co_await leaf_below(store, set, root, key, tries > 0);

        if (!at)
            continue;

        Access *known = set.find(*at);
        bool used = known != nullptr && known->seen; /* leaf_now() may have read it for nothing */
        Access *access = co_await fetch_node(store, set, *at);

        if (is_leaf_of(access, key))
            co_return access;
        access->seen = used;
    }
    co_return (co_await path_to_leaf(store, set, root, key)).back();
}

/* As leaf_below(), by nodes in the cache and in mapped memory. */
static std::optional<Address> leaf_below_now(Store &store, ReadWriteSet &set, Address root,
                                             uint64_t key)
{
    Address at = root;

    for (uint32_t depth = 0; depth < kDepthMax; depth++) {
        const Node *node = node_now(store, set, at);

        if (node == nullptr)
            return std::nullopt;
        if (node->level == 0)
            return at;
        if (key < node->low || key > node->high || node->used == 0)
            return std::nullopt;

        Address child = Address::of(at.shard(), at.table(), node->entry[child_of(*node, key)].slot);

        if (node->level == 1)
            return child;
        at = child;
    }
    return std::nullopt;
}

/* The leaf of a key by nodes in the cache and in mapped memory; nullptr: leaf_later() has to find
 * it. */
static Access *leaf_now(Store &store, ReadWriteSet &set, Address root, uint64_t key)
{
    auto at = leaf_below_now(store, set, root, key);

    if (!at)
        return nullptr;

    Access *known = set.find(*at);
    bool used = known != nullptr && known->seen;
    Access *access = fetch_node_now(store, set, *at);

    if (access == nullptr || is_leaf_of(access, key))
        return access;
    access->seen = used;
    return nullptr;
}

namespace
{

struct Leaf {
    std::optional<Access *> now()
    {
        Access *found = leaf_now(store, set, root, key);

        if (found == nullptr)
            return std::nullopt;
        return found;
    }
    Task<Access *> later()
    {
        return leaf_later(store, set, root, key);
    }
    Store &store;
    ReadWriteSet &set;
    Address root;
    uint64_t key;
};

} // namespace

static AtOnce<Leaf> leaf_of(Store &store, ReadWriteSet &set, Address root, uint64_t key)
{
    return AtOnce(Leaf{ store, set, root, key });
}

static std::optional<uint64_t> slot_of(const Node &leaf, uint64_t key)
{
    uint32_t i = lower_bound(leaf, key);

    if (i == leaf.used || leaf.entry[i].key != key)
        return std::nullopt;
    return leaf.entry[i].slot;
}

std::optional<std::optional<uint64_t>> ordered_find_now(Store &store, ReadWriteSet &set,
                                                        uint32_t table, uint64_t key)
{
    Access *access = leaf_now(store, set, root_of(store, table, key), key);

    if (access == nullptr)
        return std::nullopt;
    return slot_of(access->as<Node>(), key);
}

Task<std::optional<uint64_t>> ordered_find(Store &store, ReadWriteSet &set, uint32_t table,
                                           uint64_t key)
{
    Access *access = co_await leaf_of(store, set, root_of(store, table, key), key);

    co_return slot_of(access->as<Node>(), key);
}

Task<> ordered_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot)
{
    Address root = root_of(store, table, key);
    Access *access = co_await leaf_of(store, set, root, key);

    if (access->as<Node>().used == kNodeEntries)
        access = co_await leaf_with_room(store, set, root, key);
    put_in_leaf(access, key, slot);
}

Access *leaf_with_room_now(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key)
{
    Access *access = leaf_now(store, set, root_of(store, table, key), key);
    bool fits = access != nullptr && access->as<Node>().used < kNodeEntries &&
                !slot_of(access->as<Node>(), key);

    return fits ? access : nullptr;
}

void put_in_leaf(Access *leaf, uint64_t key, uint64_t slot)
{
    add_entry(leaf->as<Node>(), key, slot);
    leaf->written = true;
}

Task<std::optional<uint64_t>> ordered_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                             uint64_t key)
{
    Address root = root_of(store, table, key);
    Access *access = co_await leaf_of(store, set, root, key);
    Node &leaf = access->as<Node>();
    uint32_t i = lower_bound(leaf, key);

    if (i == leaf.used || leaf.entry[i].key != key)
        co_return std::nullopt;

    uint64_t slot = leaf.entry[i].slot;

    remove_entry(leaf, i);
    access->written = true;
    if (leaf.used > 0)
        co_await shrink_leaf(store, set, root, access, key);
    else if (access->address != root)
        co_await drop_leaf(store, set, root, access, key);
    co_return slot;
}

/* The entries of a leaf that lie in the range, in order. The leaf also has keys of the shard's
 * other partitions. */
static void take_entries(const Node &leaf, const Range &range, const TableSpec &spec,
                         std::vector<std::pair<uint64_t, uint64_t>> &found)
{
    uint32_t own = spec.partition(range.from);
    bool up = range.order == Order::ascending;

    DTX_ASSERT(leaf.level == 0 && leaf.used <= kNodeEntries); /* as_node() refuses a damaged one */
    for (uint32_t n = 0; n < leaf.used && found.size() < range.limit; n++) {
        const Node::Entry &entry = leaf.entry[up ? n : leaf.used - 1 - n];

        if (range.from <= entry.key && entry.key <= range.to && spec.partition(entry.key) == own)
            found.emplace_back(entry.key, entry.slot);
    }
}

/* Each partition may be on another server, in a tree of its own. */
static void check_partition(const TableSpec &spec, const Range &range)
{
    uint32_t from = spec.partition(range.from);
    uint32_t to = spec.partition(range.to);

    if (from != to)
        throw Error(RPM_E_INVAL, "a scan of table '" + spec.name + "' from key " +
                                     std::to_string(range.from) + ", in partition " +
                                     std::to_string(from) + ", to key " + std::to_string(range.to) +
                                     ", in partition " + std::to_string(to) +
                                     ": a scan is in one partition; scan each partition by itself");
}

/* Goes through the leaves of a range, in its order. */
namespace
{

class Leaves
{
  public:
    Leaves(const TableSpec &spec, const Range &range)
        : spec_(spec), range_(range), up_(range.order == Order::ascending),
          at_(up_ ? range.from : range.to), ended_(range.from > range.to || range.limit == 0)
    {
        if (!ended_)
            check_partition(spec, range);
    }
    bool ended() const
    {
        return ended_;
    }
    /* A key in the next leaf. */
    uint64_t at() const
    {
        return at_;
    }
    /* Takes the entries of that leaf. */
    void take(const Node &leaf)
    {
        take_entries(leaf, range_, spec_, found);
        DTX_ASSERT(found.size() <= range_.limit);
        ended_ = found.size() >= range_.limit ||
                 (up_ ? leaf.high >= range_.to : leaf.low <= range_.from);
        at_ = up_ ? leaf.high + 1 : leaf.low - 1;
    }

    std::vector<std::pair<uint64_t, uint64_t>> found;

  private:
    const TableSpec &spec_;
    const Range range_;
    bool up_;
    uint64_t at_;
    bool ended_;
};

} // namespace

Task<std::vector<std::pair<uint64_t, uint64_t>>> ordered_range(Store &store, ReadWriteSet &set,
                                                               uint32_t table, Range range)
{
    Leaves leaves(store.servers.cluster().schema().tables()[table], range);
    Address root = root_of(store, table, range.from);

    while (!leaves.ended())
        leaves.take((co_await leaf_of(store, set, root, leaves.at()))->as<Node>());
    co_return std::move(leaves.found);
}

std::optional<std::vector<std::pair<uint64_t, uint64_t>>>
ordered_range_now(Store &store, ReadWriteSet &set, uint32_t table, Range range)
{
    Leaves leaves(store.servers.cluster().schema().tables()[table], range);
    Address root = root_of(store, table, range.from);

    while (!leaves.ended()) {
        Access *access = leaf_now(store, set, root, leaves.at());

        if (access == nullptr)
            return std::nullopt;
        leaves.take(access->as<Node>());
    }
    return std::move(leaves.found);
}

} // namespace dtx
