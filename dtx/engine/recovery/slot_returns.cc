/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot_returns.cc: lock, link the slots, log, install on all copies, unlock.
 *
 * Invariants
 *   a record is in all its logs before the first slot is written
 *   after that the locks are freed only when all slots are on all copies: if this fails between,
 *   the coordinator's next recovery installs the record and lets the locks count no more
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/unit/dtx/engine/recovery/spares_test.cpp
 */
#include "engine/recovery/slot_returns.h"

#include "engine/base/assert.h"
#include "engine/format/allocator.h"
#include "engine/format/redo.h"
#include "engine/format/txn_number.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr size_t kRecordBytes = 16 << 10; /* of a transaction, unless one slot is larger */

SlotReturns::SlotReturns(Servers &servers, Logs logs, bool locks)
    : servers_(servers), logs_(std::move(logs)), locks_(locks)
{
    DTX_ASSERT(claim_of(logs_.prefix) == logs_.prefix);
    DTX_ASSERT(locks_ || servers.owns(kRecoverer)); /* which has fenced all sessions */
}

uint64_t SlotReturns::at_once(uint32_t table) const
{
    size_t frame =
        redo_bytes({}, 0) + sizeof(uint64_t) + servers_.layout().table(kAllocatorTable).slot_bytes;
    size_t each = sizeof(uint64_t) + servers_.layout().table(table).slot_bytes;
    size_t most = std::min(logs_.record_max, kRecordBytes);

    return std::clamp<size_t>(most < frame ? 0 : (most - frame) / each, 1, kSlotsAtOnce - 1);
}

/* Takes a lock that is free, or that was taken under a claim that does not count any more. */
bool SlotReturns::lock(Address address, uint64_t txn)
{
    uint32_t shard = address.shard();
    uint64_t offset = servers_.layout().lock_offset(address);
    ServerConnection &primary = servers_.primary(shard);
    uint64_t found = primary.compare_and_swap(shard, offset, 0, txn);
    uint32_t owner = coordinator_of(found);

    DTX_ASSERT(claim_of(txn) == logs_.prefix); /* a session that finds the lock looks it up */
    if (found == 0)
        return true;
    return owner < kCoordinatorsMax &&
           primary.lock_word(shard, claim_offset(owner)) != claim_of(found) &&
           primary.compare_and_swap(shard, offset, found, txn) == found;
}

void SlotReturns::unlock(std::span<const Address> held, uint64_t txn)
{
    for (Address address : held)
        (void)servers_.primary(address.shard())
            .compare_and_swap(address.shard(), servers_.layout().lock_offset(address), txn, 0);
}

bool SlotReturns::lock_all(std::span<const Address> all, uint64_t txn)
{
    for (size_t i = 0; i < all.size(); i++)
        if (!lock(all[i], txn)) {
            unlock(all.first(i), txn);
            return false;
        }
    return true;
}

Access *load(Servers &servers, ReadWriteSet &set, Address address)
{
    Access *access = set.add(address, servers.layout().table(address.table()).slot_bytes);

    servers.primary(address.shard())
        .read(address.shard(), servers.layout().row_offset(address), access->image, access->bytes);
    expect_whole(servers.cluster(), address, access->image, access->bytes);
    return access;
}

/* Puts the slots in front of the list, in @set. */
void SlotReturns::link(ReadWriteSet &set, Address head, std::span<const uint64_t> slots)
{
    AllocatorHead &state = load(servers_, set, head)->as<AllocatorHead>();

    for (uint64_t slot : slots) {
        Access *free = load(servers_, set,
                            Address::of(head.shard(), static_cast<uint32_t>(head.slot()), slot));

        free->header().key = state.returned;
        free->header().flags = 0;
        state.returned = slot + 1;
    }
}

