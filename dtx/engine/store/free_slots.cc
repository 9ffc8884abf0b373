/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * free_slots.cc: free slots by shard and table, the last ones used first.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp, tests/unit/dtx/check/vacuum_test.cpp
 */
#include "engine/store/free_slots.h"

#include "engine/format/allocator.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

FreeSlots::FreeSlots(Servers &servers)
    : servers_(servers), free_(servers.cluster().shards() * servers.layout().tables())
{
}

/* A session that joins again keeps its free slots. It forgets them and begins a generation if the
 * servers were told of a newer view since, because a vacuum may then have put these slots on the
 * list, and if nothing is durable, because the commit that handed them out may be lost. */
void FreeSlots::begin_generation(uint64_t heard)
{
    if (heard == heard_ && servers_.cluster().options().durable)
        return;
    heard_ = heard;
    generation_++;
    for (auto &slots : free_)
        slots.clear();
}

std::vector<uint64_t> &FreeSlots::slots_of(uint32_t shard, uint32_t table)
{
    return free_[shard * servers_.layout().tables() + table];
}

Task<Access *> FreeSlots::allocate(ReadWriteSet &set, uint32_t shard, uint32_t table)
{
    std::vector<uint64_t> &slots = slots_of(shard, table);

    if (slots.empty()) {
        uint64_t room = servers_.layout().table(table).slots;
        uint64_t many = std::clamp<uint64_t>(room / kSlotsAtOnce, 1, kSlotsAtOnce);
        auto more = co_await hand_out(Address::of(shard, kAllocatorTable, table), many);

        /* In reverse: allocate() takes the last element first. */
        slots.insert(slots.end(), more.rbegin(), more.rend());
        if (slots.empty())
            throw Error(RPM_E_NOSPACE,
                        "table '" + servers_.cluster().schema().tables()[table].name +
                            "' has no slot free in shard " + std::to_string(shard) +
                            ": erase rows, or make the database with a larger rows_max");
    }
    /* An attempt from before the session joined again must not use a slot. */
    if (set.joined != servers_.joined())
        throw Fenced(RPM_E_FENCED, "this attempt began before the session joined again");

    Address address = Address::of(shard, table, slots.back());
    Access *access = set.find(address);
    bool reused = access != nullptr;

    /* A guess may have led the transaction here before, and it saw that the row is gone: such an
     * access is not seen. If it is, another coroutine has committed a deletion of the row since, or
     * the slot has a row and should not have been handed out. */
    if (!reused)
        access = set.add(address, servers_.layout().table(table).slot_bytes);
    else if (access->seen || access->written)
        throw Inconsistent{ {}, "a slot was handed out that a row is in" };
    slots.pop_back();
    std::fill(access->image, access->image + access->bytes, 0);
    access->version = 0;
    access->writer = 0;
    access->whole = true;
    access->written = true;
    access->fresh = true;
    access->reused = reused;
    co_return access;
}

/* How many free slots a session keeps: other sessions need slots too. */
static uint64_t kept_most(const Layout &layout, uint64_t table)
{
    return std::clamp<uint64_t>(layout.table(static_cast<uint32_t>(table)).slots / 16, 2,
                                4 * kSlotsAtOnce);
}

void FreeSlots::give_back(Address address)
{
    std::vector<uint64_t> &slots = slots_of(address.shard(), address.table());

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
    std::vector<uint64_t> &slots = slots_of(head.shard(), uint32_t(head.slot()));
    auto first = slots.end() - static_cast<ptrdiff_t>(std::min(slots.size(), most));
    std::vector<uint64_t> taken(first, slots.end());

    slots.erase(first, slots.end());
    return taken;
}

} // namespace dtx
