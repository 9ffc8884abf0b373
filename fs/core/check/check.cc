/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: read one table after another, then compare what they say of each file.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/check.h"

#include "core/base/assert.h"
#include "core/file/slabs.h"
#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/lock/locks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rfs
{

namespace
{

/* What an inode says of a file, and what other rows say. */
struct Seen {
    InodeRow row{};
    uint64_t blocks = 0;  /* pointers found */
    uint64_t names = 0;   /* that lead to it */
    uint64_t entries = 0; /* names in it */
    uint64_t dirs = 0;    /* directories in it */
    uint32_t above = 0;   /* the directory of its last name */
    uint64_t target = 0;  /* bytes of its target in blobs */
    uint32_t xattrs = 0;  /* pieces of its extended attributes in blobs */
    bool orphan = false;
    bool reached = false;
};

class Checker
{
  public:
    Checker(const OpenVolume &open, uint32_t copy)
        : open_(open), copy_(copy), tables_(open.volume.tables),
          pointed_(open.volume.shards, std::vector<uint8_t>(tables_.sizes.blocks()))
    {
        declare();
    }
    dtx::Findings run();

  private:
    void declare();
    template <class Row, class Take> void each(dtx::Table<Row> table, Take take);
    void take_inode(uint64_t key, const InodeRow &row);
    void take_name(uint64_t key, const NameRow &row);
    void take_long_name(uint64_t key);
    void take_map(uint64_t key, const MapRow &row);
    void take_pointer(uint32_t ino, Seen &file, uint64_t number, const Pointer &pointer);
    void take_blob(uint64_t key, const BlobRow &row);
    void take_target(uint32_t ino, uint32_t piece, const BlobRow &row);
    void take_xattrs(uint32_t ino, uint32_t piece, const BlobRow &row);
    void take_orphan(uint64_t key, const OrphanRow &row);
    void take_slab(uint64_t key, const SlabRow &row);
    void take_lock(uint64_t key, const LockRow &row);
    void check_locks(uint32_t ino, const std::vector<LockRow> &locks);
    void check_all_locks();
    void check_names();
    void check_file(uint32_t ino, const Seen &file);
    void check_directory(uint32_t ino, const Seen &file);
    void reach();
    Seen *find(uint32_t ino);

    const OpenVolume &open_;
    uint32_t copy_;
    const Tables &tables_;
    dtx::Findings found_;
    std::unordered_map<uint32_t, Seen> files_;
    std::unordered_map<uint64_t, NameRow> long_names_; /* that need a second row, by key */
    std::unordered_map<uint64_t, std::string> tails_;  /* second rows, by key */
    std::unordered_map<uint32_t, std::string> xattrs_; /* streams that lack pieces yet, by inode */
    ClientSet mounted_{};
    std::unordered_set<uint64_t> locked_; /* keys of locked_files */
    std::unordered_map<uint32_t, std::vector<LockRow>> locks_;
    std::vector<std::vector<uint8_t>> pointed_; /* by shard and block: has a pointer */
};

const char *const kZeroInTarget = " has a zero byte in its target";
const char *const kBehind = "blocks that no file can have";

std::string file_text(uint32_t ino)
{
    return "file " + std::to_string(ino);
}

void Checker::declare()
{
    found_.rule("volume", "the volume has its own row and a root directory");
    found_.rule("inodes", "an inode has a type, and what belongs to that type alone");
    found_.rule("names", "a name leads to an inode of its type, is in a directory, and has the key "
                         "of its hash");
    found_.rule("long names", "the second row of a name exists exactly if the name is that long");
    found_.rule("links", "a file has as many names as it counts; one without names is an orphan");
    found_.rule("directories",
                "a directory counts its names and its directories, and has one name, "
                "in its parent");
    found_.rule("reachable", "the root directory leads to each directory");
    found_.rule("maps", "a row of a map belongs to a regular file, and a file counts its blocks");
    found_.rule("pointers", "a pointer leads to a block of the volume, before the file's end or to "
                            "an unwritten one");
    found_.rule("blocks", "each block in use has one pointer, and each pointer a block in use");
    found_.rule("blobs", "a symbolic link has all of its target, and no other file a part of one");
    found_.rule("xattrs",
                "a file has all bytes of extended attributes that it counts, and they are "
                "whole");
    found_.rule("locks", "a lock is of a file and of a client that has the volume open, and no "
                         "other lock excludes it");
}

/* Calls @take(key, row) for each row of a table. */
template <class Row, class Take> void Checker::each(dtx::Table<Row> table, Take take)
{
    open_.cluster->each_row(table.number, copy_, [&](uint64_t key, const void *bytes, size_t size) {
        Row row;

        RFS_ASSERT(size >= sizeof(row));
        std::memcpy(&row, bytes, sizeof(row));
        take(key, row);
    });
}

Seen *Checker::find(uint32_t ino)
{
    auto found = files_.find(ino);

    return found == files_.end() ? nullptr : &found->second;
}

void Checker::take_inode(uint64_t key, const InodeRow &row)
{
    uint32_t ino = static_cast<uint32_t>(key);
    Seen &file = files_[ino];
    const char *fault = key == 0 || key > UINT32_MAX ? "no file has its number" : fault_of(row);

    file.row = row;
    found_.add_if(fault != nullptr, "inodes",
                  file_text(ino) + " has a damaged inode: " + (fault != nullptr ? fault : ""));
    if (S_ISLNK(row.mode) && row.size <= kShortTarget)
        found_.add_if(std::memchr(row.target, 0, row.size) != nullptr, "blobs",
                      file_text(ino) + kZeroInTarget);
    if (S_ISREG(row.mode))
        for (uint32_t number = 0; number < kInodePointers; number++)
            take_pointer(ino, file, number, row.pointers[number]);
}

void Checker::take_pointer(uint32_t ino, Seen &file, uint64_t number, const Pointer &pointer)
{
    uint64_t end =
        file.row.cut != kNoCut ? UINT64_MAX : (file.row.size + kBlockBytes - 1) / kBlockBytes;
    bool sound = is_sound(pointer, open_.volume.shards, tables_.sizes.blocks());
    std::string text = "block " + std::to_string(number) + " of " + file_text(ino);

    if (pointer.is_hole() && sound)
        return;
    found_.add_if(!sound || (number >= end && !pointer.is_unwritten()), "pointers",
                  text + (sound ? " is behind the file's end" : " has a damaged pointer"));
    if (!sound)
        return;

    uint8_t &pointed = pointed_[pointer.shard()][pointer.block()];

    found_.add_if(pointed != 0, "blocks", text + " is a block of another file, or place, as well");
    pointed = 1;
    file.blocks++;
}

void Checker::take_name(uint64_t key, const NameRow &row)
{
    uint32_t directory = upper_half(key);
    Seen *above = find(directory);
    Seen *file = find(row.ino);
    std::string text =
        "name " + std::to_string(lower_half(key)) + " in directory " + std::to_string(directory);
    bool is_dir = row.type == S_IFDIR >> 12;
    const char *fault = fault_of(row);

    found_.add_if(fault != nullptr, "names", text + ": " + (fault != nullptr ? fault : ""));

    found_.add_if(above == nullptr || !S_ISDIR(above->row.mode), "names",
                  text + " is in no directory");
    found_.add_if(file == nullptr || file->row.mode >> 12 != row.type, "names",
                  text + " leads to no inode of its type");
    if (above != nullptr) {
        above->entries++;
        above->dirs += is_dir ? 1 : 0;
    }
    if (file != nullptr) {
        file->names++;
        file->above = directory;
    }
    long_names_.emplace(key, row);
}

void Checker::take_map(uint64_t key, const MapRow &row)
{
    uint32_t ino = upper_half(key);
    uint64_t first = uint64_t{ lower_half(key) } * kMapPointers;
    Seen *file = find(ino);
    bool regular = file != nullptr && S_ISREG(file->row.mode);
    bool empty = std::all_of(row.pointers.begin(), row.pointers.end(),
                             [](const Pointer &pointer) { return pointer.is_hole(); });

    found_.add_if(!regular, "maps", file_text(ino) + " has a map, and is no regular file");
    found_.add_if(first >= kFileBlocks, "maps", file_text(ino) + " has a map of " + kBehind);
    found_.add_if(empty, "maps", file_text(ino) + " has a map without pointers");
    if (!regular || first >= kFileBlocks)
        return;
    for (uint32_t i = 0; i < kMapPointers; i++) {
        bool in_inode = first + i < kInodePointers;

        found_.add_if(in_inode && !row.pointers[i].is_hole(), "maps",
                      file_text(ino) + " has two pointers for block " + std::to_string(i));
        if (!in_inode)
            take_pointer(ino, *file, first + i, row.pointers[i]);
    }
}

void Checker::take_blob(uint64_t key, const BlobRow &row)
{
    if (lower_half(key) < kFirstTargetPiece)
        take_xattrs(upper_half(key), lower_half(key), row);
    else
        take_target(upper_half(key), lower_half(key), row);
}

void Checker::take_target(uint32_t ino, uint32_t piece, const BlobRow &row)
{
    uint64_t at = uint64_t{ piece - kFirstTargetPiece } * kPieceBytes;
    Seen *file = find(ino);
    bool linked = file != nullptr && S_ISLNK(file->row.mode) && file->row.size > kShortTarget &&
                  at < file->row.size;

    found_.add_if(!linked, "blobs", file_text(ino) + " has a piece that is not of its target");
    if (!linked)
        return;
    file->target += kPieceBytes;
    found_.add_if(std::memchr(row.bytes, 0, std::min<uint64_t>(kPieceBytes, file->row.size - at)) !=
                      nullptr,
                  "blobs", file_text(ino) + kZeroInTarget);
}

/* Decodes the stream of a file's attributes once all its pieces are there. */
void Checker::take_xattrs(uint32_t ino, uint32_t piece, const BlobRow &row)
{
    Seen *file = find(ino);
    size_t bytes = file != nullptr ? std::min<size_t>(file->row.xattr_bytes, kXattrsMax) : 0;
    size_t at = size_t{ piece } * kPieceBytes;

    found_.add_if(at >= bytes, "xattrs",
                  file_text(ino) + " has a piece that is not of its extended attributes");
    if (at >= bytes)
        return;

    std::string &stream = xattrs_[ino];

    stream.resize(bytes);
    std::memcpy(stream.data() + at, row.bytes, std::min<size_t>(kPieceBytes, bytes - at));
    file->xattrs++;
    if (file->xattrs < xattr_pieces(bytes))
        return;
    found_.add_if(!decode_xattrs(stream), "xattrs",
                  file_text(ino) + " has damaged extended attributes");
    xattrs_.erase(ino);
}

/* Has a set only clients that can be? */
static bool is_sound(const ClientSet &clients)
{
    bool sound = true;

    for (uint32_t c = dtx::kCoordinatorsMax; c < 8 * sizeof(clients); c++)
        sound = sound && !clients.has(c);
    return sound;
}

void Checker::take_orphan(uint64_t key, const OrphanRow &row)
{
    Seen *file = find(lower_half(key));
    bool right = file != nullptr &&
                 upper_half(key) == shard_of(lower_half(key), open_.volume.shards) &&
                 file->row.links == 0;

    found_.add_if(!right, "links", file_text(lower_half(key)) + " is an orphan, and has names");
    found_.add_if(!is_sound(row.clients), "links",
                  file_text(lower_half(key)) + " is held by a client that there cannot be");
    if (file != nullptr)
        file->orphan = true;
}

void Checker::take_slab(uint64_t key, const SlabRow &row)
{
    uint32_t shard = upper_half(key);
    uint64_t first = uint64_t{ lower_half(key) } * kSlabBlocks;
    bool known = shard < open_.volume.shards && lower_half(key) < tables_.sizes.slabs;

    found_.add_if(!known, "blocks",
                  "slab " + std::to_string(lower_half(key)) + " of shard " + std::to_string(shard) +
                      " is not of this volume");
    found_.add_if(row.owner != 0 && coordinator_of(row.owner) >= dtx::kCoordinatorsMax, "blocks",
                  "slab " + std::to_string(lower_half(key)) + " of shard " + std::to_string(shard) +
                      " is of a client that there cannot be");
    for (uint32_t i = 0; known && i < kSlabBlocks; i++) {
        bool used = (row.used[i / 64] >> i % 64 & 1) != 0;
        uint8_t &pointed = pointed_[shard][first + i];

        found_.add_if(
            used != (pointed != 0), "blocks",
            "block " + std::to_string(first + i) + " of shard " + std::to_string(shard) +
                (used ? " is in use, and no file has it" : " is free, and a file has it"));
        pointed = 0;
    }
}

void Checker::take_lock(uint64_t key, const LockRow &row)
{
    uint32_t ino = upper_half(key);
    bool sound = is_sound(row);

    found_.add_if(!sound, "locks", file_text(ino) + " has a damaged lock");
    if (!sound)
        return;
    found_.add_if(find(ino) == nullptr, "locks",
                  file_text(ino) + " has a lock, and does not exist");
    found_.add_if(locked_.count(key_of(row.client, ino)) == 0, "locks",
                  file_text(ino) + " has a lock by which its client is not found");
    locks_[ino].push_back(row);
}

/* Each lock with each other one that begins before it ends, or right behind its end. */
void Checker::check_locks(uint32_t ino, const std::vector<LockRow> &locks)
{
    for (size_t i = 0; i < locks.size(); i++)
        for (size_t k = i + 1; k < locks.size() && locks[k].start <= locks[i].end + 1; k++)
            found_.add_if(!fit_together(locks[i], locks[k]), "locks",
                          file_text(ino) + " has two locks that exclude each other, from byte " +
                              std::to_string(locks[i].start) + " and " +
                              std::to_string(locks[k].start));
}

void Checker::check_all_locks()
{
    for (uint64_t key : locked_) {
        uint32_t number = upper_half(key);
        bool known = number != 0 && number <= dtx::kCoordinatorsMax;

        found_.add_if(!known || !mounted_.has(number - 1), "locks",
                      file_text(lower_half(key)) + " has locks of client number " +
                          std::to_string(number) + ", which has not the volume open");
    }
    for (auto &[ino, locks] : locks_) {
        std::sort(locks.begin(), locks.end(),
                  [](const LockRow &one, const LockRow &other) { return one.start < other.start; });
        check_locks(ino, locks);
    }
}

/* Compares each name with its hash, once the second rows are known. */
void Checker::check_names()
{
    for (const auto &[key, row] : long_names_) {
        auto tail = tails_.find(key);
        bool is_long = row.length > kHeadBytes;
        std::string name(row.head, std::min<size_t>(row.length, kHeadBytes));
        std::string text = "name " + std::to_string(lower_half(key)) + " in directory " +
                           std::to_string(upper_half(key));

        found_.add_if(is_long != (tail != tails_.end()), "long names",
                      text + (is_long ? " lacks its second row" : " has a second row"));
        if (is_long && tail != tails_.end())
            name += tail->second.substr(0, row.length - kHeadBytes);

        uint64_t first = first_name_key(upper_half(key), name, open_.volume.name_seed);

        found_.add_if(key - first >= kCollisions, "names", text + " has not the key of its hash");
        found_.add_if(!is_name(name), "names", text + " is one that no file can have");
    }
    for (const auto &[key, tail] : tails_)
        found_.add_if(long_names_.count(key) == 0, "long names",
                      "a second row of a name has no first one");
}

void Checker::check_directory(uint32_t ino, const Seen &file)
{
    bool root = ino == kRootIno;

    found_.add_if(file.entries != file.row.size, "directories",
                  file_text(ino) + " has " + std::to_string(file.entries) + " names, and counts " +
                      std::to_string(file.row.size));
    if (file.row.links == 0)
        return;
    found_.add_if(file.row.links != 2 + file.dirs, "directories",
                  file_text(ino) + " has " + std::to_string(file.dirs) +
                      " directories, and a link count of " + std::to_string(file.row.links));
    found_.add_if(root ? file.names != 0 || file.row.parent != kRootIno
                       : file.names != 1 || file.above != file.row.parent,
                  "directories", file_text(ino) + " has not one name, in its parent");
}

void Checker::check_file(uint32_t ino, const Seen &file)
{
    bool directory = S_ISDIR(file.row.mode);

    found_.add_if(file.orphan != (file.row.links == 0), "links",
                  file_text(ino) +
                      (file.orphan ? " is an orphan" : " has no name, and is no orphan"));
    if (directory)
        check_directory(ino, file);
    else
        found_.add_if(file.names != file.row.links, "links",
                      file_text(ino) + " has " + std::to_string(file.names) +
                          " names, and counts " + std::to_string(file.row.links));
    if (directory && file.row.links == 0)
        found_.add_if(file.names != 0, "links", file_text(ino) + " was removed, and has a name");
    if (S_ISREG(file.row.mode))
        found_.add_if(file.blocks != file.row.blocks, "maps",
                      file_text(ino) + " has " + std::to_string(file.blocks) +
                          " blocks, and counts " + std::to_string(file.row.blocks));
    if (S_ISLNK(file.row.mode) && file.row.size > kShortTarget)
        found_.add_if(file.target < file.row.size, "blobs",
                      file_text(ino) + " lacks a part of its target");
    if (file.row.xattr_bytes != 0)
        found_.add_if(file.row.xattr_bytes > kXattrsMax ||
                          file.xattrs < xattr_pieces(file.row.xattr_bytes),
                      "xattrs",
                      file_text(ino) + " lacks a part of its " +
                          std::to_string(file.row.xattr_bytes) + " bytes of extended attributes");
    if (directory && file.row.links != 0)
        found_.add_if(!file.reached, "reachable",
                      file_text(ino) + " is not below the root directory");
}

/* Marks each directory that leads up to the root directory. Directories that form a loop stay
 * unmarked. */
void Checker::reach()
{
    std::vector<Seen *> path;

    if (Seen *root = find(kRootIno))
        root->reached = true;
    for (auto &[ino, file] : files_) {
        Seen *at = S_ISDIR(file.row.mode) ? &file : nullptr;

        for (path.clear(); at != nullptr && !at->reached && path.size() <= files_.size();) {
            path.push_back(at);
            at = at->names == 1 ? find(at->above) : nullptr;
        }
        for (Seen *each : path)
            each->reached = at != nullptr && at->reached;
    }
}

dtx::Findings Checker::run()
{
    uint64_t rows = 0;

    each(tables_.volume, [&](uint64_t, const VolumeRow &) { rows++; });
    each(tables_.inodes, [&](uint64_t key, const InodeRow &row) { take_inode(key, row); });
    found_.add_if(rows != 1 || find(kRootIno) == nullptr || !S_ISDIR(find(kRootIno)->row.mode),
                  "volume", "the volume lacks its row, or its root directory");
    each(tables_.names, [&](uint64_t key, const NameRow &row) { take_name(key, row); });
    each(tables_.long_names, [&](uint64_t key, const LongNameRow &row) {
        tails_.emplace(key, std::string(row.tail, sizeof(row.tail)));
    });
    each(tables_.maps, [&](uint64_t key, const MapRow &row) { take_map(key, row); });
    each(tables_.blobs, [&](uint64_t key, const BlobRow &row) { take_blob(key, row); });
    each(tables_.orphans, [&](uint64_t key, const OrphanRow &row) { take_orphan(key, row); });
    each(tables_.slabs, [&](uint64_t key, const SlabRow &row) { take_slab(key, row); });
    each(tables_.mounts, [&](uint64_t, const MountsRow &row) { mounted_ = row.clients; });
    each(tables_.locked_files, [&](uint64_t key, const LockedFileRow &) { locked_.insert(key); });
    each(tables_.locks, [&](uint64_t key, const LockRow &row) { take_lock(key, row); });
    for (uint32_t shard = 0; shard < open_.volume.shards; shard++)
        for (size_t block = 0; block < pointed_[shard].size(); block++)
            if (pointed_[shard][block] != 0)
                found_.add("blocks", "block " + std::to_string(block) + " of shard " +
                                         std::to_string(shard) + " is of a file, and in no slab");
    check_all_locks();
    check_names();
    reach();
    for (const auto &[ino, file] : files_)
        check_file(ino, file);
    return found_;
}

} // namespace

dtx::Findings check_tables(const OpenVolume &open, uint32_t copy)
{
    return Checker(open, copy).run();
}

} // namespace rfs