bool SlotReturns::give_back(Address head, std::span<const uint64_t> slots)
{
    uint32_t table = static_cast<uint32_t>(head.slot());
    uint64_t txn = logs_.prefix | ++sequence_;
    std::vector<Address> held = { head };
    ReadWriteSet set;

    DTX_ASSERT(head.table() == kAllocatorTable);
    DTX_ASSERT(!slots.empty() && slots.size() <= at_once(table));
    DTX_ASSERT(sequence_ >> kSequenceBits == 0); /* each transaction has a number of its own */
    for (uint64_t slot : slots)
        held.push_back(Address::of(head.shard(), table, slot));
    if (locks_ && !lock_all(held, txn))
        return false;
    try {
        link(set, head, slots);
    } catch (...) {
        if (locks_)
            unlock(held, txn);
        throw;
    }
    commit(set, txn);
    if (locks_)
        unlock(held, txn);
    return true;
}

void SlotReturns::commit(ReadWriteSet &set, uint64_t txn)
{
    const std::vector<Access *> &writes = set.sorted();
    uint32_t shard = writes.front()->address.shard();
    std::vector<unsigned char> record;
    std::vector<rpm_patch> patches;

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
    if (!servers_.canary(kCanaryNoRecord))
        logs_.append(record);
    for (uint32_t copy = 0; copy < servers_.placement().copies(shard); copy++)
        servers_.connection(servers_.server_of(shard, copy)).write(shard, patches);
}

/* The logs that get a coordinator's records, which @servers has claimed. */
static SlotReturns::Logs logs_of(Servers &servers, uint32_t coordinator)
{
    const Placement &placement = servers.placement();
    std::vector<uint32_t> wanted = placement.log_servers(coordinator);

    DTX_ASSERT(servers.owns(coordinator)); /* else another session may append to these logs */
    DTX_ASSERT(!wanted.empty());           /* else no recovery would find the record */

    SlotReturns::Logs logs{ number_prefix(coordinator, placement.view.number,
                                          servers.connection(placement.first()).epoch()),
                            SIZE_MAX,
                            {} };

    for (uint32_t server : wanted)
        logs.record_max = std::min(logs.record_max, servers.connection(server).record_max());
    logs.append = [&servers, wanted](const std::vector<unsigned char> &record) {
        for (uint32_t server : wanted) {
            uint64_t lsn = 0;

            if (!servers.connection(server).append(record.data(), record.size(), nullptr, &lsn))
                throw Error(RPM_E_FULL, "the log of a dead session has no room to return its free "
                                        "slots, though it was emptied");
        }
    };
    return logs;
}

/* How many spare slots from the first on are of its table and shard, at most @most. */
static size_t of_one_table(std::span<const Spare> spares, uint64_t most)
{
    DTX_ASSERT(!spares.empty() && most > 0);

    Address first = spares.front().address;
    size_t n = 1;

    while (n < spares.size() && n < most && spares[n].address.shard() == first.shard() &&
           spares[n].address.table() == first.table())
        n++;
    return n;
}

uint64_t return_spares(Servers &servers, uint32_t coordinator, std::vector<Spare> spares)
{
    if (spares.empty() || !servers.owns(coordinator)) /* else a live server lacks its log */
        return 0;

    SlotReturns returns(servers, logs_of(servers, coordinator), true);
    uint64_t returned = 0;

    for (size_t first = 0, n; first < spares.size();) {
        Address address = spares[first].address;
        std::vector<uint64_t> slots;
        bool ended = false;

        n = of_one_table(std::span(spares).subspan(first), returns.at_once(address.table()));
        for (size_t i = 0; i < n; i++)
            slots.push_back(spares[first + i].address.slot());
        try {
            ended = returns.give_back(
                Address::of(address.shard(), kAllocatorTable, address.table()), slots);
        } catch (const Error &error) {
            if (error.code() != RPM_E_CORRUPT)
                throw;
        }
        if (!ended) {
            first += n;
            continue;
        }
        returned += n;
        spares.erase(spares.begin() + static_cast<ptrdiff_t>(first),
                     spares.begin() + static_cast<ptrdiff_t>(first + n));
        for (uint32_t server = 0; server < servers.count(); server++)
            if (servers.connection(server).has_log())
                servers.connection(server).keep_note(spares);
    }
    return returned;
}

} // namespace dtx
