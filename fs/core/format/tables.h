/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.h: the schema of a volume: its tables, the span with its blocks, and how many of each a
 * shard has.
 *
 * Tests: tests/unit/fs/format/tables_test.cpp
 */
#ifndef FS_CORE_FORMAT_TABLES_H
#define FS_CORE_FORMAT_TABLES_H

#include "core/format/rows.h"
#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace rfs
{

inline constexpr uint32_t kFormatVersion = 1;        /* the schema's version */
inline constexpr const char *kVolumeMark = "rpmfs "; /* the schema's comment begins with it */

inline constexpr uint64_t kInodesMax = 1ull << 32; /* numbers of files have 32 bits */
inline constexpr uint64_t kSlabsMax = (Pointer::kBlockMost + 1) / kSlabBlocks;

/* What is chosen when a volume is made, for each shard. */
struct Sizes {
    uint64_t inodes = 0; /* 1 to kInodesMax */
    uint64_t slabs = 0;  /* of kSlabBlocks blocks; 1 to kSlabsMax */

    bool fit() const
    {
        return inodes - 1 < kInodesMax && slabs - 1 < kSlabsMax;
    }

    uint64_t blocks() const
    {
        return slabs * kSlabBlocks;
    }
    /* The schema's comment, and back. Throws dtx::Error, RPM_E_FOREIGN: it is not of that form, or
     * the sizes do not fit. */
    std::string text() const;
    static Sizes of_text(const std::string &volume, const std::string &text);
};

struct Tables {
    /* @name: of the volume, and of its database. Throws dtx::Error for a name or sizes that dtx
     * refuses. */
    Tables(const std::string &name, const Sizes &of_shard);

    Sizes sizes;
    dtx::Schema schema;
    dtx::Table<VolumeRow> volume;
    dtx::Table<MountsRow> mounts;
    dtx::Table<InodeRow> inodes;            /* by number */
    dtx::Table<NameRow> names;              /* by directory, hash */
    dtx::Table<LongNameRow> long_names;     /* by directory, hash */
    dtx::Table<MapRow> maps;                /* by file, block / kMapPointers */
    dtx::Table<BlobRow> blobs;              /* by file, piece */
    dtx::Table<SlabRow> slabs;              /* by shard, number */
    dtx::Table<OrphanRow> orphans;          /* by shard, file */
    dtx::Table<LockRow> locks;              /* by file, any number */
    dtx::Table<LockedFileRow> locked_files; /* by client_number(), file */
    dtx::Span blocks;
};

} // namespace rfs
#endif
