/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.cc: walks chains of buckets from their home buckets, trees of nodes from their root, and
 * lists of free slots from their allocator head.
 *
 * The bytes may be damaged in any way, and a damaged reference may close a cycle: so a walk stops
 * at an object that it has reached before.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#include "check/parts.h"
#include "engine/index/hash_index.h"
#include "engine/index/ordered_node.h"

namespace dtx::checks
{

namespace
{

class Chains
{
  public:
    Chains(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows, Findings &found)
        : cluster_(cluster), spec_(cluster.schema().tables()[table]), table_(table), rows_(rows),
          found_(found), buckets_(inners_of<Bucket>(cluster, copy, spec_.index))
    {
    }

    void walk()
    {
        for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
            for (uint64_t home = 1; home < first_spare_bucket(spec_.rows_max); home++)
                walk_chain(shard, home);
        buckets_.each([this](Address address, const Inner<Bucket> &bucket) {
            found_.add_if(
                bucket.valid && bucket.body.used != 0 && bucket.reached == 0, "shape",
                [&] { return name_of(cluster_, address) + ": a bucket that is in no chain"; });
        });
    }

  private:
    void walk_chain(uint32_t shard, uint64_t home)
    {
        for (uint64_t slot = home; slot != 0;) {
            Address address = Address::of(shard, spec_.index, slot);
            Inner<Bucket> *at = buckets_.find(address);

            if (at == nullptr) {
                found_.add_if(slot != home, "shape", [&] {
                    return name_of(cluster_, address) + ": in a chain, but never written";
                });
                return;
            }
            bool wrong = !at->valid || at->body.used > kBucketEntries || at->reached != 0;

            at->reached++;
            found_.add_if(wrong, "shape", [&] {
                return name_of(cluster_, address) +
                       ": in a chain, but not a valid bucket, or reached a second time";
            });
            if (wrong)
                return;
            enter_all(address, at->body, home);
            slot = at->body.next;
        }
    }

    void enter_all(Address address, const Bucket &bucket, uint64_t home)
    {
        for (uint32_t i = 0; i < bucket.used; i++) {
            uint64_t key = bucket.entry[i].key;

            found_.add_if(home_bucket(spec_.rows_max, key) != home, "shape", [&] {
                return name_of(cluster_, address) + ": key " + std::to_string(key) +
                       " belongs to another chain";
            });
            enter(cluster_, rows_, Address::of(address.shard(), table_, bucket.entry[i].slot), key,
                  found_);
        }
    }

    const Cluster &cluster_;
    const TableSpec &spec_;
    uint32_t table_;
    Slots &rows_;
    Findings &found_;
    Inners<Bucket> buckets_;
};

class Tree
{
  public:
    Tree(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows, Findings &found)
        : cluster_(cluster), spec_(cluster.schema().tables()[table]), table_(table), rows_(rows),
          found_(found), nodes_(inners_of<Node>(cluster, copy, spec_.index))
    {
    }

    void walk()
    {
        for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
            walk_shard(shard);
        nodes_.each([this](Address address, const Inner<Node> &node) {
            found_.add_if(node.valid && node.reached == 0, "shape", [&] {
                return name_of(cluster_, address) + ": a node that no other node refers to";
            });
        });
    }

  private:
    /* A node that the walk expects at a slot, for these keys. */
    struct Step {
        uint64_t slot;
        uint64_t low;
        uint64_t high;
        uint32_t level; /* kDepthMax: any, for the root */
    };

    void walk_shard(uint32_t shard)
    {
        std::vector<Step> left;

        /* A shard without rows may have no tree yet. */
        if (nodes_.find(Address::of(shard, spec_.index, 0)) == nullptr)
            return;
        left.push_back({ 0, 0, UINT64_MAX, kDepthMax });
        while (!left.empty()) {
            Step step = left.back();
            Address address = Address::of(shard, spec_.index, step.slot);

            left.pop_back();
            const Node *node = node_at(address, step);

            if (node == nullptr)
                continue;
            if (node->level == 0)
                enter_all(address, *node);
            else
                descend(*node, left);
        }
    }

