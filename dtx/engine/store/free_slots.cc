/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * free_slots.cc: lists of free slots by shard and table; the slot that was freed last is used
 * first.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp, tests/unit/dtx/check/vacuum_test.cpp
 */
#include "engine/store/free_slots.h"

#include "engine/base/assert.h"
#include "engine/format/allocator.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

FreeSlots::FreeSlots(Servers &servers)
    : servers_(servers), free_(servers.cluster().shards() * servers.layout().tables())
{
}

void FreeSlots::begin_generation(std::span<const Spare> spares)
{
    generation_++;
    owned_.clear();
    for (auto &slots : free_)
        slots.clear();
    own(spares);
    for (const Spare &spare : spares)
        give_back(spare.address);
}

void FreeSlots::own(std::span<const Spare> spares)
{
    for (const Spare &spare : spares)
        owned_[spare.address.word] = spare.version;
}

void FreeSlots::disown(Address address)
{
    owned_.erase(address.word);
}

std::vector<Spare> FreeSlots::owned() const
{
    std::vector<Spare> spares;

    for (const auto &[word, version] : owned_)
        spares.push_back({ Address{ word }, version });
    return spares;
}

std::vector<uint64_t> &FreeSlots::slots_of(uint32_t shard, uint32_t table)
{
    return free_[shard * servers_.layout().tables() + table];
}

/* Awaited: a slot, when the session has taken more from the allocator head. */
Task<Access *> FreeSlots::take_more(ReadWriteSet &set, uint32_t shard, uint32_t table)
{
    std::vector<uint64_t> &slots = slots_of(shard, table);
    uint64_t room = servers_.layout().table(table).slots;
    uint64_t many = std::clamp<uint64_t>(room / kSlotsAtOnce, 1, kSlotsAtOnce);
    auto more = co_await hand_out(Address::of(shard, kAllocatorTable, table), many);

    /* In reverse: take_one() takes the last element first. */
    slots.insert(slots.end(), more.rbegin(), more.rend());
    if (slots.empty())
        throw Error(RPM_E_NOSPACE, "table '" + servers_.cluster().schema().tables()[table].name +
                                       "' has no slot free in shard " + std::to_string(shard) +
                                       ": erase rows, or make the database with a larger rows_max");
    co_return take_one(set, shard, table);
}

Access *FreeSlots::take_one(ReadWriteSet &set, uint32_t shard, uint32_t table)
{
    std::vector<uint64_t> &slots = slots_of(shard, table);

    /* An attempt that began before the session joined again must not use a slot. */
    if (set.joined != servers_.joined())
        throw Fenced(RPM_E_FENCED, "this attempt began before the session joined again");

    DTX_ASSERT(!slots.empty() && slots.back() < servers_.layout().table(table).slots);

    Address address = Address::of(shard, table, slots.back());
    Access *access = set.find(address);
    bool reused = access != nullptr;

    /* The transaction may have read this slot because of a wrong guess: then it did not use the
     * contents, and access->seen is false. If seen is true, another coroutine has committed a
     * deletion of the row since, or the allocator has handed out a slot that is in use. */
    if (!reused)
        access = set.add(address, servers_.layout().table(table).slot_bytes);
    else if (access->seen || access->written)
        throw Inconsistent{ {}, "the allocator handed out a slot that has a row" };
    DTX_ASSERT(access->bytes == servers_.layout().table(table).slot_bytes);
    slots.pop_back();
    std::fill(access->image, access->image + access->bytes, 0);
    access->version = 0;
    access->writer = 0;
    access->whole = true;
    access->written = true;
    access->fresh = true;
    access->reused = reused;
    return access;
}

/* How many free slots of a table a session may keep. */
static uint64_t kept_most(const Layout &layout, uint64_t table)
{
    return std::clamp<uint64_t>(layout.table(static_cast<uint32_t>(table)).slots / 16, 2,
                                4 * kSlotsAtOnce);
}

void FreeSlots::give_back(Address address)
{
    std::vector<uint64_t> &slots = slots_of(address.shard(), address.table());

    DTX_ASSERT(address.table() != kAllocatorTable);
    slots.push_back(address.slot());
    if (slots.size() > kept_most(servers_.layout(), address.table()))
        surplus_ = Address::of(address.shard(), kAllocatorTable, address.table());
}

std::optional<Address> FreeSlots::surplus()
{
    if (surplus_ && slots_of(surplus_->shard(), uint32_t(surplus_->slot())).size() <=
                        kept_most(servers_.layout(), surplus_->slot()))
        surplus_.reset();
    return surplus_;
}

std::vector<uint64_t> FreeSlots::take(Address head, size_t most)
{
    DTX_ASSERT(head.table() == kAllocatorTable);

    std::vector<uint64_t> &slots = slots_of(head.shard(), uint32_t(head.slot()));
    auto first = slots.end() - static_cast<ptrdiff_t>(std::min(slots.size(), most));
    std::vector<uint64_t> taken(first, slots.end());

    slots.erase(first, slots.end());
    return taken;
}

} // namespace dtx
