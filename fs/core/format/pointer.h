/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pointer.h: where a block of a file lies, and the checksum of its bytes.
 *
 * The checksum is seeded with the file's number and the block's number in it, so a block of another
 * file, or another block of this one, is not taken for it.
 *
 * Tests: tests/unit/fs/format/pointer_test.cpp
 */
#ifndef FS_CORE_FORMAT_POINTER_H
#define FS_CORE_FORMAT_POINTER_H

#include <cstdint>

namespace rfs
{

inline constexpr uint32_t kBlockBytes = 4096;

/* Zero: a hole, which reads as zeros. */
struct Pointer {
    uint64_t place; /* shard << 56 | block in its shard << 16 | flags; 8, 40 and 16 bits */
    uint64_t sum;   /* of the block; 0 if it is unwritten */

    bool is_hole() const
    {
        return place == 0;
    }
    /* Allocated, but its bytes were never written: it reads as zeros. */
    bool is_unwritten() const
    {
        return (place & kUnwritten) != 0;
    }
    uint32_t shard() const
    {
        return static_cast<uint32_t>(place >> 56);
    }
    uint64_t block() const
    {
        return place >> 16 & kBlockMost;
    }

    static constexpr uint64_t kAllocated = 1; /* set in each pointer that is not a hole */
    static constexpr uint64_t kUnwritten = 2;
    static constexpr uint64_t kBlockMost = (1ull << 40) - 1;
};
static_assert(sizeof(Pointer) == 16);

/* A pointer to block @block of @shard, without its checksum. @flags: kUnwritten or 0. */
Pointer point_to(uint32_t shard, uint64_t block, uint64_t flags = 0);

/* The seed of the checksum of block @number of file @ino. */
uint64_t block_seed(uint32_t ino, uint64_t number);
/* The checksum of that block: XXH3, 64 bits. @bytes: kBlockBytes. */
uint64_t block_sum(uint32_t ino, uint64_t number, const void *bytes);

/* Has a pointer a form that point_to() makes, in a volume of so many shards and blocks in each? */
bool is_sound(const Pointer &pointer, uint32_t shards, uint64_t blocks);

} // namespace rfs
#endif
