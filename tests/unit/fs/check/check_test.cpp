// SPDX-License-Identifier: BSD-3-Clause
// The check finds each kind of damage, and nothing in a whole volume.
#include "core/check/check.h"

#include "core/format/xattr_stream.h"
#include "unit/fs/check/filled.h"

#include <functional>
#include <set>

using rfs::Call;
using rfs::InodeRow;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

// The rules that are broken.
std::set<std::string> broken_rules(const dtx::Findings &findings)
{
    std::set<std::string> rules;

    for (const dtx::Finding &finding : findings.all()) {
        if (finding.broken > 0)
            rules.insert(finding.rule);
        for (const std::string &text : finding.first)
            UNSCOPED_INFO(finding.rule + ": " + text);
    }
    return rules;
}

// A file has all attributes that it can have, and counts a byte more.
dtx::Task<> count_too_much(Call &call, uint32_t ino)
{
    std::string value(rfs::kXattrsMax - sizeof(rfs::XattrHead) - 6, 'v');

    (void)co_await rfs::set_xattr(call, ino, "user.a", value, 0);
    co_await alter(call, ino, [](InodeRow &row) { row.xattr_bytes++; });
}

struct Damage {
    std::string rule; // that finds it
    std::function<dtx::Task<>(Filled &, Call &)> make;
};

std::vector<Damage> damage_of_inodes()
{
    return {
        { "volume", [](Filled &, Call &call) { return erase_row(call, call.tables().volume, 0); } },
        { "inodes",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.mode &= 07777; });
          } },
        { "inodes",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.parent = kRootIno; });
          } },
        { "inodes",
          [](Filled &v, Call &call) {
              return alter(call, v.link, [](InodeRow &row) { row.size = 5000; });
          } },
        { "links",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.links = 2; });
          } },
        { "links",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().names, v.place_key(kRootIno, "link"));
          } },
        { "links",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.orphan, 2), v.orphan));
          } },
        { "links",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.file, 2), v.file));
          } },
        { "links", // of a client that there cannot be
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().orphans,
                               rfs::key_of(rfs::shard_of(v.orphan, 2), v.orphan),
                               [](rfs::OrphanRow &row) { row.clients.add(100); });
          } },
        { "directories",
          [](Filled &v, Call &call) {
              return alter(call, v.directory, [](InodeRow &row) { row.size++; });
          } },
        { "directories",
          [](Filled &v, Call &call) {
              return alter(call, v.directory, [](InodeRow &row) { row.links++; });
          } },
        { "directories",
          [](Filled &v, Call &call) {
              return alter(call, v.inner, [](InodeRow &row) { row.parent = kRootIno; });
          } },
        { "reachable",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().names, v.place_key(kRootIno, "directory"));
          } },
        { "reachable", // a directory that leads to itself
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "inner"),
                               [&](rfs::NameRow &row) { row.ino = v.directory; });
          } },
    };
}

// Of the name "file" in the directory.
Damage damage_of_name(std::function<void(rfs::NameRow &)> change)
{
    return { "names", [change](Filled &v, Call &call) {
                return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                                 change);
            } };
}

std::vector<Damage> damage_of_names()
{
    return {
        damage_of_name([](rfs::NameRow &row) { row.ino = 0; }),
        damage_of_name([](rfs::NameRow &row) { row.type = 3; }),
        damage_of_name([](rfs::NameRow &row) { row.length = 0; }),
        damage_of_name([](rfs::NameRow &row) { row.head[2] = '/'; }),
        { "blobs", // a zero byte in a target
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs,
                               rfs::key_of(v.link, rfs::kFirstTargetPiece + 2),
                               [](rfs::BlobRow &row) { row.bytes[39] = '\0'; });
          } },
        { "blobs", // in an inode
          [](Filled &, Call &call) -> dtx::Task<> {
              std::string target("a\0b", 3);

              (void)co_await rfs::create(call, kRootIno, "zero", { S_IFLNK | 0777, 0, target });
          } },
        { "names",
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.other); } },
        { "names",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(kRootIno, "link"),
                               [](rfs::NameRow &row) { row.type = S_IFREG >> 12; });
          } },
        { "names",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                               [](rfs::NameRow &row) { row.head[0] = 'x'; });
          } },
        { "names",
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.inner); } },
        { "long names",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().long_names,
                               v.place_key(kRootIno, std::string(200, 'n')));
          } },
        { "long names",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().long_names, v.place_key(kRootIno, "link"));
          } },
        { "blobs",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs,
                               rfs::key_of(v.link, rfs::kFirstTargetPiece + 1));
          } },
        { "blobs",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs,
                               rfs::key_of(v.file, rfs::kFirstTargetPiece));
          } },
    };
}

