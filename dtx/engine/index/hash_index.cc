/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash_index.cc: find, insert and remove keys in a chain of buckets.
 *
 * Tests: tests/unit/dtx/engine/index/hash_index_test.cpp
 */
#include "engine/index/hash_index.h"

#include "engine/base/assert.h"
#include "engine/store/store.h"
#include <dtx/error.h>

namespace dtx
{

static constexpr uint32_t kChainMax = 1000;

namespace
{

struct Lookup {
    Access *bucket = nullptr; /* the bucket that has the key; nullptr: none has it */
    uint32_t entry = 0;       /* the key's entry in that bucket */
    Access *room = nullptr;   /* the first bucket with room for an entry */
    Access *last = nullptr;   /* the last bucket of the chain */
};

} // namespace

static uint64_t mixed(uint64_t key)
{
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
    return key ^ key >> 32;
}

uint64_t home_bucket(uint64_t rows_max, uint64_t key)
{
    return 1 + static_cast<uint64_t>(
                   (static_cast<unsigned __int128>(mixed(key)) * bucket_homes(rows_max)) >> 64);
}

static Address home_of(const Store &store, uint32_t table, uint64_t key)
{
    const TableSpec &spec = store.servers.cluster().schema().tables()[table];

    return Address::of(store.servers.shard_of(table, key), spec.index,
                       home_bucket(spec.rows_max, key));
}

/* Looks for @key in a bucket of its chain. Returns the slot of the next bucket; 0: the search ends.
 * */
static uint64_t look_into(Access *access, uint64_t key, Lookup &lookup)
{
    const Bucket &bucket = access->as<Bucket>();

    if (bucket.used > kBucketEntries)
        throw Inconsistent{};
    lookup.last = access;
    if (lookup.room == nullptr && bucket.used < kBucketEntries)
        lookup.room = access;
    for (uint32_t i = 0; i < bucket.used; i++)
        if (bucket.entry[i].key == key) {
            lookup.bucket = access;
            lookup.entry = i;
            return 0;
        }
    return bucket.next;
}

/* Searches the chain of buckets of a key. */
static Task<Lookup> look_up_later(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key)
{
    Address at = home_of(store, table, key);
    Lookup lookup;

    for (uint32_t length = 0; length < kChainMax; length++) {
        uint64_t next = look_into(co_await store.objects.fetch(set, at), key, lookup);

        if (next == 0)
            co_return lookup;
        at = Address::of(at.shard(), at.table(), next);
    }
    throw Inconsistent{}; /* buckets that were read at different times can form a cycle */
}

/* The same if all buckets are in the set or in mapped memory; else nullopt. */
static std::optional<Lookup> look_up_now(Store &store, ReadWriteSet &set, uint32_t table,
                                         uint64_t key)
{
    Address at = home_of(store, table, key);
    Lookup lookup;

    for (uint32_t length = 0; length < kChainMax; length++) {
        Access *access = store.objects.fetch_now(set, at, set.find(at));

        if (access == nullptr)
            return std::nullopt;

        uint64_t next = look_into(access, key, lookup);

        if (next == 0)
            return lookup;
        at = Address::of(at.shard(), at.table(), next);
    }
    throw Inconsistent{};
}

namespace
{

struct LookUp {
    std::optional<Lookup> now()
    {
        return look_up_now(store, set, table, key);
    }
    Task<Lookup> later()
    {
        return look_up_later(store, set, table, key);
    }
    Store &store;
    ReadWriteSet &set;
    uint32_t table;
    uint64_t key;
};

} // namespace

static AtOnce<LookUp> look_up(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key)
{
    return AtOnce(LookUp{ store, set, table, key });
}

static std::optional<uint64_t> slot_of(const Lookup &lookup)
{
    if (lookup.bucket == nullptr)
        return std::nullopt;
    return lookup.bucket->as<Bucket>().entry[lookup.entry].slot;
}

std::optional<std::optional<uint64_t>> hash_find_now(Store &store, ReadWriteSet &set,
                                                     uint32_t table, uint64_t key)
{
    auto lookup = look_up_now(store, set, table, key);

    if (!lookup)
        return std::nullopt;
    return slot_of(*lookup);
}

Task<std::optional<uint64_t>> hash_find(Store &store, ReadWriteSet &set, uint32_t table,
                                        uint64_t key)
{
    co_return slot_of(co_await look_up(store, set, table, key));
}

static Task<Access *> room_for_entry(Store &store, ReadWriteSet &set, Lookup lookup)
{
    if (lookup.room != nullptr)
        co_return lookup.room;

    Address last = lookup.last->address;
    Access *fresh = co_await store.slots.allocate(set, last.shard(), last.table());

    DTX_ASSERT(lookup.last->as<Bucket>().next == 0); /* else the chain behind it would be lost */
    fresh->header().flags = kObjectValid;
    lookup.last->as<Bucket>().next = fresh->address.slot();
    lookup.last->written = true;
    co_return fresh;
}

Access *bucket_with_room_now(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key)
{
    auto lookup = look_up_now(store, set, table, key);

    return lookup && lookup->bucket == nullptr ? lookup->room : nullptr;
}

void put_in_bucket(Access *access, uint64_t key, uint64_t slot)
{
    Bucket &bucket = access->as<Bucket>();

    DTX_ASSERT(bucket.used < kBucketEntries);
    bucket.entry[bucket.used++] = { key, slot };
    access->header().flags = kObjectValid;
    access->written = true;
}

Task<> hash_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot)
{
    Lookup lookup = co_await look_up(store, set, table, key);

    DTX_ASSERT(lookup.bucket == nullptr);

    put_in_bucket(co_await room_for_entry(store, set, lookup), key, slot);
}

Task<std::optional<uint64_t>> hash_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                          uint64_t key)
{
    Lookup lookup = co_await look_up(store, set, table, key);

    if (lookup.bucket == nullptr)
        co_return std::nullopt;

    Bucket &bucket = lookup.bucket->as<Bucket>();
    uint64_t slot = bucket.entry[lookup.entry].slot;

    DTX_ASSERT(lookup.entry < bucket.used);
    bucket.entry[lookup.entry] = bucket.entry[--bucket.used];
    lookup.bucket->written = true;
    co_return slot;
}

} // namespace dtx
