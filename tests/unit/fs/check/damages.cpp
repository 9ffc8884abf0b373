// SPDX-License-Identifier: BSD-3-Clause
#include "unit/fs/check/damages.h"

#include "core/format/xattr_stream.h"

using rfs::Call;
using rfs::InodeRow;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

// A file has all attributes that it can have, and counts a byte more.
dtx::Task<> count_too_much(Call &call, uint32_t ino)
{
    std::string value(rfs::kXattrsMax - sizeof(rfs::XattrHead) - 6, 'v');

    (void)co_await rfs::set_xattr(call, ino, "user.a", value, 0);
    co_await alter(call, ino, [](InodeRow &row) { row.xattr_bytes++; });
}

std::vector<Damage> damage_of_inodes()
{
    return {
        { "volume", "the volume has no row",
          [](Filled &, Call &call) { return erase_row(call, call.tables().volume, 0); } },
        { "inodes", "a mode without a type",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.mode &= 07777; });
          } },
        { "inodes", "a file with a parent",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.parent = kRootIno; });
          } },
        { "inodes", "a link longer than a path",
          [](Filled &v, Call &call) {
              return alter(call, v.link, [](InodeRow &row) { row.size = 5000; });
          } },
        { "links", "a link count too high",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.links = 2; });
          } },
        { "links", "a file without its name",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().names, v.place_key(kRootIno, "link"));
          } },
        { "links", "an orphan without its row",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.orphan, 2), v.orphan));
          } },
        { "links", "a file with a name that is an orphan",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.file, 2), v.file));
          } },
        { "links", "an orphan of a client that there cannot be",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.orphan, 2), v.orphan),
                               [](rfs::OrphanRow &row) { row.clients.add(100); });
          } },
        { "directories", "a directory that counts a name too many",
          [](Filled &v, Call &call) {
              return alter(call, v.directory, [](InodeRow &row) { row.size++; });
          } },
        { "directories", "a directory that counts a directory too many",
          [](Filled &v, Call &call) {
              return alter(call, v.directory, [](InodeRow &row) { row.links++; });
          } },
        { "directories", "a directory with another parent",
          [](Filled &v, Call &call) {
              return alter(call, v.inner, [](InodeRow &row) { row.parent = kRootIno; });
          } },
        { "reachable", "a directory without its name",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().names, v.place_key(kRootIno, "directory"));
          } },
        { "reachable", "a directory that is in itself",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "inner"),
                               [&](rfs::NameRow &row) { row.ino = v.directory; });
          } },
    };
}

// Of the name "file" in the directory.
Damage damage_of_name(const char *what, std::function<void(rfs::NameRow &)> change)
{
    return { "names", what, [change](Filled &v, Call &call) {
                return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                                 change);
            } };
}

std::vector<Damage> damage_of_names()
{
    return {
        damage_of_name("a name of inode 0", [](rfs::NameRow &row) { row.ino = 0; }),
        damage_of_name("a name of no type", [](rfs::NameRow &row) { row.type = 3; }),
        damage_of_name("a name without letters", [](rfs::NameRow &row) { row.length = 0; }),
        damage_of_name("a name with a slash", [](rfs::NameRow &row) { row.head[2] = '/'; }),
        { "blobs", "a zero byte in a target",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs,
                               rfs::key_of(v.link, rfs::kFirstTargetPiece + 2),
                               [](rfs::BlobRow &row) { row.bytes[39] = '\0'; });
          } },
        { "blobs", "a zero byte in a target in an inode",
          [](Filled &, Call &call) -> dtx::Task<> {
              std::string target("a\0b", 3);

              (void)co_await rfs::create(call, kRootIno, "zero", { S_IFLNK | 0777, 0, target });
          } },
        { "names", "a name of no inode",
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.other); } },
        { "names", "a name of another type",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(kRootIno, "link"),
                               [](rfs::NameRow &row) { row.type = S_IFREG >> 12; });
          } },
        { "names", "a name with the key of another one",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                               [](rfs::NameRow &row) { row.head[0] = 'x'; });
          } },
        { "names", "a name of a directory without an inode",
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.inner); } },
        { "long names", "a long name without its second row",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().long_names,
                               v.place_key(kRootIno, std::string(200, 'n')));
          } },
        { "long names", "a short name with a second row",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().long_names, v.place_key(kRootIno, "link"));
          } },
        { "blobs", "a link without a piece of its target",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs,
                               rfs::key_of(v.link, rfs::kFirstTargetPiece + 1));
          } },
        { "blobs", "a file with a piece of a target",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs,
                               rfs::key_of(v.file, rfs::kFirstTargetPiece));
          } },
    };
}

std::vector<Damage> damage_of_xattrs()
{
    return {
        { "xattrs", "no first piece of attributes",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, rfs::key_of(v.other, 0));
          } },
        { "xattrs", "no last piece of attributes",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, rfs::key_of(v.orphan, 3));
          } },
        { "xattrs", "a piece of attributes too many",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(v.other, 4));
          } },
        { "xattrs", "attributes of a link that has none",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(v.link, 0));
          } },
        { "xattrs", "attributes of no file",
          [](Filled &, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(9, 0));
          } },
        { "xattrs", "a length in the attributes",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs, rfs::key_of(v.other, 0),
                               [](rfs::BlobRow &row) { row.bytes[2]++; });
          } },
        { "xattrs", "a byte of attributes too many",
          [](Filled &v, Call &call) {
              return alter(call, v.other, [](InodeRow &row) { row.xattr_bytes++; });
          } },
        { "xattrs", "attributes that are not counted",
          [](Filled &v, Call &call) {
              return alter(call, v.other, [](InodeRow &row) { row.xattr_bytes = 0; });
          } },
        { "xattrs", "more attributes than a file can have",
          [](Filled &v, Call &call) { return count_too_much(call, v.inner); } },
        { "xattrs", "attributes without any piece",
          [](Filled &v, Call &call) {
              return alter(call, v.inner, [](InodeRow &row) { row.xattr_bytes = 1u << 31; });
          } },
    };
}

