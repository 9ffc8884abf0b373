/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vacuum.cc: table by table and shard by shard: what is used, what is on the list, and the rest.
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/crash/dtx_vacuum_test.cpp
 */
#include "engine/vacuum.h"

#include "engine/hash_index.h"
#include "engine/redo.h"
#include <dtx/error.h>
#include <dtx/ordered_index.h>

#include <algorithm>
#include <cstring>

namespace dtx
{

static_assert(kVacuum >= kCoordinatorsMax && kVacuum != coordinator_of(kMoved));
static constexpr size_t kRecordBytes = 16 << 10; /* so much at once, unless one slot is more */

Vacuum::Vacuum(Store &store, const Everything &all)
    : store_(store),
      prefix_(number_prefix(store, kVacuum, store.port(store.placement().first()).epoch()))
{
    for (coordinator_ = 0; coordinator_ < kCoordinatorsMax; coordinator_++) {
        std::vector<uint32_t> wanted = store.placement().log_servers(coordinator_);

        logs_.clear();
        for (const auto &there : all.logs())
            if (there->has(coordinator_) &&
                std::find(wanted.begin(), wanted.end(), there->server()) != wanted.end())
                logs_.push_back(there.get());
        if (logs_.size() == wanted.size())
            break;
        logs_.clear();
    }
    record_max_ = kRecordBytes;
    for (const AllLogs *there : logs_)
        record_max_ = std::min(record_max_, there->record_max(coordinator_));
}

uint64_t Vacuum::run()
{
    const std::vector<TableSpec> &tables = store_.cluster().schema().tables();

    /* Nobody ever joined, so nobody ever took a slot. */
    if (logs_.empty())
        return 0;
    for (uint32_t shard = 0; shard < store_.cluster().shards(); shard++)
        for (uint32_t table = 0; table < tables.size(); table++)
            if (tables[table].kind == TableKind::hash || tables[table].kind == TableKind::ordered)
                scan(shard, table);
    return given_back_;
}

void Vacuum::scan(uint32_t shard, uint32_t table)
{
    uint32_t inner = store_.cluster().schema().tables()[table].index;
    Use rows = use_of(shard, table);
    Use index = use_of(shard, inner);

    look_at_rows(shard, table, rows);
    look_at_index(shard, table, index, rows);
    follow_returned(shard, table, rows);
    follow_returned(shard, inner, index);
    give_back_lost(shard, table, rows);
    give_back_lost(shard, inner, index);
}

/* Slots of a primary, up to @end, each of them whole. */
void Vacuum::each_slot(uint32_t shard, uint32_t table, uint64_t end,
                       const std::function<void(uint64_t slot, const unsigned char *image)> &heard)
{
    uint32_t bytes = store_.layout().table(table).slot_bytes;

    store_.each_slot(store_.server_of(shard, 0), shard, table, end,
                     [&](uint64_t slot, const unsigned char *image) {
                         expect_whole(store_.cluster(), Address::of(shard, table, slot), image,
                                      bytes);
                         heard(slot, image);
                     });
}

/* Nothing is used yet; there is room for all that were ever handed out. */
Vacuum::Use Vacuum::use_of(uint32_t shard, uint32_t table)
{
    Accesses accesses;
    Use use;

    use.word = load(accesses, Address::of(shard, kWordsTable, table))->as<Word>();

    uint64_t end = first_slot(store_.cluster().schema(), table) + use.word.handed_out;

    if (end > store_.layout().table(table).slots)
        throw Error(RPM_E_CORRUPT, "more slots of table '" +
                                       store_.cluster().schema().tables()[table].name +
                                       "' were handed out than there are");
    use.used.resize(end);
    use.returned.resize(end);
    return use;
}

static void mark(std::vector<bool> &slots, uint64_t slot)
{
    if (slot < slots.size())
        slots[slot] = true;
}

void Vacuum::look_at_rows(uint32_t shard, uint32_t table, Use &rows)
{
    each_slot(shard, table, rows.used.size(), [&](uint64_t slot, const unsigned char *image) {
        if ((header_of(image).flags & kObjectValid) != 0)
            mark(rows.used, slot);
    });
}

/* What a bucket leads to: rows, and the one that it runs over to. */
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

void Vacuum::look_at_index(uint32_t shard, uint32_t table, Use &index, Use &rows)
{
    const TableSpec &spec = store_.cluster().schema().tables()[table];

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
    for (uint64_t next = use.word.returned; next != 0;) {
        Accesses accesses;

        if (next > use.returned.size() || use.returned[next - 1])
            throw Error(RPM_E_CORRUPT, "the list of free slots of table '" +
                                           store_.cluster().schema().tables()[table].name +
                                           "' does not end");
        use.returned[next - 1] = true;
        next = load(accesses, Address::of(shard, table, next - 1))->header().key;
    }
}

void Vacuum::give_back_lost(uint32_t shard, uint32_t table, const Use &use)
{
    uint64_t at_once = slots_at_once(table);
    Address word = Address::of(shard, kWordsTable, table);
    bool spare = !store_.canary(kCanaryVacuum);
    std::vector<uint64_t> lost;

    for (uint64_t slot = first_slot(store_.cluster().schema(), table); slot < use.used.size();
         slot++) {
        if (use.returned[slot] || (use.used[slot] && spare))
            continue;
        lost.push_back(slot);
        if (lost.size() == at_once) {
            give_back(word, lost);
            lost.clear();
        }
    }
    if (!lost.empty())
        give_back(word, lost);
}

/* With the word, they are one record. */
uint64_t Vacuum::slots_at_once(uint32_t table) const
{
    size_t frame =
        sizeof(RedoHeader) + sizeof(uint64_t) + store_.layout().table(kWordsTable).slot_bytes;
    size_t each = sizeof(uint64_t) + store_.layout().table(table).slot_bytes;

    return std::clamp<size_t>(record_max_ < frame ? 0 : (record_max_ - frame) / each, 1,
                              kSlotsAtOnce - 1);
}

Access *Vacuum::load(Accesses &accesses, Address address)
{
    Access *access = accesses.add(address, store_.layout().table(address.table()).slot_bytes);

    store_.port(store_.server_of(address.shard(), 0))
        .read(address.shard(), store_.layout().row_offset(address), access->image, access->bytes);
    expect_whole(store_.cluster(), address, access->image, access->bytes);
    return access;
}

/* As a session does it. */
void Vacuum::give_back(Address word, std::span<const uint64_t> slots)
{
    Accesses accesses;
    Access *access = load(accesses, word);
    Word &state = access->as<Word>();

    for (uint64_t slot : slots) {
        Access *free =
            load(accesses, Address::of(word.shard(), static_cast<uint32_t>(word.slot()), slot));

        free->header().key = state.returned;
        free->header().flags = 0;
        state.returned = slot + 1;
    }
    commit(accesses);
    given_back_ += slots.size();
}

/* Logged on all servers that are to have it, then on all copies, then out of the logs again. */
void Vacuum::commit(Accesses &accesses)
{
    const std::vector<Access *> &writes = accesses.sorted();
    uint32_t shard = writes.front()->address.shard();
    std::vector<unsigned char> record;
    std::vector<rpm_patch> patches;
    uint64_t txn = prefix_ | ++sequence_;

    for (Access *access : writes) {
        access->header().version++;
        access->header().writer = txn;
        seal(access->image, access->bytes);
        patches.push_back(
            { store_.layout().row_offset(access->address), access->image, access->bytes, 0 });
    }
    encode_redo(txn, writes, record);
    for (AllLogs *there : logs_)
        if (!store_.canary(kCanaryNoRecord))
            there->append(coordinator_, record);
    for (uint32_t copy = 0; copy < store_.placement().copies(shard); copy++)
        store_.port(store_.server_of(shard, copy)).write(shard, patches);
    for (AllLogs *there : logs_)
        there->trim(coordinator_);
}

} // namespace dtx