std::vector<Damage> damage_of_xattrs()
{
    return {
        { "xattrs", // the first piece, with the head
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, rfs::key_of(v.other, 0));
          } },
        { "xattrs", // the last one, which has zeros behind the stream
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, rfs::key_of(v.orphan, 3));
          } },
        { "xattrs", // one too many
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(v.other, 4));
          } },
        { "xattrs", // of a file that has none
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(v.link, 0));
          } },
        { "xattrs", // of no file
          [](Filled &, Call &call) {
              return add_empty(call, call.tables().blobs, rfs::key_of(9, 0));
          } },
        { "xattrs", // a length that the stream has not
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs, rfs::key_of(v.other, 0),
                               [](rfs::BlobRow &row) { row.bytes[2]++; });
          } },
        { "xattrs", // counted, in as many pieces
          [](Filled &v, Call &call) {
              return alter(call, v.other, [](InodeRow &row) { row.xattr_bytes++; });
          } },
        { "xattrs", // not counted
          [](Filled &v, Call &call) {
              return alter(call, v.other, [](InodeRow &row) { row.xattr_bytes = 0; });
          } },
        { "xattrs", // more than a file can have, in as many pieces
          [](Filled &v, Call &call) { return count_too_much(call, v.inner); } },
        { "xattrs", // counted, without any piece
          [](Filled &v, Call &call) {
              return alter(call, v.inner, [](InodeRow &row) { row.xattr_bytes = 1u << 31; });
          } },
    };
}

std::vector<Damage> damage_of_maps()
{
    return {
        { "maps",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.blocks--; });
          } },
        { "maps",
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().maps, rfs::key_of(v.link, 0));
          } },
        { "maps",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().maps, rfs::key_of(v.file, 0),
                               [](rfs::MapRow &row) { row.pointers[0] = row.pointers[20]; });
          } },
        { "maps", // without pointers
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().maps, rfs::key_of(v.file, 9));
          } },
        { "maps", // of blocks that no file can have
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
        { "pointers",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.pointers[3].place ^= 1 << 5; });
          } },
        { "pointers",
          [](Filled &v, Call &call) {
              return alter(call, v.file,
                           [](InodeRow &row) { row.pointers[3].place |= 7ull << 56; });
          } },
        { "pointers",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.size = 39 * kBlockBytes; });
          } },
        { "blocks", // pointed to twice
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.pointers[3] = row.pointers[4]; });
          } },
        { "blocks", // lost
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) {
                  row.pointers[3] = {};
                  row.blocks--;
              });
          } },
        { "blocks", // free, though a file has it
          [](Filled &v, Call &call) {
              rfs::Pointer pointer = v.inode.pointers[0];

              return alter_row(call, call.tables().slabs, v.slab_key(pointer),
                               [pointer](rfs::SlabRow &row) {
                                   uint64_t at = pointer.block() % rfs::kSlabBlocks;

                                   row.used[at / 64] &= ~(1ull << at % 64);
                               });
          } },
        { "blocks", // the slab has no row
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().slabs, v.slab_key(v.inode.pointers[0]));
          } },
        { "blocks", // of a client that there cannot be
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().slabs, v.slab_key(v.inode.pointers[0]),
                               [](rfs::SlabRow &row) { row.owner = 101; });
          } },
        { "blocks", // no such slab
          [](Filled &, Call &call) {
              return add_empty(call, call.tables().slabs, rfs::key_of(0, 77));
          } },
    };
}

// Changes the second lock of a file: of owner 2, to read the bytes 5 to 14.
Damage damage_of_second(std::function<void(rfs::LockRow &)> change)
{
    return { "locks", [change](Filled &v, Call &call) {
                return alter_row(call, call.tables().locks, rfs::key_of(v.file, 1), change);
            } };
}

