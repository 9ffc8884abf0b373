/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexes.cc: checks each table: its rows, then its index, then the slots of both.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#include <dtx/checks.h>

#include "check/parts.h"

namespace dtx::checks
{

namespace
{

std::unordered_map<uint64_t, AllocatorHead> heads_of(const Cluster &cluster, uint32_t copy)
{
    std::unordered_map<uint64_t, AllocatorHead> heads;

    cluster.each_object(kAllocatorTable, copy,
                        [&](Address address, const unsigned char *image, uint32_t) {
                            AllocatorHead head;

                            std::memcpy(&head, image + sizeof(ObjectHeader), sizeof(head));
                            heads[address.word] = head;
                        });
    return heads;
}

void check_entered(const Cluster &cluster, uint32_t table, const Slots &rows, Findings &found)
{
    Partition partition = cluster.schema().tables()[table].partition;

    rows.each([&](Address address, const Slot &row) {
        if (!row.valid)
            return;
        found.add_if(row.entered != 1, "rows entered", [&] {
            return name_of(cluster, address) + ", key " + std::to_string(row.key) + ": " +
                   std::to_string(row.entered) + " entries";
        });
        found.add_if(!cluster.schema().is_described() &&
                         partition(row.key) % cluster.shards() != address.shard(),
                     "rows entered", [&] {
                         return name_of(cluster, address) + ", key " + std::to_string(row.key) +
                                ": not a key of this shard";
                     });
    });
}

} // namespace

void enter(const Cluster &cluster, Slots &rows, Address row, uint64_t key, Findings &found)
{
    Slot *at = rows.find(row);

    if (at != nullptr)
        at->entered++;
    found.add_if(at == nullptr || !at->valid || at->key != key, "entries", [&] {
        return name_of(cluster, row) + ": no row of key " + std::to_string(key) + " is there";
    });
}

Findings check_indexes(const Cluster &cluster, uint32_t copy)
{
    const std::vector<TableSpec> &tables = cluster.schema().tables();
    std::unordered_map<uint64_t, AllocatorHead> heads = heads_of(cluster, copy);
    Findings found;

    found.rule("entries", "every entry of an index leads to its row");
    found.rule("rows entered", cluster.schema().is_described()
                                   ? "every row is in its index, once"
                                   : "every row is in its index, once, and on its shard");
    found.rule("shape", "every bucket and node is reachable, once, and its entries are in order");
    found.rule("slots", "every slot is either in use, or returned, or reserved by a session");
    for (uint32_t table = 0; table < tables.size(); table++) {
        TableKind kind = tables[table].kind;

        if (kind != TableKind::hash && kind != TableKind::ordered)
            continue;

        Slots rows = slots_of(cluster, copy, table);

        if (kind == TableKind::hash)
            walk_buckets(cluster, copy, table, rows, found);
        else
            walk_nodes(cluster, copy, table, rows, found);
        check_entered(cluster, table, rows, found);
        check_slots(cluster, table, rows, heads, found);

        Slots inner = slots_of(cluster, copy, tables[table].index);

        check_slots(cluster, tables[table].index, inner, heads, found);
    }
    return found;
}

} // namespace dtx::checks
