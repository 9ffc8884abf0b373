/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vacuum.cc: for each table and shard, find the slots that are used or on the list of returned
 * slots, and return the others.
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/crash/dtx_vacuum_test.cpp
 */
#include "engine/recovery/vacuum.h"

#include "engine/base/assert.h"
#include "engine/format/bucket.h"
#include "engine/format/node.h"
#include "engine/format/txn_number.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>

namespace dtx
{

/* The logs of the first coordinator that has one on each server that gets its records. Nothing to
 * append to: no coordinator has, so no session ever joined. */
static SlotReturns::Logs logs_of(Servers &servers, const FullRecovery &all)
{
    const Placement &placement = servers.placement();
    uint64_t prefix = number_prefix(kVacuum, placement.view.number,
                                    servers.connection(placement.first()).epoch());

    DTX_ASSERT(servers.owns(kRecoverer));
    DTX_ASSERT(all.is_cleared()); /* no session owns a slot, and no record will write one */
    for (uint32_t c = 0; c < kCoordinatorsMax; c++) {
        std::vector<uint32_t> wanted = placement.log_servers(c);
        std::vector<AllLogs *> logs;
        size_t record_max = SIZE_MAX;

        for (const auto &there : all.logs())
            if (there->has(c) &&
                std::find(wanted.begin(), wanted.end(), there->server()) != wanted.end())
                logs.push_back(there.get());
        if (logs.size() != wanted.size())
            continue;
        for (const AllLogs *there : logs)
            record_max = std::min(record_max, there->record_max(c));
        /* The rows of the record before are installed: trim it. */
        return { prefix, record_max, [logs, c](const std::vector<unsigned char> &record) {
                    for (AllLogs *there : logs) {
                        there->trim(c);
                        there->append(c, record);
                    }
                } };
    }
    return { prefix, 0, {} };
}

Vacuum::Vacuum(Servers &servers, const FullRecovery &all)
    : servers_(servers), all_(all), logs_(logs_of(servers, all)), returns_(servers, logs_, false)
{
}

uint64_t Vacuum::run()
{
    const std::vector<TableSpec> &tables = servers_.cluster().schema().tables();

    /* No coordinator has logs: no session ever joined, so none ever took a slot. */
    if (!logs_.append)
        return 0;
    for (uint32_t shard = 0; shard < servers_.cluster().shards(); shard++)
        for (uint32_t table = 0; table < tables.size(); table++)
            if (tables[table].kind == TableKind::hash || tables[table].kind == TableKind::ordered)
                scan(shard, table);
    for (const auto &there : all_.logs())
        there->trim(); /* the last record, and notes of slots that are returned now */
    return given_back_;
}

void Vacuum::scan(uint32_t shard, uint32_t table)
{
    uint32_t inner = servers_.cluster().schema().tables()[table].index;
    DTX_ASSERT(servers_.cluster().schema().tables()[inner].index == table);

    Use rows = use_of(shard, table);
    Use index = use_of(shard, inner);

    mark_rows(shard, table, rows);
    mark_index(shard, table, index, rows);
    follow_returned(shard, table, rows);
    follow_returned(shard, inner, index);
    give_back_lost(shard, table, rows);
    give_back_lost(shard, inner, index);
}

/* Calls @callback for the slots of a primary before @end. Throws Error if one is torn. */
void Vacuum::each_slot(
    uint32_t shard, uint32_t table, uint64_t end,
    const std::function<void(uint64_t slot, const unsigned char *image)> &callback)
{
    uint32_t bytes = servers_.layout().table(table).slot_bytes;

    DTX_ASSERT(end <= servers_.layout().table(table).slots);
    servers_.each_slot(servers_.server_of(shard, 0), shard, table, end,
                       [&](uint64_t slot, const unsigned char *image) {
                           expect_whole(servers_.cluster(), Address::of(shard, table, slot), image,
                                        bytes);
                           callback(slot, image);
                       });
}

/* Reads the allocator head. The vectors have an element for each slot that was ever handed out, and
 * no slot is marked yet. */
Vacuum::Use Vacuum::use_of(uint32_t shard, uint32_t table)
{
    ReadWriteSet set;
    Use use;

    use.head = load(servers_, set, Address::of(shard, kAllocatorTable, table))->as<AllocatorHead>();

    uint64_t end = first_slot(servers_.cluster().schema(), table) + use.head.handed_out;

    if (end > servers_.layout().table(table).slots)
        throw Error(RPM_E_CORRUPT,
                    "more slots of table '" + servers_.cluster().schema().tables()[table].name +
                        "' were handed out than the table has: the allocator head is "
                        "damaged");
    use.used.resize(end);
    use.returned.resize(end);
    return use;
}

static void mark(std::vector<bool> &slots, uint64_t slot)
{
    if (slot < slots.size())
        slots[slot] = true;
}

void Vacuum::mark_rows(uint32_t shard, uint32_t table, Use &rows)
{
    each_slot(shard, table, rows.used.size(), [&](uint64_t slot, const unsigned char *image) {
        if ((header_of(image).flags & kObjectValid) != 0)
            mark(rows.used, slot);
    });
}

/* Marks the rows of a bucket's entries, and its overflow bucket. */
static void follow(const Bucket &bucket, std::vector<bool> &buckets, std::vector<bool> &rows)
{
    for (uint64_t i = 0; i < bucket.used && i < kBucketEntries; i++)
        mark(rows, bucket.entry[i].slot);
    if (bucket.next != 0)
        mark(buckets, bucket.next);
}

static void follow(const Node &node, std::vector<bool> &nodes, std::vector<bool> &rows)
{
    for (uint32_t i = 0; i < node.used && i < kNodeEntries; i++)
        mark(node.level == 0 ? rows : nodes, node.entry[i].slot);
}

void Vacuum::mark_index(uint32_t shard, uint32_t table, Use &index, Use &rows)
{
    const TableSpec &spec = servers_.cluster().schema().tables()[table];

    /* If the index were read as one of another kind, its rows would seem to have no entry, and the
     * vacuum would free them. */
    DTX_ASSERT(spec.kind == TableKind::hash || spec.kind == TableKind::ordered);
    each_slot(shard, spec.index, index.used.size(), [&](uint64_t slot, const unsigned char *image) {
        const unsigned char *body = image + sizeof(ObjectHeader);
        Bucket bucket;
        Node node;

        if ((header_of(image).flags & kObjectValid) == 0)
            return;
        mark(index.used, slot);
        if (spec.kind == TableKind::hash) {
            std::memcpy(&bucket, body, sizeof(bucket));
            follow(bucket, index.used, rows.used);
        } else {
            std::memcpy(&node, body, sizeof(node));
            follow(node, index.used, rows.used);
        }
    });
}

void Vacuum::follow_returned(uint32_t shard, uint32_t table, Use &use)
{
    DTX_ASSERT(use.used.size() == use.returned.size());
    for (uint64_t next = use.head.returned; next != 0;) {
        ReadWriteSet set;

        if (next > use.returned.size() || use.returned[next - 1])
            throw Error(RPM_E_CORRUPT,
                        "the list of free slots of table '" +
                            servers_.cluster().schema().tables()[table].name +
                            "' has a cycle or leads out of the table: it is damaged");
        use.returned[next - 1] = true;
        next = load(servers_, set, Address::of(shard, table, next - 1))->header().key;
    }
}

void Vacuum::give_back_lost(uint32_t shard, uint32_t table, const Use &use)
{
    Address head = Address::of(shard, kAllocatorTable, table);
    bool spare = !servers_.canary(kCanaryVacuum);
    std::vector<uint64_t> lost;

    DTX_ASSERT(use.used.size() == use.returned.size());
    for (uint64_t slot = first_slot(servers_.cluster().schema(), table); slot < use.used.size();
         slot++) {
        if (use.returned[slot] || (use.used[slot] && spare))
            continue;
        lost.push_back(slot);
        if (lost.size() == returns_.at_once(table)) {
            give_back(head, lost);
            lost.clear();
        }
    }
    if (!lost.empty())
        give_back(head, lost);
}

void Vacuum::give_back(Address head, std::span<const uint64_t> slots)
{
    (void)returns_.give_back(head, slots); /* no lock keeps it from doing so */
    given_back_ += slots.size();
}

} // namespace dtx
