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
#include "engine/format/redo.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>

namespace dtx
{

static constexpr size_t kRecordBytes = 16 << 10; /* of a transaction, unless one slot is larger */

Vacuum::Vacuum(Servers &servers, const FullRecovery &all)
    : servers_(servers),
      prefix_(number_prefix(kVacuum, servers.placement().view.number,
                            servers.connection(servers.placement().first()).epoch()))
{
    DTX_ASSERT(servers.owns(kRecoverer));
    DTX_ASSERT(all.is_cleared()); /* no session owns a slot, and no record will write one */
    for (coordinator_ = 0; coordinator_ < kCoordinatorsMax; coordinator_++) {
        std::vector<uint32_t> wanted = servers.placement().log_servers(coordinator_);

        logs_.clear();
        for (const auto &there : all.logs())
            if (there->has(coordinator_) &&
                std::find(wanted.begin(), wanted.end(), there->server()) != wanted.end())
                logs_.push_back(there.get());
        if (logs_.size() == wanted.size())
            break;
        logs_.clear();
    }
    DTX_ASSERT(logs_.empty() || coordinator_ < kCoordinatorsMax);
    record_max_ = kRecordBytes;
    for (const AllLogs *there : logs_)
        record_max_ = std::min(record_max_, there->record_max(coordinator_));
}

uint64_t Vacuum::run()
{
    const std::vector<TableSpec> &tables = servers_.cluster().schema().tables();

    /* No coordinator has logs: no session ever joined, so none ever took a slot. */
    if (logs_.empty())
        return 0;
    for (uint32_t shard = 0; shard < servers_.cluster().shards(); shard++)
        for (uint32_t table = 0; table < tables.size(); table++)
            if (tables[table].kind == TableKind::hash || tables[table].kind == TableKind::ordered)
                scan(shard, table);
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

    use.head = load(set, Address::of(shard, kAllocatorTable, table))->as<AllocatorHead>();

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
    for (uint64_t next = use.head.returned; next != 0;) {
        ReadWriteSet set;

        if (next > use.returned.size() || use.returned[next - 1])
            throw Error(RPM_E_CORRUPT,
                        "the list of free slots of table '" +
                            servers_.cluster().schema().tables()[table].name +
                            "' has a cycle or leads out of the table: it is damaged");
        use.returned[next - 1] = true;
        next = load(set, Address::of(shard, table, next - 1))->header().key;
    }
}

void Vacuum::give_back_lost(uint32_t shard, uint32_t table, const Use &use)
{
    uint64_t at_once = slots_at_once(table);
    Address head = Address::of(shard, kAllocatorTable, table);
    bool spare = !servers_.canary(kCanaryVacuum);
    std::vector<uint64_t> lost;

    DTX_ASSERT(use.used.size() == use.returned.size());
    for (uint64_t slot = first_slot(servers_.cluster().schema(), table); slot < use.used.size();
         slot++) {
        if (use.returned[slot] || (use.used[slot] && spare))
            continue;
        lost.push_back(slot);
        if (lost.size() == at_once) {
            give_back(head, lost);
            lost.clear();
        }
    }
    if (!lost.empty())
        give_back(head, lost);
}

/* How many slots fit into one redo record with the allocator head. */
uint64_t Vacuum::slots_at_once(uint32_t table) const
{
    size_t frame =
        sizeof(RedoHeader) + sizeof(uint64_t) + servers_.layout().table(kAllocatorTable).slot_bytes;
    size_t each = sizeof(uint64_t) + servers_.layout().table(table).slot_bytes;

    return std::clamp<size_t>(record_max_ < frame ? 0 : (record_max_ - frame) / each, 1,
                              kSlotsAtOnce - 1);
}

Access *Vacuum::load(ReadWriteSet &set, Address address)
{
    Access *access = set.add(address, servers_.layout().table(address.table()).slot_bytes);

    servers_.primary(address.shard())
        .read(address.shard(), servers_.layout().row_offset(address), access->image, access->bytes);
    expect_whole(servers_.cluster(), address, access->image, access->bytes);
    return access;
}

/* As Session::return_slots(), without locks. */
void Vacuum::give_back(Address head, std::span<const uint64_t> slots)
{
    DTX_ASSERT(head.table() == kAllocatorTable);
    DTX_ASSERT(!slots.empty() && slots.size() <= slots_at_once(uint32_t(head.slot())));

    ReadWriteSet set;
    Access *access = load(set, head);
    AllocatorHead &state = access->as<AllocatorHead>();

    for (uint64_t slot : slots) {
        Access *free =
            load(set, Address::of(head.shard(), static_cast<uint32_t>(head.slot()), slot));

        free->header().key = state.returned;
        free->header().flags = 0;
        state.returned = slot + 1;
    }
    commit(set);
    given_back_ += slots.size();
}

/* Append the record to all logs, install the rows on all copies, then trim the logs. */
void Vacuum::commit(ReadWriteSet &set)
{
    const std::vector<Access *> &writes = set.sorted();
    uint32_t shard = writes.front()->address.shard();
    std::vector<unsigned char> record;
    std::vector<rpm_patch> patches;
    uint64_t txn = prefix_ | ++sequence_;

    DTX_ASSERT(!logs_.empty());
    /* The number is of no session, and of no earlier transaction of this vacuum. */
    DTX_ASSERT(coordinator_of(txn) == kVacuum && sequence_ >> kSequenceBits == 0);
    for (Access *access : writes) {
        DTX_ASSERT(access->address.shard() == shard);
        access->header().version =
            next_version(servers_.cluster(), access->address, access->header().version);
        access->header().writer = txn;
        seal(access->image, access->bytes);
        patches.push_back(
            { servers_.layout().row_offset(access->address), access->image, access->bytes, 0 });
    }
    encode_redo(txn, writes, {}, record);
    for (AllLogs *there : logs_)
        if (!servers_.canary(kCanaryNoRecord))
            there->append(coordinator_, record);
    for (uint32_t copy = 0; copy < servers_.placement().copies(shard); copy++)
        servers_.connection(servers_.server_of(shard, copy)).write(shard, patches);
    for (AllLogs *there : logs_)
        there->trim(coordinator_);
}

} // namespace dtx
