// SPDX-License-Identifier: BSD-3-Clause
// The check finds each kind of damage, and nothing in a whole volume.
#include "core/check/check.h"

#include "core/client/locks.h"
#include "core/client/mount.h"
#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "core/tree/rename.h"
#include "core/tree/xattrs.h"
#include "unit/fs/file/files.h"

#include <functional>
#include <set>

using rfs::Call;
using rfs::InodeRow;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

// A volume with a file of each kind.
struct Filled : TestVolume {
    Filled() : TestVolume(2, 2)
    {
        std::string target(1000, 't');
        std::string value = text_of(1500, 3);

        client->finish(rfs::mount(*client));
        directory = make_directory(*this, kRootIno, "directory");
        inner = make_directory(*this, directory, "inner");
        file = make_file(*this, directory, "file");
        other = make_file(*this, kRootIno, std::string(200, 'n'));
        link = as_root([&](Call &call) {
                   return rfs::create(call, kRootIno, "link", { S_IFLNK | 0777, 0, target });
               }).ino;
        orphan = make_file(*this, kRootIno, "orphan");
        client->open_files().add(orphan);
        as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "orphan"); });
        (void)write_at(*this, file, 0, text_of(40 * kBlockBytes, 1));
        (void)write_at(*this, other, 0, text_of(100, 2));
        for (uint32_t ino : { file, other, orphan })
            as_root([&](Call &call) { return rfs::set_xattr(call, ino, "user.name", value, 0); });
        own = rfs::client_number(client->session().coordinator());
        lock(file, range(0, 9, 1, rfs::LockType::read));
        lock(file, range(5, 14, 2, rfs::LockType::read));
        lock(file, range(10, 14, 1, rfs::LockType::none));
        lock(other, range(0, 9, 1, rfs::LockType::write));
        inode = inode_of(*this, file);
        for (uint32_t in : { kRootIno, directory })
            for (const char *name : { "directory", "inner", "file", "link" })
                keys[{ in, name }] = place_of(*this, in, name).key;
        keys[{ kRootIno, std::string(200, 'n') }] =
            place_of(*this, kRootIno, std::string(200, 'n')).key;
    }
    void lock(uint32_t ino, const rfs::LockRow &wanted)
    {
        client->finish(rfs::lock_file(*client, ino, wanted, false, nullptr));
    }
    rfs::LockRow range(uint64_t start, uint64_t end, uint64_t owner, rfs::LockType type) const
    {
        return { start, end, owner, 77, own, rfs::LockKind::posix, type };
    }
    // Keys and rows that a damage needs: it runs within a call, and makes none itself.
    uint64_t place_key(uint32_t in, const std::string &name) const
    {
        return keys.at({ in, name });
    }
    uint64_t slab_key(const rfs::Pointer &pointer) const
    {
        return rfs::key_of(pointer.shard(),
                           static_cast<uint32_t>(pointer.block() / rfs::kSlabBlocks));
    }

    uint32_t directory, inner, file, other, link, orphan;
    uint16_t own = 0; // number of the client
    InodeRow inode;   // of file
    std::map<std::pair<uint32_t, std::string>, uint64_t> keys;
};

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

// Changes an inode.
template <class Change> dtx::Task<> alter(Call &call, uint32_t ino, Change change)
{
    rfs::Node node = co_await rfs::held_inode(call, ino);

    change(node.row);
    co_await rfs::put(call, node);
}

// Changes a row of a table.
template <class Row, class Change>
dtx::Task<> alter_row(Call &call, dtx::Table<Row> table, uint64_t key, Change change)
{
    auto row = co_await call.txn.read(table, key);

    change(row.value());
    (void)co_await call.txn.write(table, key, *row);
}

template <class Row> dtx::Task<> add(Call &call, dtx::Table<Row> table, uint64_t key)
{
    Row row{};

    (void)co_await call.txn.insert(table, key, row);
}

template <class Row> dtx::Task<> erase(Call &call, dtx::Table<Row> table, uint64_t key)
{
    (void)co_await call.txn.erase(table, key);
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
        { "volume", [](Filled &, Call &call) { return erase(call, call.tables().volume, 0); } },
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
              return erase(call, call.tables().names, v.place_key(kRootIno, "link"));
          } },
        { "links",
          [](Filled &v, Call &call) {
              return erase(call, call.tables().orphans,
                           rfs::key_of(rfs::shard_of(v.orphan, 2), v.orphan));
          } },
        { "links",
          [](Filled &v, Call &call) {
              return add(call, call.tables().orphans,
                         rfs::key_of(rfs::shard_of(v.file, 2), v.file));
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
              return erase(call, call.tables().names, v.place_key(kRootIno, "directory"));
          } },
        { "reachable", // a directory that leads to itself
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "inner"),
                               [&](rfs::NameRow &row) { row.ino = v.directory; });
          } },
    };
}

