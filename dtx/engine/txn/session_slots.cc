/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_slots.cc: transactions in which a session takes slots from the allocator heads, and
 * returns free slots to them.
 *
 * Tests: tests/unit/dtx/engine/txn/session_test.cpp
 */
#include <dtx/session.h>

#include "engine/base/assert.h"
#include "engine/format/allocator.h"
#include "engine/txn/session_state.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr uint64_t kReturnedMost = 64;

/* Takes slots of a table from its allocator head, in a transaction of its own: returned slots
 * first, then new ones. */
Task<std::vector<uint64_t>> Session::hand_out(Address head, uint64_t many)
{
    uint64_t room = state_->cluster.layout().table(static_cast<uint32_t>(head.slot())).slots;
    uint64_t first = first_slot(state_->cluster.schema(), head.slot());
    std::vector<uint64_t> slots;
    uint64_t generation = 0;

    DTX_ASSERT(head.table() == kAllocatorTable && many > 0);

    auto body = [&, this](Txn &txn) -> Task<bool> {
        Store &store = state_->store;

        generation = store.slots.generation();

        Access *access = co_await store.objects.fetch(txn.set_, head);
        AllocatorHead &state = access->as<AllocatorHead>();

        slots.clear();
        for (; state.returned != 0 && slots.size() < many;) {
            Address next =
                Address::of(head.shard(), static_cast<uint32_t>(head.slot()), state.returned - 1);

            /* If there is no such slot, or it has a row, the head and the slot were read at
             * different times, and do not fit together. */
            if (next.slot() >= room)
                throw Inconsistent{};

            Access *free = co_await store.objects.fetch(txn.set_, next);

            if (free->valid())
                throw Inconsistent{};
            slots.push_back(next.slot());
            txn.set_.handed_out.push_back({ next, free->header().version });
            state.returned = free->header().key;
        }
        /* No session writes a slot before it was handed out. If this one was written, the head that
         * was read is older than the slot. */
        if (slots.size() < many && first + state.handed_out < room) {
            Address next = Address::of(head.shard(), static_cast<uint32_t>(head.slot()),
                                       first + state.handed_out);

            const auto *unused = co_await store.objects.fetch(txn.set_, next, Zeros::unused);

            if (unused->version != 0)
                throw Inconsistent{};
        }
        for (; slots.size() < many && first + state.handed_out < room; state.handed_out++) {
            slots.push_back(first + state.handed_out);
            txn.set_.handed_out.push_back(
                { Address::of(head.shard(), static_cast<uint32_t>(head.slot()), slots.back()), 0 });
        }
        access->header().flags = kObjectValid;
        access->written = true;
        co_return !slots.empty();
    };
    Status status = (co_await attempt(body, false)).status;

    /* The slots may still be on the list of returned slots, or belong to another session. */
    if (status == Status::unknown || generation != state_->store.slots.generation())
        throw Conflict{};
    DTX_ASSERT(status == Status::committed || slots.empty());
    co_return slots;
}

Task<Status> Session::return_slots(Address head, const std::vector<uint64_t> &slots,
                                   uint64_t generation)
{
    DTX_ASSERT(head.table() == kAllocatorTable && !slots.empty());

    auto body = [&, this](Txn &txn) -> Task<bool> {
        Store &store = state_->store;

        if (store.slots.generation() != generation)
            co_return false;

        Access *access = co_await store.objects.fetch(txn.set_, head);
        AllocatorHead &state = access->as<AllocatorHead>();

        for (uint64_t slot : slots) {
            Access *free = co_await store.objects.fetch(
                txn.set_, Address::of(head.shard(), static_cast<uint32_t>(head.slot()), slot),
                Zeros::unused);

            free->header().key = state.returned;
            free->header().flags = 0;
            free->written = true;
            state.returned = slot + 1;
        }
        access->written = true;
        co_return true;
    };

    Status status = (co_await attempt(body, false)).status;

    if (status == Status::committed && generation == state_->store.slots.generation())
        for (uint64_t slot : slots)
            state_->store.slots.disown(
                Address::of(head.shard(), static_cast<uint32_t>(head.slot()), slot));
    co_return status;
}

/* How many slots one transaction may return: their images have to fit into one log record. */
uint64_t Session::returned_at_once(Address head)
{
    uint64_t bytes = state_->cluster.layout().table(static_cast<uint32_t>(head.slot())).slot_bytes;

    if (state_->log_servers.empty())
        return kReturnedMost;
    return std::clamp<uint64_t>(
        state_->store.servers.connection(state_->log_servers[0]).record_max() / (2 * bytes), 1,
        kReturnedMost);
}

bool Session::has_surplus()
{
    return state_->store.slots.surplus().has_value();
}

/* Returns slots of a table of which this session has more than it may keep. The transaction that
 * freed them has ended, so it must not get an error from here: the session keeps the slots, unless
 * they may belong to another session by now, and returns them later. */
Task<void> Session::return_surplus()
{
    if (!state_->store.servers.is_open() || !has_surplus())
        co_return;

    FreeSlots &own = state_->store.slots;
    std::optional<Address> found = own.surplus();
    uint64_t generation = own.generation();
    std::vector<uint64_t> slots;

    DTX_ASSERT(found);

    Address head = *found;

    try {
        slots = own.take(head, returned_at_once(head));
        (void)co_await return_slots(head, slots, generation);
    } catch (...) {
        if (generation == own.generation())
            for (uint64_t slot : slots)
                own.give_back(Address::of(head.shard(), uint32_t(head.slot()), slot));
    }
}

Task<void> Session::return_table(Address head, uint64_t generation)
{
    for (;;) {
        std::vector<uint64_t> slots = state_->store.slots.take(head, returned_at_once(head));

        if (slots.empty())
            co_return;
        (void)co_await return_slots(head, slots, generation);
    }
}

/* Returns all free slots of this session, when it ends. If a server does not answer, its slots stay
 * unused until the next session with this number, or one that takes over from it, finds them in the
 * logs. */
void Session::return_all_slots()
{
    const Cluster &cluster = state_->cluster;
    uint64_t generation =
        state_->store.slots
            .generation(); /* slots that are handed out later are not returned here */

    DTX_ASSERT(state_->leaving && state_->under_way == 0); /* no transaction uses a slot */
    if (!state_->store.servers.is_open())
        return;

    try {
        for (uint32_t shard = 0; shard < cluster.shards(); shard++)
            for (uint32_t table = 1; table < cluster.layout().tables(); table++) {
                std::vector<Task<void>> tasks;

                tasks.push_back(
                    return_table(Address::of(shard, kAllocatorTable, table), generation));
                run(std::move(tasks));
            }
    } catch (...) {
        return;
    }
}

} // namespace dtx
