/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.h: the address of an object: shard, table and slot. All that a database stores is
 * objects, each with a version and a lock: rows, hash buckets, nodes of ordered indexes, and the
 * allocator heads from which sessions take slots.
 *
 * Tests: tests/unit/dtx/engine/format/object_test.cpp
 */
#ifndef DTX_ADDRESS_H
#define DTX_ADDRESS_H

#include <compare>
#include <cstdint>

namespace dtx
{

inline constexpr unsigned kShardsMax = 256; /* servers of a database */
inline constexpr unsigned kTablesMax = 256; /* of a database, including those of indexes */
inline constexpr uint64_t kSlotsMax = uint64_t{ 1 } << 48;

/* Shard, table and slot in one word. Transactions take their locks in ascending order of it. */
struct Address {
    uint64_t word = 0;

    static constexpr Address of(uint32_t shard, uint32_t table, uint64_t slot)
    {
        return { uint64_t{ shard } << 56 | uint64_t{ table } << 48 | slot };
    }
    constexpr uint32_t shard() const
    {
        return static_cast<uint32_t>(word >> 56);
    }
    constexpr uint32_t table() const
    {
        return static_cast<uint32_t>(word >> 48) & 0xff;
    }
    constexpr uint64_t slot() const
    {
        return word & (kSlotsMax - 1);
    }
    auto operator<=>(const Address &) const = default;
};

} // namespace dtx
#endif
