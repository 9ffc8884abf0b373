// SPDX-License-Identifier: BSD-3-Clause
// pool_world.h: a pool with content, what was acknowledged of it, and what it looked like earlier.
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
    uint64_t proves; // everything before this LSN was acknowledged when it was appended
};

struct LogModel {
    std::string name;
    uint64_t at = 0; // of its header in the pool
    uint64_t capacity = 0;
    uint64_t base_lsn = 0; // where the last writer began
    std::vector<Kept> kept;

    // Where a byte at @lsn lies in the pool.
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
    Image pool;              // as it is now
    std::vector<Image> past; // as it was, oldest first
    std::vector<LogModel> logs;
    RegionModel region;
};

constexpr uint64_t POOL_BYTES = 192u << 10;

// Several logs: one trimmed, one that went round, one with many writers, one written by groups of
// appends under way together; a region; entries of objects that were removed.
World make_world();

} // namespace damage

#endif
