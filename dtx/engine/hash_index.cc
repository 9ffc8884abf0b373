/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash_index.cc: buckets and those they run over to.
 *
 * Tests: tests/unit/dtx/engine/hash_index_test.cpp
 */
#include "engine/hash_index.h"

#include "engine/store.h"
#include <dtx/error.h>

namespace dtx
{

static constexpr uint32_t kChainMax = 1000;

namespace
{

struct Place {
    Access *bucket = nullptr; /* where the key is, or nullptr */
    uint32_t entry = 0;
    Access *room = nullptr; /* the first bucket with room */
    Access *last = nullptr; /* of the chain */
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
    const TableSpec &spec = store.cluster().schema().tables()[table];

    return Address::of(store.shard_of(table, key), spec.index, home_bucket(spec.rows_max, key));
}

/* What a bucket of the key's chain says. Returns the bucket to look into next; 0: none. */
static uint64_t look_into(Access *access, uint64_t key, Place &place)
{
    const Bucket &bucket = access->as<Bucket>();

    /* A slot that was never written is an empty bucket. */
    if (bucket.used > kBucketEntries)
        throw Inconsistent{};
    place.last = access;
    if (place.room == nullptr && bucket.used < kBucketEntries)
        place.room = access;
    for (uint32_t i = 0; i < bucket.used; i++)
        if (bucket.entry[i].key == key) {
            place.bucket = access;
            place.entry = i;
            return 0;
        }
    return bucket.next;
}

/* Go through the buckets of a key. */
static Task<Place> look_up(Store &store, Accesses &accesses, uint32_t table, uint64_t key)
{
    Address at = home_of(store, table, key);
    Place place;

    for (uint32_t length = 0; length < kChainMax; length++) {
        uint64_t next = look_into(co_await store.fetch(accesses, at), key, place);

        if (next == 0)
            co_return place;
        at = Address::of(at.shard(), at.table(), next);
    }
    throw Inconsistent{}; /* buckets of different times can be a circle */
}

std::optional<uint64_t> hash_find_now(Store &store, Accesses &accesses, uint32_t table,
                                      uint64_t key)
{
    Address at = home_of(store, table, key);
    Place place;

    for (uint32_t length = 0; length < kChainMax; length++) {
        Access *access = store.fetch_now(accesses, at, accesses.find(at));
        uint64_t next = access != nullptr ? look_into(access, key, place) : 0;

        if (place.bucket != nullptr)
            return place.bucket->as<Bucket>().entry[place.entry].slot;
        if (next == 0)
            break;
        at = Address::of(at.shard(), at.table(), next);
    }
    return std::nullopt;
}

Task<std::optional<uint64_t>> hash_find(Store &store, Accesses &accesses, uint32_t table,
                                        uint64_t key)
{
    Place place = co_await look_up(store, accesses, table, key);

    if (place.bucket == nullptr)
        co_return std::nullopt;
    co_return place.bucket->as<Bucket>().entry[place.entry].slot;
}

static Task<Access *> room_for_entry(Store &store, Accesses &accesses, Place place)
{
    if (place.room != nullptr)
        co_return place.room;

    Address last = place.last->address;
    Access *fresh = co_await store.allocate(accesses, last.shard(), last.table());

    fresh->header().flags = kObjectValid;
    place.last->as<Bucket>().next = fresh->address.slot();
    place.last->written = true;
    co_return fresh;
}

Task<> hash_add(Store &store, Accesses &accesses, uint32_t table, uint64_t key, uint64_t slot)
{
    Place place = co_await look_up(store, accesses, table, key);
    Access *access = co_await room_for_entry(store, accesses, place);
    Bucket &bucket = access->as<Bucket>();

    bucket.entry[bucket.used++] = { key, slot };
    access->header().flags = kObjectValid;
    access->written = true;
}

Task<std::optional<uint64_t>> hash_remove(Store &store, Accesses &accesses, uint32_t table,
                                          uint64_t key)
{
    Place place = co_await look_up(store, accesses, table, key);

    if (place.bucket == nullptr)
        co_return std::nullopt;

    Bucket &bucket = place.bucket->as<Bucket>();
    uint64_t slot = bucket.entry[place.entry].slot;

    bucket.entry[place.entry] = bucket.entry[--bucket.used];
    place.bucket->written = true;
    co_return slot;
}

} // namespace dtx
