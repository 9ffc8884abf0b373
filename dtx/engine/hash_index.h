/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash_index.h: which slot of a hash table has the row of a key. Buckets are objects: a key that is
 * not there was looked for in buckets that must not have changed at the commit.
 *
 * Tests: tests/unit/dtx/engine/hash_index_test.cpp
 */
#ifndef DTX_ENGINE_HASH_INDEX_H
#define DTX_ENGINE_HASH_INDEX_H

#include <dtx/accesses.h>
#include <dtx/task.h>

#include <cstdint>
#include <optional>

namespace dtx
{

class Store;

inline constexpr uint32_t kBucketEntries = 13;

struct Bucket {
    uint64_t used; /* entries, the first ones */
    uint64_t next; /* slot of the bucket this one runs over to, 0: none */
    struct {
        uint64_t key;
        uint64_t slot;
    } entry[kBucketEntries];
};
static_assert(sizeof(Bucket) == 224); /* 256 with its header: one XPLine */

/* Buckets that keys are hashed to, for that many rows: half full when all are there. Slot 0 is none
 * of them, so that 0 can say that there is no next one. */
constexpr uint64_t bucket_homes(uint64_t rows_max)
{
    return rows_max * 2 / kBucketEntries + 1;
}

/* With those that run over. */
constexpr uint64_t bucket_slots(uint64_t rows_max)
{
    return 1 + bucket_homes(rows_max) + bucket_homes(rows_max) / 4 + 256;
}

/* What is handed out of buckets starts behind the homes. */
constexpr uint64_t first_spare_bucket(uint64_t rows_max)
{
    return 1 + bucket_homes(rows_max);
}

/* The bucket that a key is hashed to. */
uint64_t home_bucket(uint64_t rows_max, uint64_t key);

/* The slot of a key's row, as this transaction has it. */
Task<std::optional<uint64_t>> hash_find(Store &store, Accesses &accesses, uint32_t table,
                                        uint64_t key);

/* The same where that takes no waiting. Nothing: the key is not there, or hash_find() has to be
 * asked: it finds what was looked at so far among the accesses. */
std::optional<uint64_t> hash_find_now(Store &store, Accesses &accesses, uint32_t table,
                                      uint64_t key);

/* Enter a key that is not there. */
Task<> hash_add(Store &store, Accesses &accesses, uint32_t table, uint64_t key, uint64_t slot);

/* Take a key out. What its slot was, or nothing: it was not there. */
Task<std::optional<uint64_t>> hash_remove(Store &store, Accesses &accesses, uint32_t table,
                                          uint64_t key);

} // namespace dtx
#endif
