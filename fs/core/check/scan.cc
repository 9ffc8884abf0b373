/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.cc: take the rows of all tables.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/scan.h"

#include "core/base/assert.h"
#include "core/check/torn.h"
#include "core/file/slabs.h"
#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/lock/locks.h"
#include <dtx/object.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <sys/stat.h>

namespace rfs
{

Scan::Scan(const OpenVolume &open, const ScanOptions &options)
    : open_(open), options_(options), tables_(open.volume.tables),
      slabs_(open.volume.shards, std::vector<Slab>(tables_.sizes.slabs))
{
}

/* Of a row that is torn. nullptr: it stays so. */
const unsigned char *Scan::read_again(dtx::Address address, const unsigned char *image,
                                      uint32_t bytes)
{
    again_.assign(image, image + bytes);

    bool whole = options_.live && read_whole(*open_.cluster, address, options_.copy, again_);

    if (check(!whole, Rule::rows)) {
        const dtx::ObjectHeader &header = dtx::header_of(again_.data());

        tell({ Kind::torn,
               address.word,
               0,
               0,
               "",
               { { address.table(), header.key, header.writer ^ header.checksum } } });
    }
    return whole ? again_.data() : nullptr;
}

/* Calls @take(key, row, writer) for each row of a table. */
template <class Row, class Take> void Scan::each(dtx::Table<Row> table, Take take)
{
    open_.cluster->each_object(
        table.number, options_.copy,
        [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
            Row row;

            RFS_ASSERT(bytes >= sizeof(dtx::ObjectHeader) + sizeof(row));
            if (!dtx::is_whole(image, bytes))
                image = read_again(address, image, bytes);
            if (image == nullptr || (dtx::header_of(image).flags & dtx::kObjectValid) == 0)
                return;
            results_.checked[static_cast<size_t>(Rule::rows)]++;
            std::memcpy(&row, image + sizeof(dtx::ObjectHeader), sizeof(row));
            take(dtx::header_of(image).key, row, dtx::header_of(image).writer);
        });
}

void Scan::tell(Wrong wrong)
{
    size_t rule = static_cast<size_t>(rule_of(wrong.kind));

    results_.broken[rule]++;
    if (kept_[rule]++ < options_.keep)
        results_.wrongs.push_back(std::move(wrong));
}

Witness Scan::witness(uint32_t ino)
{
    const Seen *file = files_.find(ino);

    return { tables_.inodes.number, ino, file != nullptr ? file->writer : 0 };
}

Witness Scan::slab_witness(const Pointer &pointer) const
{
    uint32_t number = static_cast<uint32_t>(pointer.block() / kSlabBlocks);

    return { tables_.slabs.number, key_of(pointer.shard(), number),
             slabs_[pointer.shard()][number].writer };
}

void Scan::take_inode(uint64_t key, const InodeRow &row, uint64_t writer)
{
    Witness self{ tables_.inodes.number, key, writer };
    const char *fault = key == 0 || key > UINT32_MAX ? "no file has its number" : fault_of(row);
    bool regular = S_ISREG(row.mode);
    Seen file;

    file.writer = writer;
    file.size = row.size;
    if (regular)
        file.size = row.cut != kNoCut ? UINT64_MAX : (row.size + kBlockBytes - 1) / kBlockBytes;
    file.blocks = row.blocks;
    file.ino = static_cast<uint32_t>(key);
    file.mode = row.mode;
    file.links = row.links;
    file.parent = row.parent;
    file.xattr_bytes = row.xattr_bytes;
    if (check(fault != nullptr, Rule::inodes))
        tell({ Kind::bad_inode, key, 0, 0, fault, { self } });
    if (S_ISLNK(row.mode) && row.size <= kShortTarget)
        if (check(std::memchr(row.target, 0, row.size) != nullptr, Rule::blobs))
            tell({ Kind::zero_in_target, key, 0, 0, "", { self } });
    for (uint32_t number = 0; regular && number < kInodePointers; number++)
        take_pointer(file, number, row.pointers[number]);
    files_.add(file);
}

void Scan::take_pointer(Seen &file, uint64_t number, const Pointer &pointer)
{
    bool sound = is_sound(pointer, open_.volume.shards, tables_.sizes.blocks());
    Witness self{ tables_.inodes.number, file.ino, file.writer };

    if (pointer.is_hole() && sound)
        return;
    if (check(!sound, Rule::pointers))
        return tell({ Kind::bad_pointer, file.ino, number, 0, "", { self } });
    if (check(number >= file.size && !pointer.is_unwritten(), Rule::pointers))
        tell({ Kind::pointer_behind, file.ino, number, 0, "", { self } });

    Slab &slab = slabs_[pointer.shard()][pointer.block() / kSlabBlocks];
    uint64_t &pointed = slab.pointed[pointer.block() % kSlabBlocks / 64];
    uint64_t bit = 1ull << pointer.block() % 64;

    if (check((pointed & bit) != 0, Rule::blocks))
        tell({ Kind::shared_block,
               file.ino,
               number,
               pointer.place,
               "",
               { self, slab_witness(pointer) } });
    pointed |= bit;
    file.found++;
}

void Scan::take_tail(uint64_t key, const LongNameRow &row, uint64_t writer)
{
    size_t bytes = sizeof(row.tail);

    while (bytes > 0 && row.tail[bytes - 1] == '\0')
        bytes--;
    tails_.push_back({ key, writer, tail_texts_.size(), false });
    tail_texts_.append(row.tail, bytes);
    tail_texts_.push_back('\0');
}

void Scan::take_name(uint64_t key, const NameRow &row, uint64_t writer)
{
    Witness self{ tables_.names.number, key, writer };
    uint32_t directory = upper_half(key);
    Seen *above = files_.find(directory);
    Seen *file = files_.find(row.ino);
    const char *fault = fault_of(row);

    if (check(fault != nullptr, Rule::names))
        tell({ Kind::bad_name, key, row.ino, 0, fault, { self } });
    if (check(above == nullptr || !S_ISDIR(above->mode), Rule::names))
        tell({ Kind::homeless_name, key, row.ino, 0, "", { self, witness(directory) } });
    if (check(file == nullptr || file->mode >> 12 != row.type, Rule::names))
        tell({ Kind::dangling_name, key, row.ino, 0, "", { self, witness(row.ino) } });
    if (above != nullptr && S_ISDIR(above->mode)) {
        above->found++;
        above->dirs += row.type == S_IFDIR >> 12 ? 1 : 0;
    }
    if (file != nullptr) {
        file->names++;
        file->above = directory;
    }
    check_name(key, row, writer);
}

/* Compares a name with its hash, and with its second row. */
void Scan::check_name(uint64_t key, const NameRow &row, uint64_t writer)
{
    Witness self{ tables_.names.number, key, writer };
    auto tail = std::lower_bound(tails_.begin(), tails_.end(), key,
                                 [](const Tail &one, uint64_t wanted) { return one.key < wanted; });
    bool has_tail = tail != tails_.end() && tail->key == key;
    bool is_long = row.length > kHeadBytes;
    char name[kNameMax];
    size_t bytes = std::min<size_t>(row.length, kHeadBytes);

    std::memcpy(name, row.head, bytes);
    if (check(is_long != has_tail, Rule::long_names))
        tell({ is_long ? Kind::no_tail : Kind::tail_of_short, key, row.ino, 0, "", { self } });
    if (has_tail)
        tail->used = true;
    if (is_long && has_tail) {
        std::string_view rest(&tail_texts_[tail->at]); /* ends with a zero */

        rest = rest.substr(0, row.length - bytes);
        std::memcpy(name + bytes, rest.data(), rest.size());
        std::memset(name + bytes + rest.size(), 0, row.length - bytes - rest.size());
        bytes = row.length;
    }

    uint64_t first = first_name_key(upper_half(key), { name, bytes }, open_.volume.name_seed);

    if (check(key - first >= kCollisions, Rule::names))
        tell({ Kind::misplaced_name, key, row.ino, 0, "", { self } });
    if (check(!is_name({ name, bytes }), Rule::names))
        tell({ Kind::impossible_name, key, row.ino, 0, "", { self } });
}

void Scan::take_map(uint64_t key, const MapRow &row, uint64_t writer)
{
    uint32_t ino = upper_half(key);
    uint64_t first = uint64_t{ lower_half(key) } * kMapPointers;
    Seen *file = files_.find(ino);
    bool regular = file != nullptr && S_ISREG(file->mode);
    bool empty = std::all_of(row.pointers.begin(), row.pointers.end(),
                             [](const Pointer &pointer) { return pointer.is_hole(); });
    Witness self{ tables_.maps.number, key, writer };

    if (check(!regular, Rule::maps))
        tell({ Kind::map_of_none, ino, key, 0, "", { self, witness(ino) } });
    if (check(first >= kFileBlocks, Rule::maps))
        tell({ Kind::map_behind, ino, key, 0, "", { self } });
    if (check(empty, Rule::maps))
        tell({ Kind::empty_map, ino, key, 0, "", { self } });
    for (uint32_t i = 0; regular && first < kFileBlocks && i < kMapPointers; i++) {
        bool in_inode = first + i < kInodePointers;

        if (check(in_inode && !row.pointers[i].is_hole(), Rule::maps))
            tell({ Kind::second_pointer, ino, i, key, "", { self } });
        if (!in_inode)
            take_pointer(*file, first + i, row.pointers[i]);
    }
}

void Scan::take_target(uint64_t key, const BlobRow &row, uint64_t writer)
{
    uint64_t at = uint64_t{ lower_half(key) - kFirstTargetPiece } * kPieceBytes;
    Seen *file = files_.find(upper_half(key));
    Witness self{ tables_.blobs.number, key, writer };

    if (check(file == nullptr || !S_ISLNK(file->mode) || file->size <= kShortTarget ||
                  at >= file->size,
              Rule::blobs))
        return tell({ Kind::target_of_none,
                      upper_half(key),
                      key,
                      0,
                      "",
                      { self, witness(upper_half(key)) } });
    file->found += kPieceBytes;
    if (check(std::memchr(row.bytes, 0, std::min<uint64_t>(kPieceBytes, file->size - at)) !=
                  nullptr,
              Rule::blobs))
        tell({ Kind::zero_in_target, file->ino, 0, 0, "", { self, witness(file->ino) } });
}

/* Decodes the stream of a file's attributes once all its pieces are there. */
void Scan::take_xattrs(uint64_t key, const BlobRow &row, uint64_t writer)
{
    uint32_t ino = upper_half(key);
    Seen *file = files_.find(ino);
    size_t bytes = file != nullptr ? std::min<size_t>(file->xattr_bytes, kXattrsMax) : 0;
    size_t at = size_t{ lower_half(key) } * kPieceBytes;

    if (check(at >= bytes, Rule::xattrs))
        return tell({ Kind::xattrs_of_none,
                      ino,
                      key,
                      0,
                      "",
                      { { tables_.blobs.number, key, writer }, witness(ino) } });

    std::string &stream = xattrs_[ino];

    stream.resize(bytes);
    std::memcpy(stream.data() + at, row.bytes, std::min<size_t>(kPieceBytes, bytes - at));
    file->pieces++;
    if (file->pieces < xattr_pieces(bytes))
        return;
    if (check(!decode_xattrs(stream), Rule::xattrs))
        tell({ Kind::bad_xattrs, ino, 0, 0, "", { witness(ino) } });
    xattrs_.erase(ino);
}

/* Has a set only clients that can be? */
static bool is_sound(const ClientSet &clients)
{
    bool sound = true;

    for (uint32_t c = kClientsMax; c < 8 * sizeof(clients); c++)
        sound = sound && !clients.has(c);
    return sound;
}

void Scan::take_orphan(uint64_t key, const OrphanRow &row, uint64_t writer)
{
    uint32_t ino = lower_half(key);
    Seen *file = files_.find(ino);
    bool right = file != nullptr && upper_half(key) == shard_of(ino, open_.volume.shards) &&
                 file->links == 0;
    Witness self{ tables_.orphans.number, key, writer };

    if (check(!right, Rule::links))
        tell({ Kind::bad_orphan, ino, key, 0, "", { self, witness(ino) } });
    if (check(!is_sound(row.clients), Rule::links))
        tell({ Kind::orphan_client, ino, key, 0, "", { self } });
    if (file != nullptr)
        file->orphan = true;
}

void Scan::take_slab(uint64_t key, const SlabRow &row, uint64_t writer)
{
    uint32_t shard = upper_half(key);
    bool known = shard < open_.volume.shards && lower_half(key) < tables_.sizes.slabs;
    Witness self{ tables_.slabs.number, key, writer };

    if (check(!known, Rule::blocks))
        tell({ Kind::bad_slab, key, 0, 0, "", { self } });
    if (check(row.owner != 0 && coordinator_of(row.owner) >= kClientsMax, Rule::blocks))
        tell({ Kind::slab_client, key, 0, 0, "", { self } });
    if (!known)
        return;
    slabs_[shard][lower_half(key)].writer = writer;
    slabs_[shard][lower_half(key)].used = row.used;
}

void Scan::take_lock(uint64_t key, const LockRow &row, uint64_t writer)
{
    uint32_t ino = upper_half(key);
    Witness self{ tables_.locks.number, key, writer };
    uint64_t locked = key_of(row.client, ino);
    auto found = std::lower_bound(locked_.begin(), locked_.end(), std::pair(locked, uint64_t{ 0 }));

    if (check(!is_sound(row), Rule::locks))
        return tell({ Kind::bad_lock, ino, key, 0, "", { self } });
    if (check(files_.find(ino) == nullptr, Rule::locks))
        tell({ Kind::lock_of_none, ino, key, 0, "", { self, witness(ino) } });
    if (check(found == locked_.end() || found->first != locked, Rule::locks))
        tell({ Kind::hidden_lock, ino, key, locked, "", { self } });
    locks_.push_back({ ino, key, writer, row });
}

/* Slabs and inodes come before what changes together with them; see scan.h. */
void Scan::read_tables()
{
    uint64_t rows = 0;
    auto rest = [this](auto take) {
        return [this, take](uint64_t key, const auto &row, uint64_t writer) {
            (this->*take)(key, row, writer);
        };
    };

    each(tables_.volume, [&](uint64_t, const VolumeRow &, uint64_t) { rows++; });
    each(tables_.slabs, rest(&Scan::take_slab));
    each(tables_.inodes, rest(&Scan::take_inode));
    files_.sort();
    if (check(rows != 1 || files_.find(kRootIno) == nullptr ||
                  !S_ISDIR(files_.find(kRootIno)->mode),
              Rule::volume))
        tell({ Kind::no_volume, 0, 0, 0, "", { witness(kRootIno) } });
    each(tables_.long_names, rest(&Scan::take_tail));
    std::sort(tails_.begin(), tails_.end(),
              [](const Tail &one, const Tail &other) { return one.key < other.key; });
    each(tables_.names, rest(&Scan::take_name));
    each(tables_.maps, rest(&Scan::take_map));
    each(tables_.blobs, [this](uint64_t key, const BlobRow &row, uint64_t writer) {
        if (lower_half(key) < kFirstTargetPiece)
            take_xattrs(key, row, writer);
        else
            take_target(key, row, writer);
    });
    each(tables_.orphans, rest(&Scan::take_orphan));
    each(tables_.mounts, [this](uint64_t key, const MountsRow &row, uint64_t writer) {
        mounted_ = row.clients;
        mounts_ = { tables_.mounts.number, key, writer };
    });
    each(tables_.locked_files, [this](uint64_t key, const LockedFileRow &, uint64_t writer) {
        locked_.emplace_back(key, writer);
    });
    std::sort(locked_.begin(), locked_.end());
    each(tables_.locks, rest(&Scan::take_lock));
}

Results Scan::run()
{
    read_tables();
    check_slabs();
    check_locked();
    check_locks();
    check_tails();
    reach();
    for (const Seen &file : files_.all())
        check_file(file);
    return std::move(results_);
}

} // namespace rfs
