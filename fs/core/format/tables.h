/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.h: the schema of a volume: its tables, and the span with its blocks.
 *
 * Tests: tests/unit/fs/format/tables_test.cpp
 */
#ifndef FS_CORE_FORMAT_TABLES_H
#define FS_CORE_FORMAT_TABLES_H

#include "core/format/rows.h"
#include "core/format/sizes.h"
#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace rfs
{

inline constexpr uint32_t kFormatVersion = 1; /* the schema's version */

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
