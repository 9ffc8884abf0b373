/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.h: the keys of rows. The upper 32 bits of a key choose the shard; all rows of a file, and
 * the names in a directory, are on the shard of its number.
 *
 * A name's key has a hash of 28 bits, and 4 bits that tell apart names with the same hash. Its
 * lower half is the position of the name in the directory, for readdir(): inserting and removing
 * other names does not change it.
 *
 * Tests: tests/unit/fs/format/keys_test.cpp
 */
#ifndef FS_CORE_FORMAT_KEYS_H
#define FS_CORE_FORMAT_KEYS_H

#include <cstdint>
#include <string_view>

namespace rfs
{

inline constexpr uint32_t kCollisions = 16; /* names of a directory with the same hash, at most */

constexpr uint64_t key_of(uint32_t upper, uint32_t lower)
{
    return uint64_t{ upper } << 32 | lower;
}

/* Partitions of dtx: by the upper half of a key, and by a key that is a file's number. */
constexpr uint32_t upper_half(uint64_t key)
{
    return static_cast<uint32_t>(key >> 32);
}
constexpr uint32_t lower_half(uint64_t key)
{
    return static_cast<uint32_t>(key);
}

/* The shard of a file's rows. */
constexpr uint32_t shard_of(uint32_t ino, uint32_t shards)
{
    return ino % shards;
}

/* The first of the kCollisions keys that a name can have. @seed: VolumeRow::name_seed. */
uint64_t first_name_key(uint32_t directory, std::string_view name, uint64_t seed);

} // namespace rfs
#endif
