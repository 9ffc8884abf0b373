/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.h: what a check keeps of each file: what its inode says, and what other rows say of it.
 *
 * A volume may have a billion files, so a file takes 76 bytes here and no memory of its own.
 *
 * Tests: tests/unit/fs/check/seen_test.cpp
 */
#ifndef FS_CORE_CHECK_SEEN_H
#define FS_CORE_CHECK_SEEN_H

#include "core/base/assert.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace rfs
{

/* Does the root directory lead to a directory? */
enum class Reach : uint8_t { unknown, asked, yes, no };

struct Seen {
    uint64_t writer = 0; /* the transaction that wrote the inode */
    uint64_t size = 0;   /* as in the inode; of a regular file, blocks that it may point to */
    uint64_t blocks = 0; /* that the inode counts */
    uint64_t found = 0;  /* pointers; names in a directory; bytes of a link's target in blobs */
    uint32_t ino = 0;
    uint32_t mode = 0;
    uint32_t links = 0;  /* that the inode counts */
    uint32_t names = 0;  /* that lead to it */
    uint32_t dirs = 0;   /* directories in it */
    uint32_t parent = 0; /* that the inode names */
    uint32_t above = 0;  /* the directory of its last name */
    uint32_t xattr_bytes = 0;
    uint16_t pieces = 0; /* of extended attributes */
    bool orphan = false;
    Reach reach = Reach::unknown;
};
static_assert(sizeof(Seen) == 72);

/* All files: first add() each, then sort() once, then find(). */
class SeenFiles
{
  public:
    void add(const Seen &file)
    {
        RFS_ASSERT(first_.empty());
        all_.push_back(file);
    }

    void sort()
    {
        std::sort(all_.begin(), all_.end(),
                  [](const Seen &one, const Seen &other) { return one.ino < other.ino; });
        /* Numbers of files are random: where those with the same first bits begin. */
        bits_ = static_cast<int>(std::bit_width(all_.size() / 4));
        first_.resize((size_t{ 1 } << bits_) + 1);
        for (const Seen &each : all_)
            first_[part_of(each.ino) + 1]++;
        for (size_t part = 0; part + 1 < first_.size(); part++)
            first_[part + 1] += first_[part];
    }

    /* nullptr: there is none. */
    Seen *find(uint32_t ino)
    {
        RFS_ASSERT(!first_.empty());

        size_t part = part_of(ino);
        auto end = all_.begin() + static_cast<std::ptrdiff_t>(first_[part + 1]);
        auto at = std::lower_bound(all_.begin() + static_cast<std::ptrdiff_t>(first_[part]), end,
                                   ino, [](const Seen &one, uint32_t no) { return one.ino < no; });

        return at == end || at->ino != ino ? nullptr : &*at;
    }

    /* In the order of their numbers. */
    std::deque<Seen> &all()
    {
        return all_;
    }

  private:
    size_t part_of(uint32_t ino) const
    {
        return static_cast<size_t>(uint64_t{ ino } << bits_ >> 32);
    }

    std::deque<Seen> all_; /* grows without a second copy */
    std::vector<uint32_t> first_;
    int bits_ = 0;
};

} // namespace rfs
#endif
