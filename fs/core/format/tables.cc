/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.cc: declare the tables of a volume.
 *
 * Tests: tests/unit/fs/format/tables_test.cpp
 */
#include "core/format/tables.h"

#include "core/format/keys.h"
#include <dtx/cluster.h>

namespace rfs
{

/* A session reserves up to 64 slots of a table for its new rows. With these spare slots, each slab
 * and each lock finds a slot although sixteen sessions have reserved 64 slots each. */
static constexpr uint64_t kSpareRows = 1024;

/* Only files of more than kInodePointers blocks have map rows: one for each kMapPointers blocks if
 * they are large, and one for nine blocks if they are as small as that. */
static uint64_t map_rows(const Sizes &of)
{
    uint64_t large = of.blocks() / kMapPointers;
    uint64_t small = of.blocks() / (kInodePointers + 1);

    return large + (small < of.inodes ? small : of.inodes) + 1;
}

static uint32_t inode_partition(uint64_t key)
{
    return static_cast<uint32_t>(key);
}

/* Room for names: one for each file, and a quarter for further links. For long names, for pieces of
 * targets and attributes, and for locks, one for four files; one file can have kLocksMax locks. */
Tables::Tables(const std::string &name, const Sizes &of_shard)
    : sizes(of_shard), schema(name, kFormatVersion),
      volume(schema.hash_table<VolumeRow>("volume", 1, upper_half)),
      mounts(schema.hash_table<MountsRow>("mounts", 1, upper_half)),
      inodes(schema.hash_table<InodeRow>("inodes", of_shard.inodes, inode_partition)),
      names(schema.ordered_table<NameRow>("names", of_shard.inodes + of_shard.inodes / 4 + 1,
                                          upper_half)),
      long_names(schema.hash_table<LongNameRow>("long_names", of_shard.inodes / 4 + 1, upper_half)),
      maps(schema.ordered_table<MapRow>("maps", map_rows(of_shard), upper_half)),
      blobs(schema.ordered_table<BlobRow>("blobs", of_shard.inodes / 4 + 256, upper_half)),
      slabs(schema.ordered_table<SlabRow>("slabs", of_shard.slabs + kSpareRows, upper_half)),
      orphans(schema.ordered_table<OrphanRow>("orphans", of_shard.inodes, upper_half)),
      locks(schema.ordered_table<LockRow>("locks", of_shard.inodes / 4 + kLocksMax + kSpareRows,
                                          upper_half)),
      locked_files(schema.ordered_table<LockedFileRow>(
          "locked_files", of_shard.inodes / 4 + kSpareRows, upper_half)),
      blocks(schema.span("blocks", kSlabBlocks * kBlockBytes, of_shard.slabs))
{
    schema.set_comment(sizes.text());
}

} // namespace rfs
