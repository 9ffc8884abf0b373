/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash_index.h: a hash index maps a key to the slot that has its row. Buckets are objects: if a
 * transaction found a key absent, its commit validates the buckets that it searched.
 *
 * Tests: tests/unit/dtx/engine/index/hash_index_test.cpp
 */
#ifndef DTX_ENGINE_HASH_INDEX_H
#define DTX_ENGINE_HASH_INDEX_H

#include "engine/format/bucket.h"
#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <cstdint>
#include <optional>

namespace dtx
{

struct Store;

/* The bucket that a key is hashed to. */
uint64_t home_bucket(uint64_t rows_max, uint64_t key);

/* Awaited: the slot of a key's row, as this transaction sees it; nullopt: the key is absent. */
Task<std::optional<uint64_t>> hash_find(Store &store, ReadWriteSet &set, uint32_t table,
                                        uint64_t key);

/* The result of hash_find() if the buckets are in the set or in mapped memory. Else nullopt: then
 * hash_find() finds the buckets read so far in @set. */
std::optional<std::optional<uint64_t>> hash_find_now(Store &store, ReadWriteSet &set,
                                                     uint32_t table, uint64_t key);

/* A bucket to which a key can be added now, if the key is absent, its buckets are as above and one
 * has room; else nullptr. put_in_bucket() adds it. */
Access *bucket_with_room_now(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key);
void put_in_bucket(Access *bucket, uint64_t key, uint64_t slot);

/* Awaited: insert a key that hash_find() found absent. */
Task<> hash_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot);

/* Awaited: remove a key. Returns its slot, or nullopt: the key was absent. */
Task<std::optional<uint64_t>> hash_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                          uint64_t key);

} // namespace dtx
#endif
