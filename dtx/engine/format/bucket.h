/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket.h: a bucket of a hash index, and how many of them a table has.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/index/hash_index_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_BUCKET_H
#define DTX_ENGINE_FORMAT_BUCKET_H

#include <cstdint>

namespace dtx
{

inline constexpr uint32_t kBucketEntries = 13;

struct Bucket {
    uint64_t used; /* entries, the first ones */
    uint64_t next; /* slot of the overflow bucket, 0: none */
    struct {
        uint64_t key;
        uint64_t slot;
    } entry[kBucketEntries];
};
static_assert(sizeof(Bucket) == 224); /* 256 with its header: one XPLine */

/* The number of home buckets, to which keys are hashed: they are half full when the table has
 * @rows_max rows. Slot 0 is unused, so that a next of 0 ends a chain. */
constexpr uint64_t bucket_homes(uint64_t rows_max)
{
    return rows_max * 2 / kBucketEntries + 1;
}

/* The number of slots: slot 0, the home buckets, and the overflow buckets. */
constexpr uint64_t bucket_slots(uint64_t rows_max)
{
    return 1 + bucket_homes(rows_max) + bucket_homes(rows_max) / 4 + 256;
}

/* The first overflow bucket. */
constexpr uint64_t first_spare_bucket(uint64_t rows_max)
{
    return 1 + bucket_homes(rows_max);
}

} // namespace dtx
#endif
