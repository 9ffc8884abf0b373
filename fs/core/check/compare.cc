/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.cc: compare what the tables say, when all have been read.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/scan.h"

#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/lock/locks.h"

#include <algorithm>
#include <sys/stat.h>

namespace rfs
{

static constexpr size_t kWayMax = 256; /* witnesses of one that is unreachable */

void Scan::check_blocks(uint32_t shard, uint32_t number, const Slab &slab)
{
    uint64_t key = key_of(shard, number);

    for (uint32_t i = 0; i < kSlabBlocks; i++) {
        bool used = (slab.used[i / 64] >> i % 64 & 1) != 0;
        bool pointed = (slab.pointed[i / 64] >> i % 64 & 1) != 0;
        Kind kind = slab.writer == 0 ? Kind::block_in_no_slab
                    : used           ? Kind::lost_block
                                     : Kind::free_block;

        if (check(used != pointed, Rule::blocks))
            tell({ kind,
                   key,
                   uint64_t{ number } * kSlabBlocks + i,
                   0,
                   "",
                   { { tables_.slabs.number, key, slab.writer } } });
    }
}

void Scan::check_slabs()
{
    for (uint32_t shard = 0; shard < slabs_.size(); shard++)
        for (uint32_t number = 0; number < slabs_[shard].size(); number++) {
            const Slab &slab = slabs_[shard][number];

            if (slab.used != slab.pointed)
                check_blocks(shard, number, slab);
            else if (slab.writer != 0)
                results_.checked[static_cast<size_t>(Rule::blocks)] += kSlabBlocks;
        }
}

void Scan::check_locked()
{
    for (const auto &[key, writer] : locked_) {
        uint32_t number = upper_half(key);
        bool known = number != 0 && number <= kClientsMax;

        if (check(!known || !mounted_.has(number - 1), Rule::locks))
            tell({ Kind::lock_of_unmounted,
                   lower_half(key),
                   number,
                   key,
                   "",
                   { { tables_.locked_files.number, key, writer }, mounts_ } });
    }
}

/* Each lock with each other one that begins before it ends, or right behind its end. */
void Scan::check_locks()
{
    std::sort(locks_.begin(), locks_.end(), [](const Lock &one, const Lock &other) {
        return std::pair(one.ino, one.row.start) < std::pair(other.ino, other.row.start);
    });
    for (size_t i = 0; i < locks_.size(); i++)
        for (size_t k = i + 1; k < locks_.size() && locks_[k].ino == locks_[i].ino &&
                               locks_[k].row.start <= locks_[i].row.end + 1;
             k++)
            if (check(!fit_together(locks_[i].row, locks_[k].row), Rule::locks))
                tell({ Kind::locks_overlap,
                       locks_[i].ino,
                       locks_[i].row.start,
                       locks_[k].row.start,
                       "",
                       { { tables_.locks.number, locks_[i].key, locks_[i].writer },
                         { tables_.locks.number, locks_[k].key, locks_[k].writer } } });
}

void Scan::check_tails()
{
    for (const Tail &tail : tails_)
        if (check(!tail.used, Rule::long_names))
            tell({ Kind::tail_of_none,
                   tail.key,
                   0,
                   0,
                   "",
                   { { tables_.long_names.number, tail.key, tail.writer } } });
}

void Scan::check_directory(const Seen &file)
{
    Witness self = witness(file.ino);
    bool root = file.ino == kRootIno;

    if (check(file.found != file.size, Rule::directories))
        tell({ Kind::wrong_entries, file.ino, file.found, file.size, "", { self } });
    if (file.links == 0)
        return;
    if (check(file.links != 2 + file.dirs, Rule::directories))
        tell({ Kind::wrong_subdirs, file.ino, file.dirs, file.links, "", { self } });
    if (check(root ? file.names != 0 || file.parent != kRootIno
                   : file.names != 1 || file.above != file.parent,
              Rule::directories))
        tell({ Kind::wrong_parent, file.ino, file.names, file.above, "", { self } });
}

void Scan::check_links(const Seen &file)
{
    Witness self = witness(file.ino);
    bool directory = S_ISDIR(file.mode);

    if (check(file.orphan != (file.links == 0), Rule::links))
        tell({ file.orphan ? Kind::orphan_counts : Kind::not_orphan,
               file.ino,
               file.names,
               0,
               "",
               { self } });
    if (!directory && check(file.names != file.links, Rule::links))
        tell({ Kind::wrong_links, file.ino, file.names, file.links, "", { self } });
    if (directory && file.links == 0 && check(file.names != 0, Rule::links))
        tell({ Kind::named_removed, file.ino, 0, 0, "", { self } });
}

void Scan::check_contents(const Seen &file)
{
    Witness self = witness(file.ino);

    if (S_ISREG(file.mode) && check(file.found != file.blocks, Rule::maps))
        tell({ Kind::wrong_blocks, file.ino, file.found, file.blocks, "", { self } });
    if (S_ISLNK(file.mode) && file.size > kShortTarget &&
        check(file.found < file.size, Rule::blobs))
        tell({ Kind::short_target, file.ino, 0, 0, "", { self } });
    if (file.xattr_bytes != 0 &&
        check(file.xattr_bytes > kXattrsMax || file.pieces < xattr_pieces(file.xattr_bytes),
              Rule::xattrs))
        tell({ Kind::short_xattrs, file.ino, file.xattr_bytes, 0, "", { self } });
}

void Scan::check_file(const Seen &file)
{
    bool directory = S_ISDIR(file.mode);

    check_links(file);
    check_contents(file);
    if (directory)
        check_directory(file);
    if (directory && file.links != 0 && check(file.reach != Reach::yes, Rule::reachable))
        tell({ Kind::unreachable, file.ino, 0, 0, "", way_up(files_.find(file.ino)) });
}

/* The inodes of a directory and of those above it, up to where the way ends. */
std::vector<Witness> Scan::way_up(Seen *file)
{
    std::vector<Witness> way;

    for (Seen *at = file; at != nullptr && way.size() < kWayMax;) {
        way.push_back(witness(at->ino));
        at = at->names == 1 ? files_.find(at->above) : nullptr;
        if (at == file)
            break;
    }
    return way;
}

/* Goes up from each directory until it is known where the way leads. In a loop it comes back. */
void Scan::reach()
{
    std::vector<Seen *> path;

    if (Seen *root = files_.find(kRootIno))
        root->reach = Reach::yes;
    for (Seen &file : files_.all()) {
        Seen *at = S_ISDIR(file.mode) ? &file : nullptr;

        for (path.clear(); at != nullptr && at->reach == Reach::unknown;) {
            path.push_back(at);
            at->reach = Reach::asked;
            at = at->names == 1 ? files_.find(at->above) : nullptr;
        }
        for (Seen *each : path)
            each->reach = at != nullptr && at->reach == Reach::yes ? Reach::yes : Reach::no;
    }
}

} // namespace rfs