std::vector<Damage> damage_of_names()
{
    return {
        { "names",
          [](Filled &v, Call &call) { return erase(call, call.tables().inodes, v.other); } },
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
          [](Filled &v, Call &call) { return erase(call, call.tables().inodes, v.inner); } },
        { "long names",
          [](Filled &v, Call &call) {
              return erase(call, call.tables().long_names,
                           v.place_key(kRootIno, std::string(200, 'n')));
          } },
        { "long names",
          [](Filled &v, Call &call) {
              return add(call, call.tables().long_names, v.place_key(kRootIno, "link"));
          } },
        { "blobs",
          [](Filled &v, Call &call) {
              return erase(call, call.tables().blobs,
                           rfs::key_of(v.link, rfs::kFirstTargetPiece + 1));
          } },
        { "blobs",
          [](Filled &v, Call &call) {
              return add(call, call.tables().blobs, rfs::key_of(v.file, rfs::kFirstTargetPiece));
          } },
    };
}

std::vector<Damage> damage_of_xattrs()
{
    return {
        { "xattrs", // the first piece, with the head
          [](Filled &v, Call &call) {
              return erase(call, call.tables().blobs, rfs::key_of(v.other, 0));
          } },
        { "xattrs", // the last one, which has zeros behind the stream
          [](Filled &v, Call &call) {
              return erase(call, call.tables().blobs, rfs::key_of(v.orphan, 3));
          } },
        { "xattrs", // one too many
          [](Filled &v, Call &call) {
              return add(call, call.tables().blobs, rfs::key_of(v.other, 4));
          } },
        { "xattrs", // of a file that has none
          [](Filled &v, Call &call) {
              return add(call, call.tables().blobs, rfs::key_of(v.link, 0));
          } },
        { "xattrs", // of no file
          [](Filled &, Call &call) { return add(call, call.tables().blobs, rfs::key_of(9, 0)); } },
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

std::vector<Damage> damage_of_blocks()
{
    return {
        { "maps",
          [](Filled &v, Call &call) {
              return alter(call, v.file, [](InodeRow &row) { row.blocks--; });
          } },
        { "maps",
          [](Filled &v, Call &call) {
              return add(call, call.tables().maps, rfs::key_of(v.link, 0));
          } },
        { "maps",
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().maps, rfs::key_of(v.file, 0),
                               [](rfs::MapRow &row) { row.pointers[0] = row.pointers[20]; });
          } },
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
              return erase(call, call.tables().slabs, v.slab_key(v.inode.pointers[0]));
          } },
        { "blocks", // no such slab
          [](Filled &, Call &call) { return add(call, call.tables().slabs, rfs::key_of(0, 77)); } },
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
          [](Filled &v, Call &call) { return erase(call, call.tables().inodes, v.other); } },
        { "locks", // of a client that has not the volume open
          [](Filled &, Call &call) {
              return alter_row(call, call.tables().mounts, 0,
                               [](rfs::MountsRow &row) { row.clients = {}; });
          } },
        { "locks", // of no client
          [](Filled &v, Call &call) {
              return add(call, call.tables().locked_files, rfs::key_of(101, v.file));
          } },
        { "locks",
          [](Filled &v, Call &call) {
              return erase(call, call.tables().locked_files, rfs::key_of(v.own, v.file));
          } },
    };
}

std::vector<Damage> all_damage()
{
    std::vector<Damage> all = damage_of_inodes();

    for (const auto &more :
         { damage_of_names(), damage_of_xattrs(), damage_of_blocks(), damage_of_locks() })
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

    CHECK(all.size() == 55);
    for (size_t i = 0; i < all.size(); i++) {
        Filled volume;
        const Damage &damage = all[i];

        volume.as_root([&](Call &call) { return damage.make(volume, call); });

        std::set<std::string> rules = broken_rules(rfs::check_tables(*volume.open));

        CAPTURE(i, damage.rule);
        CHECK(rules.count(damage.rule) == 1);
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
