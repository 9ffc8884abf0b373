/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.cc: find, write, insert and erase rows by their keys.
 *
 * A row has its key in its header, so the commit need not validate the index that led to the row;
 * if a key is absent, it validates the index. The session caches the slot of each row that it finds
 * (guesses.h), and searches the index only if that slot has another key's row.
 *
 * Tests: tests/unit/dtx/engine/txn/txn_test.cpp
 */
#include <dtx/txn.h>

#include "engine/base/assert.h"
#include "engine/index/hash_index.h"
#include "engine/store/store.h"
#include <dtx/error.h>
#include <dtx/session.h>

#include <optional>

namespace dtx
{

static const TableSpec &spec_of(const Store &store, uint32_t table)
{
    return store.servers.cluster().schema().tables()[table];
}

/* The slot of a key, by the table's kind of index. */
static Task<std::optional<uint64_t>> look_up(Store &store, ReadWriteSet &set, uint32_t table,
                                             uint64_t key)
{
    if (spec_of(store, table).kind == TableKind::hash)
        return hash_find(store, set, table, key);
    return ordered_find(store, set, table, key);
}

/* @row if it is the row of @key, else nullptr. */
static Access *if_key_is(Access *row, uint64_t key)
{
    return row->valid() && row->header().key == key ? row : nullptr;
}

/* The row in a slot if it is the row of @key, else nullptr. @updates: locks it if that spares a
 * round trip. */
static Task<Access *> row_at(Store &store, ReadWriteSet &set, Address address, uint64_t key,
                             bool updates = false)
{
    Access *row = nullptr;

    if (updates)
        row = co_await store.objects.fetch_locked(set, address);
    else
        row = co_await store.objects.fetch(set, address);
    co_return if_key_is(row, key);
}

/* The row was found, so the commit need not validate the index objects, from @first on, that led to
 * it. */
static void skip_validation(ReadWriteSet &set, uint32_t first, uint32_t index)
{
    for (uint32_t i = first; i < set.size(); i++)
        if (set[i].address.table() == index) {
            DTX_ASSERT(!set[i].written); /* else its commit could undo another's change */
            set[i].seen = false;
        }
}

/* Has this transaction read or written the object before? */
static bool is_used(const Access *access)
{
    return access != nullptr && (access->seen || access->written);
}

/* @found, the object in the slot of a guess, if it is the row of @key. Otherwise nullptr, and the
 * commit need not validate the object unless the transaction had used it before (@used). */
static Access *check_guess(bool used, Access *found, uint64_t key)
{
    Access *row = if_key_is(found, key);

    if (row == nullptr && !used)
        found->seen = false;
    return row;
}

/* Guesses that the row will be there when it is read again. A row that this transaction inserts is
 * not there before its commit: then Session::end() makes the guess. */
static void remember(Store &store, uint64_t key, const Access *row)
{
    if (!row->fresh)
        store.guesses.put(key, row->address);
}

static Task<Access *> find_row(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key,
                               bool updates)
{
    uint32_t shard = store.servers.shard_of(table, key);

    if (auto guess = store.guesses.find(table, key)) {
        bool used = is_used(set.find(*guess));
        Access *found = nullptr;

        if (updates)
            found = co_await store.objects.fetch_locked(set, *guess);
        else
            found = co_await store.objects.fetch(set, *guess);

        Access *row = check_guess(used, found, key);

        if (row != nullptr)
            co_return row;
        if (!used && found->taken)
            co_await store.objects.unlock(set, *found);
    }
    uint32_t first = set.size();
    auto slot = co_await look_up(store, set, table, key);

    if (!slot)
        co_return nullptr;

    Access *row = co_await row_at(store, set, Address::of(shard, table, *slot), key, updates);

    /* The row was deleted between the reads of the index and of the row. */
    if (row == nullptr)
        throw Inconsistent{};
    skip_validation(set, first, spec_of(store, table).index);
    remember(store, key, row);
    co_return row;
}

/* As look_up() if that takes no waiting; else nullopt. */
static std::optional<std::optional<uint64_t>> look_up_now(Store &store, ReadWriteSet &set,
                                                          uint32_t table, uint64_t key)
{
    if (spec_of(store, table).kind == TableKind::hash)
        return hash_find_now(store, set, table, key);
    return ordered_find_now(store, set, table, key);
}

/* As find_row(), by the index, if that takes no waiting; else nullopt. */
static std::optional<Access *> look_for_row_now(Store &store, ReadWriteSet &set, uint32_t table,
                                                uint64_t key)
{
    uint32_t first = set.size();
    auto slot = look_up_now(store, set, table, key);

    if (!slot)
        return std::nullopt;
    if (!*slot)
        return nullptr;

    Address address = Address::of(store.servers.shard_of(table, key), table, **slot);
    Access *row = store.objects.fetch_now(set, address, set.find(address));

    if (row == nullptr || if_key_is(row, key) == nullptr)
        return std::nullopt;
    skip_validation(set, first, spec_of(store, table).index);
    remember(store, key, row);
    return row;
}

/* As find_row() if that takes no waiting; else nullopt. */
static std::optional<Access *> find_row_now(Store &store, ReadWriteSet &set, uint32_t table,
                                            uint64_t key)
{
    if (auto guess = store.guesses.find(table, key)) {
        Access *before = set.find(*guess);
        bool used = is_used(before);
        Access *found = store.objects.fetch_now(set, *guess, before);

        if (found == nullptr)
            return std::nullopt;
        if (Access *row = check_guess(used, found, key))
            return row;
    }
    return look_for_row_now(store, set, table, key);
}

void Txn::refuse()
{
    throw Error(RPM_E_INVAL,
                "a second operation was begun before the first of the same transaction ended: "
                "await each before the next, or prefetch() the rows of both");
}

std::optional<const Access *> Txn::find_now(uint32_t table, uint64_t key, bool updates)
{
    expect_idle();

    auto row = find_row_now(session_.store(), set_, table, key);

    if (updates && row && *row != nullptr)
        (*row)->written = true;
    return row;
}

Task<const Access *> Txn::find(uint32_t table, uint64_t key, bool updates)
{
    OperationGuard guard(*this);
    Access *row = co_await find_row(session_.store(), set_, table, key, updates);

    if (updates && row != nullptr)
        row->written = true;
    co_return row;
}

Task<const Access *> Txn::at(uint32_t table, uint64_t key, uint64_t slot)
{
    Store &store = session_.store();
    Address address = Address::of(store.servers.shard_of(table, key), table, slot);
    Access *row = co_await row_at(store, set_, address, key);

    if (row == nullptr)
        throw Inconsistent{};
    co_return row;
}

/* The same if that takes no waiting and the row is there; else nullptr. */
const Access *Txn::at_now(uint32_t table, uint64_t key, uint64_t slot)
{
    Store &store = session_.store();
    Address address = Address::of(store.servers.shard_of(table, key), table, slot);
    Access *row = store.objects.fetch_now(set_, address, set_.find(address));

    return row != nullptr ? if_key_is(row, key) : nullptr;
}

bool Txn::change(Access *found, uint32_t table, const void *row)
{
    if (found == nullptr)
        return false;
    DTX_ASSERT(!found->freed); /* the session may reuse the slot after the commit */
    std::memcpy(found->image + sizeof(ObjectHeader), row,
                session_.store().servers.layout().table(table).payload_bytes);
    found->written = true;
    return true;
}

std::optional<bool> Txn::replace_now(uint32_t table, uint64_t key, const void *row)
{
    expect_idle();

    auto found = find_row_now(session_.store(), set_, table, key);

    if (!found)
        return std::nullopt;
    return change(*found, table, row);
}

Task<bool> Txn::replace(uint32_t table, uint64_t key, const void *row)
{
    OperationGuard guard(*this);

    co_return change(co_await find_row(session_.store(), set_, table, key, false), table, row);
}

/* Makes a fresh slot the row of a key. */
void Txn::fill(Access *fresh, uint64_t key, const void *row)
{
    Store &store = session_.store();

    DTX_ASSERT(fresh->fresh && fresh->written);
    fresh->header().key = key;
    fresh->header().flags = kObjectValid;
    std::memcpy(fresh->image + sizeof(ObjectHeader), row,
                store.servers.layout().table(fresh->address.table()).payload_bytes);
}

/* As add() if that takes no waiting, no further slot and no further index object; else nullopt,
 * and nothing was done. */
std::optional<bool> Txn::add_now(uint32_t table, uint64_t key, const void *row)
{
    expect_idle();

    Store &store = session_.store();
    bool hash = spec_of(store, table).kind == TableKind::hash;
    auto found = look_up_now(store, set_, table, key);

    if (!found)
        return std::nullopt;
    if (*found)
        return false;

    Access *room = hash ? bucket_with_room_now(store, set_, table, key)
                        : leaf_with_room_now(store, set_, table, key);
    Access *fresh = room == nullptr
                        ? nullptr
                        : store.slots.allocate_now(set_, store.servers.shard_of(table, key), table);

    if (fresh == nullptr)
        return std::nullopt;
    DTX_ASSERT(fresh->address.shard() == room->address.shard()); /* an entry names a slot alone */
    fill(fresh, key, row);
    (hash ? put_in_bucket : put_in_leaf)(room, key, fresh->address.slot());
    return true;
}

Task<bool> Txn::add(uint32_t table, uint64_t key, const void *row)
{
    OperationGuard guard(*this);
    Store &store = session_.store();

    std::optional<uint64_t> there = co_await look_up(store, set_, table, key);

    if (there)
        co_return false;

    Access *fresh = co_await store.slots.allocate(set_, store.servers.shard_of(table, key), table);
    uint64_t slot = fresh->address.slot();

    DTX_ASSERT(fresh->address.shard() == store.servers.shard_of(table, key));
    fill(fresh, key, row);
    if (spec_of(store, table).kind == TableKind::hash)
        co_await hash_add(store, set_, table, key, slot);
    else
        co_await ordered_add(store, set_, table, key, slot);
    co_return true;
}

static void expect_size(ByteTable table, Txn::Bytes row)
{
    if (row.size() != table.row_bytes)
        throw Error(RPM_E_INVAL, "a row of " + std::to_string(row.size()) + " bytes, expected " +
                                     std::to_string(table.row_bytes) + ", the table's row_bytes");
}

Task<bool> Txn::write(ByteTable table, uint64_t key, Bytes row)
{
    expect_size(table, row);
    return replace(table.number, key, row.data());
}

Task<bool> Txn::insert(ByteTable table, uint64_t key, Bytes row)
{
    expect_size(table, row);
    return add(table.number, key, row.data());
}

Task<std::vector<std::pair<uint64_t, Txn::Bytes>>>
Txn::scan(ByteTable table, uint64_t from, uint64_t to, uint32_t limit, Order order)
{
    OperationGuard guard(*this);
    std::vector<std::pair<uint64_t, Bytes>> rows;
    auto found = co_await range(table.number, { from, to, limit, order });

    DTX_ASSERT(found.size() <= limit);
    if (!found.empty())
        co_await prefetch_slots(table.number, found);
    for (const auto &[key, slot] : found)
        rows.emplace_back(key, bytes(*co_await at(table.number, key, slot), table));
    co_return rows;
}

Task<> Txn::write_span(std::span<const SpanWrite> pieces)
{
    OperationGuard guard(*this);

    co_await session_.store().spans.write(pieces);
}

/* The bytes are read after the rows that led to them, so even a transaction with a single row must
 * validate it: otherwise the row may have changed before the bytes were read. */
Task<> Txn::read_span(std::span<const SpanRead> pieces)
{
    OperationGuard guard(*this);

    for (uint32_t i = 0; i < set_.size(); i++)
        set_[i].settled = false;
    co_await session_.store().spans.read(pieces);
}

/* As read_span(). */
Task<> Txn::sum_span(std::span<const SpanSum> pieces)
{
    OperationGuard guard(*this);

    for (uint32_t i = 0; i < set_.size(); i++)
        set_[i].settled = false;
    co_await session_.store().spans.sum(pieces);
}

uint32_t Txn::copies(uint32_t shard) const
{
    return static_cast<uint32_t>(session_.store().servers.copies(shard).size());
}

Task<bool> Txn::remove(uint32_t table, uint64_t key)
{
    OperationGuard guard(*this);
    Store &store = session_.store();
    std::optional<uint64_t> slot;

    if (spec_of(store, table).kind == TableKind::hash)
        slot = co_await hash_remove(store, set_, table, key);
    else
        slot = co_await ordered_remove(store, set_, table, key);
    if (!slot)
        co_return false;

    Address address = Address::of(store.servers.shard_of(table, key), table, *slot);
    Access *row = co_await row_at(store, set_, address, key);

    if (row == nullptr)
        throw Inconsistent{};
    DTX_ASSERT(row->valid() && !row->freed);
    row->header().flags = 0;
    row->written = true;
    row->freed = true;
    co_return true;
}

/* First fetches all guesses, then all rows, so that the cache misses of each overlap. */
bool Txn::prefetch_now(std::span<const RowKey> rows)
{
    Store &store = session_.store();
    bool mapped = true;

    for (const RowKey &row : rows)
        store.guesses.prefetch(row.table, row.key);
    for (const RowKey &row : rows)
        if (auto address = store.guesses.find(row.table, row.key)) {
            mapped = mapped && !store.objects.is_remote(*address);
            if (mapped)
                store.objects.prefetch(*address);
        }
    return mapped;
}

Task<std::monostate> Txn::prefetch_remote(std::span<const RowKey> rows)
{
    OperationGuard guard(*this);
    Store &store = session_.store();
    std::vector<Address> remote;

    for (const RowKey &row : rows)
        if (auto address = store.guesses.find(row.table, row.key);
            address && store.objects.is_remote(*address))
            remote.push_back(*address);
    co_await store.objects.fetch_all(set_, remote);
    co_return std::monostate{};
}

Task<> Txn::prefetch_slots(uint32_t table, const std::vector<std::pair<uint64_t, uint64_t>> &found)
{
    Store &store = session_.store();
    std::vector<Address> remote;

    for (const auto &[key, slot] : found)
        if (Address address = Address::of(store.servers.shard_of(table, key), table, slot);
            store.objects.is_remote(address))
            remote.push_back(address);
    if (!remote.empty())
        co_await store.objects.fetch_all(set_, remote);
}

Task<std::vector<std::pair<uint64_t, uint64_t>>> Txn::range(uint32_t table, Range range)
{
    return ordered_range(session_.store(), set_, table, range);
}

std::optional<std::vector<std::pair<uint64_t, uint64_t>>> Txn::range_now(uint32_t table,
                                                                         Range range)
{
    expect_idle();
    return ordered_range_now(session_.store(), set_, table, range);
}

} // namespace dtx