std::vector<Damage> damage_of_maps()
{
    return {
        { "maps", "a file that counts a block too few",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.blocks--; });
          } },
        { "maps", "a map of a link",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().maps, rfs::key_of(v.link, 0));
          } },
        { "maps", "two pointers for one block",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().maps, rfs::key_of(v.file, 0),
                               [](rfs::MapRow &row) { row.pointers[0] = row.pointers[20]; });
          } },
        { "maps", "a map without pointers",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().maps, rfs::key_of(v.file, 9));
          } },
        { "maps", "a map of blocks that no file can have",
          [](Filled &v, Call &call) -> dtx::Task<> {
              rfs::MapRow row{};

              row.pointers[0] = v.inode.pointers[0];
              (void)co_await call.txn.insert(call.tables().maps, rfs::key_of(v.file, 1u << 27),
                                             row);
          } },
    };
}

std::vector<Damage> damage_of_blocks()
{
    return {
        { "pointers", "a bit in a pointer",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.pointers[3].place ^= 1 << 5; });
          } },
        { "pointers", "a pointer to no shard",
          [](Filled &v, Call &call) {
              return alter(call, v.file,
                           [](InodeRow &row) { row.pointers[3].place |= 7ull << 56; });
          } },
        { "pointers", "a pointer behind the end",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.size = 39 * kBlockBytes; });
          } },
        { "blocks", "a block of two places",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.pointers[3] = row.pointers[4]; });
          } },
        { "blocks", "a lost block",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) {
                  row.pointers[3] = {};
                  row.blocks--;
              });
          } },
        { "blocks", "a free block of a file",
          [](Filled &v, Call &call) {
              rfs::Pointer pointer = v.inode.pointers[0];

              return alter_row(call, call.tables().slabs, v.slab_key(pointer),
                               [pointer](rfs::SlabRow &row) {
                                   uint64_t at = pointer.block() % rfs::kSlabBlocks;

                                   row.used[at / 64] &= ~(1ull << at % 64);
                               });
          } },
        { "blocks", "a slab without its row",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().slabs, v.slab_key(v.inode.pointers[0]));
          } },
        { "blocks", "a slab of a client that there cannot be",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().slabs, v.slab_key(v.inode.pointers[0]),
                               [](rfs::SlabRow &row) { row.owner = 101; });
          } },
        { "blocks", "a row of no slab",
          [](Filled &, Call &call) {
              return add_empty(call, call.tables().slabs, rfs::key_of(0, 77));
          } },
    };
}

// Changes the second lock of a file: of owner 2, to read the bytes 5 to 14.
Damage damage_of_second(const char *what, std::function<void(rfs::LockRow &)> change)
{
    return { "locks", what, [change](Filled &v, Call &call) {
                return alter_row(call, call.tables().locks, rfs::key_of(v.file, 1), change);
            } };
}

std::vector<Damage> damage_of_locks()
{
    using rfs::LockRow;

    return {
        damage_of_second("a lock that another one excludes",
                         [](LockRow &row) { row.type = rfs::LockType::write; }),
        damage_of_second("two locks of one owner that overlap",
                         [](LockRow &row) { row.owner = 1; }),
        damage_of_second("two locks of one owner that touch",
                         [](LockRow &row) {
                             row.owner = 1;
                             row.start = 10;
                         }),
        damage_of_second("a lock of no type", [](LockRow &row) { row.type = rfs::LockType::none; }),
        damage_of_second("a lock of no kind", [](LockRow &row) { row.kind = rfs::LockKind{ 3 }; }),
        damage_of_second("a lock that ends before it starts", [](LockRow &row) { row.end = 4; }),
        damage_of_second("a lock behind all bytes",
                         [](LockRow &row) { row.end = rfs::kLockEnd + 1; }),
        damage_of_second("a lock of client 0", [](LockRow &row) { row.client = 0; }),
        damage_of_second("a lock of another client",
                         [](LockRow &row) { row.client = row.client == 9 ? 10 : 9; }),
        { "locks", "locks of no file",
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.other); } },
        { "locks", "locks of a client that has not the volume open",
          [](Filled &, Call &call) {
              return alter_row(call, call.tables().mounts, 0,
                               [](rfs::MountsRow &row) { row.clients = {}; });
          } },
        { "locks", "a locked file of no client",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().locked_files, rfs::key_of(101, v.file));
          } },
        { "locks", "a lock without its locked file",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().locked_files, rfs::key_of(v.own, v.file));
          } },
    };
}

} // namespace

std::vector<Damage> all_damage()
{
    std::vector<Damage> all = damage_of_inodes();

    for (const auto &more : { damage_of_names(), damage_of_xattrs(), damage_of_maps(),
                              damage_of_blocks(), damage_of_locks() })
        all.insert(all.end(), more.begin(), more.end());
    return all;
}
