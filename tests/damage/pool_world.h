// SPDX-License-Identifier: BSD-3-Clause
// pool_world.h: a pool with content, the records in it that were acknowledged, and earlier copies
// of it.
#ifndef TESTS_DAMAGE_POOL_WORLD_H
#define TESTS_DAMAGE_POOL_WORLD_H

#include "support/loop.h"

namespace damage
{

using Image = std::vector<unsigned char>;

struct Kept {
    std::string data;
    uint64_t lsn;
    uint64_t end_lsn;
    uint64_t proves; // it proves: all before this LSN was acknowledged when it was appended
};

struct LogModel {
    std::string name;
    uint64_t at = 0; // offset of its header in the pool
    uint64_t capacity = 0;
    uint64_t base_lsn = 0; // where the last writer began
    std::vector<Kept> kept;

    // The offset in the pool of the byte at @lsn.
    uint64_t place(uint64_t lsn) const
    {
        return at + RPMI_LOG_HEADER_BYTES + lsn % capacity;
    }
};

struct RegionModel {
    std::string name;
    uint64_t at = 0;
    std::string data;
};

struct World {
    Image pool;              // the present bytes
    std::vector<Image> past; // earlier bytes, oldest first
    std::vector<LogModel> logs;
    RegionModel region;
};

constexpr uint64_t POOL_BYTES = 192u << 10;

// Several logs: one trimmed, one that wrapped around, one with many writers, one with groups of
// outstanding appends; a region; directory entries of objects that were removed.
World make_world();

} // namespace damage

#endif
