/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sizes.h: how many rows and slabs a volume has, in the comment of its schema. That comment also
 * tells a volume from another database.
 *
 * Tests: tests/unit/fs/format/tables_test.cpp, tests/fuzz/fs_rows_fuzz.cpp
 */
#ifndef FS_CORE_FORMAT_SIZES_H
#define FS_CORE_FORMAT_SIZES_H

#include "core/format/rows.h"

#include <cstdint>
#include <string>

namespace rfs
{

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

} // namespace rfs
#endif
