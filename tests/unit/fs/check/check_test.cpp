// SPDX-License-Identifier: BSD-3-Clause
// The check finds each kind of damage, and nothing in a whole volume.
#include "core/check/check.h"

#include "core/format/xattr_stream.h"
#include "unit/fs/check/filled.h"

#include <cstdio>
#include <functional>
#include <set>
#include <tuple>

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

// The rows of a table, by key.
template <class Row> class SavedTable
{
  public:
    SavedTable(const TestVolume &volume, dtx::Table<Row> table) : table_(table), rows_(now(volume))
    {
    }
    // Makes the rows as they were.
    void put_back(TestVolume &volume) const
    {
        std::map<uint64_t, Row> found = now(volume);

        volume.as_root([&](Call &call) -> dtx::Task<> {
            for (const auto &[key, row] : found)
                if (rows_.count(key) == 0)
                    co_await erase_row(call, table_, key);
            for (const auto &[key, row] : rows_)
                if (found.count(key) == 0)
                    (void)co_await call.txn.insert(table_, key, row);
                else if (std::memcmp(&found.at(key), &row, sizeof(row)) != 0)
                    (void)co_await call.txn.write(table_, key, row);
        });
    }

  private:
    std::map<uint64_t, Row> now(const TestVolume &volume) const
    {
        std::map<uint64_t, Row> rows;

        volume.open->cluster->each_row(table_.number, 0,
                                       [&](uint64_t key, const void *bytes, size_t) {
                                           std::memcpy(&rows[key], bytes, sizeof(Row));
                                       });
        return rows;
    }

    dtx::Table<Row> table_;
    std::map<uint64_t, Row> rows_;
};

// All tables, so that one volume serves for all damage.
class SavedVolume
{
  public:
    explicit SavedVolume(const TestVolume &volume) : SavedVolume(volume, volume.open->volume.tables)
    {
    }
    void put_back(TestVolume &volume) const
    {
        std::apply([&](const auto &...tables) { (tables.put_back(volume), ...); }, tables_);
    }

  private:
    SavedVolume(const TestVolume &volume, const rfs::Tables &of)
        : tables_({ volume, of.volume }, { volume, of.mounts }, { volume, of.inodes },
                  { volume, of.names }, { volume, of.long_names }, { volume, of.maps },
                  { volume, of.blobs }, { volume, of.slabs }, { volume, of.orphans },
                  { volume, of.locks }, { volume, of.locked_files })
    {
    }

    std::tuple<SavedTable<rfs::VolumeRow>, SavedTable<rfs::MountsRow>, SavedTable<InodeRow>,
               SavedTable<rfs::NameRow>, SavedTable<rfs::LongNameRow>, SavedTable<rfs::MapRow>,
               SavedTable<rfs::BlobRow>, SavedTable<rfs::SlabRow>, SavedTable<rfs::OrphanRow>,
               SavedTable<rfs::LockRow>, SavedTable<rfs::LockedFileRow>>
        tables_;
};

struct Damage {
    std::string rule; // that finds it
    std::string what;
    std::function<dtx::Task<>(Filled &, Call &)> make;
};

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
    Filled volume;
    dtx::Cluster::Reading reading(*volume.open->cluster); // to connect for each table takes longest
    SavedVolume whole(volume);
    size_t found = 0;

    for (const Damage &damage : all) {
        volume.as_root([&](Call &call) { return damage.make(volume, call); });

        std::set<std::string> rules = broken_rules(rfs::check_tables(*volume.open));

        CAPTURE(damage.what, damage.rule);
        CHECK(rules.count(damage.rule) == 1);
        (void)rfs::check_data(*volume.open); // goes through all pointers
        found += rules.count(damage.rule);
        whole.put_back(volume);
    }
    CHECK(broken_rules(rfs::check_tables(*volume.open)).empty());
    CHECK(all.size() == 65);
    printf("damage %zu of %zu found\n", found, all.size());
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
