/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h: where the slots of each table and the bytes of each span lie in a shard, and the slots'
 * locks beside it.
 *
 * A shard is one persistent region: a descriptor, a description of its tables, then the slots of
 * one table after another, then one span after another, each behind its slabs' marks. Its locks are
 * a region in DRAM (H8): a word that says whether sessions may use the shard, a word for each
 * coordinator that says which claim's locks count, then a word for each slot of a table.
 *
 * Tests: tests/unit/dtx/engine/format/layout_test.cpp
 */
#ifndef DTX_LAYOUT_H
#define DTX_LAYOUT_H

#include <dtx/address.h>
#include <dtx/schema.h>

#include <cstdint>
#include <vector>

namespace dtx
{

inline constexpr uint64_t kPageBytes = 4096; /* spans and their slabs begin at multiples of it */

constexpr uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

inline constexpr uint64_t kDescriptorBytes = 4096;     /* then the description of the tables */
inline constexpr uint64_t kTablesOffset = 24576;       /* then the tables */
inline constexpr uint64_t kReadyOffset = 0;            /* ready word, in the locks region */
inline constexpr uint64_t kClaimsOffset = 64;          /* then a claim word for each coordinator */
inline constexpr uint64_t kLocksOffset = 8192;         /* then the lock words */
inline constexpr uint64_t kReady = 0x52454144595f5831; /* "1X_YDAER" */

struct TableLayout {
    uint32_t slot_bytes;
    uint32_t payload_bytes;
    uint64_t slots;
    uint64_t offset;     /* of slot 0 in the shard's region */
    uint64_t first_lock; /* number of slot 0's lock word */
};

struct SpanLayout {
    uint32_t slab_bytes;
    uint64_t slabs;
    uint64_t marks;  /* offset of slab 0's mark in the shard's region, a word of 8 bytes */
    uint64_t offset; /* of slab 0 in the shard's region */

    uint64_t mark_offset(uint64_t slab) const
    {
        return marks + 8 * slab;
    }
    uint64_t slab_offset(uint64_t slab) const
    {
        return offset + slab * slab_bytes;
    }
};

class Layout
{
  public:
    explicit Layout(const Schema &schema);

    const TableLayout &table(uint32_t number) const
    {
        return tables_[number];
    }
    uint32_t tables() const
    {
        return static_cast<uint32_t>(tables_.size());
    }
    const SpanLayout &span(uint32_t number) const
    {
        return spans_[number];
    }
    uint32_t spans() const
    {
        return static_cast<uint32_t>(spans_.size());
    }
    /* The end of the last table, where the spans begin. */
    uint64_t tables_end() const
    {
        return tables_end_;
    }
    uint64_t row_offset(Address address) const
    {
        const TableLayout &table = tables_[address.table()];

        return table.offset + address.slot() * table.slot_bytes;
    }
    uint64_t lock_offset(Address address) const
    {
        return kLocksOffset + 8 * (tables_[address.table()].first_lock + address.slot());
    }
    uint64_t region_bytes() const
    {
        return region_bytes_;
    }
    uint64_t lock_bytes() const
    {
        return lock_bytes_;
    }

  private:
    std::vector<TableLayout> tables_;
    std::vector<SpanLayout> spans_;
    uint64_t tables_end_;
    uint64_t region_bytes_;
    uint64_t lock_bytes_;
};

} // namespace dtx
#endif