std::vector<Damage> damage_of_locks()
{
    using rfs::LockRow;

    return {
        damage_of_second([](LockRow &row) { row.type = rfs::LockType::write; }),
        damage_of_second([](LockRow &row) { row.owner = 1; }), // overlaps another one of its owner
        damage_of_second([](LockRow &row) {                    // touches it
            row.owner = 1;
            row.start = 10;
        }),
        damage_of_second([](LockRow &row) { row.type = rfs::LockType::none; }),
        damage_of_second([](LockRow &row) { row.kind = rfs::LockKind{ 3 }; }),
        damage_of_second([](LockRow &row) { row.end = 4; }),
        damage_of_second([](LockRow &row) { row.end = rfs::kLockEnd + 1; }),
        damage_of_second([](LockRow &row) { row.client = 0; }),
        damage_of_second([](LockRow &row) { row.client = row.client == 9 ? 10 : 9; }),
        { "locks", // of no file
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.other); } },
        { "locks", // of a client that has not the volume open
          [](Filled &, Call &call) {
              return alter_row(call, call.tables().mounts, 0,
                               [](rfs::MountsRow &row) { row.clients = {}; });
          } },
        { "locks", // of no client
          [](Filled &v, Call &call) {
              return add_empty(call, call.tables().locked_files, rfs::key_of(101, v.file));
          } },
        { "locks",
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().locked_files, rfs::key_of(v.own, v.file));
          } },
    };
}

std::vector<Damage> all_damage()
{
    std::vector<Damage> all = damage_of_inodes();

    for (const auto &more : { damage_of_names(), damage_of_xattrs(), damage_of_maps(),
                              damage_of_blocks(), damage_of_locks() })
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

} // namespace

TEST_CASE("fs: the check finds nothing in a whole volume", "[unit]")
{
    Filled volume;

    for (uint32_t copy : { 0, 1 })
        CHECK(broken_rules(rfs::check_tables(*volume.open, copy)).empty());
    CHECK(broken_rules(rfs::check_data(*volume.open)).empty());

    dtx::Findings tables = rfs::check_tables(*volume.open);
    dtx::Findings data = rfs::check_data(*volume.open);

    for (const dtx::Finding &finding : tables.all()) {
        CAPTURE(finding.rule);
        CHECK(finding.checked > 0);
        CHECK(finding.about != "");
    }
    CHECK(data.all().at(0).checked == 2 * 41); // blocks, on two copies
}

TEST_CASE("fs: the check finds each kind of damage by its rule", "[unit]")
{
    std::vector<Damage> all = all_damage();

    CHECK(all.size() == 65);
    for (size_t i = 0; i < all.size(); i++) {
        Filled volume;
        const Damage &damage = all[i];

        volume.as_root([&](Call &call) { return damage.make(volume, call); });

        std::set<std::string> rules = broken_rules(rfs::check_tables(*volume.open));

        CAPTURE(i, damage.rule);
        CHECK(rules.count(damage.rule) == 1);
        (void)rfs::check_data(*volume.open); // goes through all pointers
    }
}

TEST_CASE("fs: the check finds a block that is damaged on one copy", "[unit]")
{
    Filled volume;
    dtx::Options options = volume.options;
    rfs::Pointer pointer = inode_of(volume, volume.file).pointers[5];

    options.canary = dtx::kCanarySpanPrimary; // writes the first copy alone

    rfs::OpenVolume one_copy = rfs::open_volume("home", options);
    rfs::Client client(one_copy);

    client.call_now(volume.root, [&](Call &call) -> dtx::Task<> {
        dtx::SpanWrite piece{ call.tables().blocks, pointer.shard(),
                              pointer.block() * kBlockBytes + 4095, "!", 1 };

        co_await call.txn.write_span({ &piece, 1 });
    });

    dtx::Findings found = rfs::check_data(*volume.open);

    CHECK(broken_rules(found) == std::set<std::string>{ "data" });
    CHECK(found.all().at(0).broken == 1);
    CHECK(found.all().at(0).first.at(0) ==
          "block 5 of file " + std::to_string(volume.file) + " is damaged on copy 0");
    CHECK(broken_rules(rfs::check_tables(*volume.open)).empty());
}