    const Node *node_at(Address address, const Step &step)
    {
        Inner<Node> *at = nodes_.find(address);
        bool wrong = at == nullptr || !at->valid || at->reached++ != 0 || !is_node(at->body, step);

        found_.add_if(wrong, "shape", [&] {
            return name_of(cluster_, address) + ": no valid node for keys " +
                   std::to_string(step.low) + " to " + std::to_string(step.high);
        });
        return wrong ? nullptr : &at->body;
    }

    static bool is_node(const Node &node, const Step &step)
    {
        bool good = node.used <= kNodeEntries && node.level < kDepthMax && node.low == step.low &&
                    node.high == step.high &&
                    (step.level == kDepthMax || node.level == step.level) &&
                    (node.used > 0 || (step.slot == 0 && node.level == 0)) &&
                    (node.level == 0 || node.entry[0].key == node.low);

        for (uint32_t i = 0; good && i < node.used; i++)
            good = node.low <= node.entry[i].key && node.entry[i].key <= node.high &&
                   (i == 0 || node.entry[i - 1].key < node.entry[i].key);
        return good;
    }

    static void descend(const Node &node, std::vector<Step> &left)
    {
        for (uint32_t i = 0; i < node.used; i++)
            left.push_back({ node.entry[i].slot, node.entry[i].key,
                             i + 1 < node.used ? node.entry[i + 1].key - 1 : node.high,
                             node.level - 1 });
    }

    void enter_all(Address address, const Node &leaf)
    {
        for (uint32_t i = 0; i < leaf.used; i++)
            enter(cluster_, rows_, Address::of(address.shard(), table_, leaf.entry[i].slot),
                  leaf.entry[i].key, found_);
    }

    const Cluster &cluster_;
    const TableSpec &spec_;
    uint32_t table_;
    Slots &rows_;
    Findings &found_;
    Inners<Node> nodes_;
};

/* Checks that the slots in the list of returned slots of one shard are unused. */
void check_returned(const Cluster &cluster, Address table, const AllocatorHead &head, Slots &slots,
                    Findings &found)
{
    for (uint64_t next = head.returned; next != 0;) {
        Address address = Address::of(table.shard(), table.table(), next - 1);
        Slot *at = slots.find(address);
        bool wrong = at == nullptr || at->valid || at->entered != 0 || at->returned;

        found.add_if(wrong, "slots", [&] {
            return name_of(cluster, address) +
                   ": in the list of returned slots, but in use, never written, or reached a "
                   "second time";
        });
        if (wrong)
            return;
        at->returned = true;
        next = at->key;
    }
}

} // namespace

void walk_buckets(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows,
                  Findings &found)
{
    Chains(cluster, copy, table, rows, found).walk();
}

void walk_nodes(const Cluster &cluster, uint32_t copy, uint32_t table, Slots &rows, Findings &found)
{
    Tree(cluster, copy, table, rows, found).walk();
}

void check_slots(const Cluster &cluster, uint32_t table, Slots &slots,
                 const std::unordered_map<uint64_t, AllocatorHead> &heads, Findings &found)
{
    uint64_t first = first_slot(cluster.schema(), table);

    slots.each([&](Address address, const Slot &slot) {
        /* Home buckets and roots are not allocated. */
        if (address.slot() < first)
            return;

        uint64_t handed =
            heads.at(Address::of(address.shard(), kAllocatorTable, table).word).handed_out;

        found.add_if(slot.valid && address.slot() >= first + handed, "slots",
                     [&] { return name_of(cluster, address) + ": in use, but never allocated"; });
    });
    for (uint32_t shard = 0; shard < cluster.shards(); shard++)
        check_returned(cluster, Address::of(shard, table, 0),
                       heads.at(Address::of(shard, kAllocatorTable, table).word), slots, found);
}

} // namespace dtx::checks
