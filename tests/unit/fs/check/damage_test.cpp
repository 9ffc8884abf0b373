// SPDX-License-Identifier: BSD-3-Clause
// Calls meet rows that no call writes: each ends with a text that names the row.
#include "core/call/need.h"

#include "core/client/usage.h"
#include "core/file/seek.h"
#include "core/tree/attributes.h"
#include "core/tree/rename.h"
#include "unit/fs/check/filled.h"
#include "unit/fs/check/saved.h"

#include <fcntl.h>
#include <functional>
#include <linux/fs.h>
#include <unistd.h>

using rfs::Call;
using rfs::InodeRow;
using rfs::key_of;
using rfs::kRootIno;

namespace
{

using Use = std::function<void(Filled &)>;

struct Damaged {
    std::function<rfs::RowName(const Filled &)> row; // that the text names
    std::function<dtx::Task<>(Filled &, Call &)> make;
    Use use;
};

// What a call on a damaged volume ends with.
std::string text_of_damage(const Use &use, Filled &volume)
{
    try {
        use(volume);
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_CORRUPT);
        return error.what();
    } catch (const rfs::Failure &failure) {
        return "failure " + std::to_string(failure.error);
    }
    return "it succeeds";
}

// @change: of the inode of @file, which the text names.
Damaged inode_with(uint32_t Filled::*file, std::function<void(InodeRow &)> change, Use use)
{
    return { [file](const Filled &v) { return rfs::file_row(v.*file); },
             [=](Filled &v, Call &call) { return alter(call, v.*file, change); }, std::move(use) };
}

// The same of the name "file" in the directory.
Damaged name_with(std::function<void(rfs::NameRow &)> change, Use use)
{
    return { [](const Filled &v) {
                return rfs::RowName{ "names", v.place_key(v.directory, "file") };
            },
             [=](Filled &v, Call &call) {
                 return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                                  change);
             },
             std::move(use) };
}

void read_file(Filled &v)
{
    (void)read_at(v, v.file, 0, 40 * rfs::kBlockBytes);
}
void write_file(Filled &v)
{
    (void)write_at(v, v.file, 0, "x");
}
void find_file(Filled &v)
{
    (void)place_of(v, v.directory, "file");
}
void list_directory(Filled &v)
{
    (void)names_in(v, v.directory);
}
void remove_file(Filled &v)
{
    v.as_root([&](Call &call) { return rfs::remove_file(call, v.directory, "file"); });
}
void rename_in(Filled &v, uint32_t from, const char *name, uint32_t to)
{
    v.as_root([&](Call &call) { return rfs::rename(call, { from, name }, { to, "new" }, 0); });
}
void read_target(Filled &v)
{
    v.as_root([&](Call &call) { return rfs::read_link(call, v.link); });
}
void list_xattrs(Filled &v)
{
    v.as_root([&](Call &call) { return rfs::list_xattrs(call, v.file); });
}
void lock_file(Filled &v)
{
    v.lock(v.file, v.range(100, 200, 1, rfs::LockType::read));
}
void seek_data(Filled &v)
{
    (void)v.client->finish(rfs::seek_file(*v.client, v.root, v.file, 0, SEEK_HOLE));
}

std::vector<Damaged> damaged_inodes()
{
    constexpr auto file = &Filled::file;

    return {
        inode_with(
            file, [](InodeRow &row) { row.mode = 0644; }, read_file),
        inode_with(
            file, [](InodeRow &row) { row.mode |= 1u << 16; }, read_file),
        inode_with(
            file, [](InodeRow &row) { row.mode = 0170644; }, remove_file),
        inode_with(
            file, [](InodeRow &row) { row.parent = kRootIno; }, write_file),
        inode_with(
            &Filled::directory, [](InodeRow &row) { row.parent = 0; },
            [](Filled &v) { (void)make_file(v, v.directory, "new"); }),
        inode_with(
            file, [](InodeRow &row) { row.size = rfs::kFileMax + 2; },
            [](Filled &v) { (void)read_at(v, v.file, rfs::kFileMax, 1); }),
        inode_with(
            file, [](InodeRow &row) { row.size = UINT64_MAX; }, write_file),
        inode_with(
            file, [](InodeRow &row) { row.blocks = rfs::kFileBlocks + 1; }, write_file),
        inode_with(
            file, [](InodeRow &row) { row.blocks = 0; }, write_file),
        inode_with(
            file, [](InodeRow &row) { row.cut = 39; }, write_file), // of 40 blocks
        inode_with(
            file, [](InodeRow &row) { row.cut = rfs::kFileBlocks; }, write_file),
        inode_with(
            &Filled::link, [](InodeRow &row) { row.cut = 0; }, read_target),
        inode_with(
            &Filled::link, [](InodeRow &row) { row.size = 0; }, read_target),
        inode_with(
            &Filled::link, [](InodeRow &row) { row.size = 5000; }, read_target),
        inode_with(
            &Filled::link,
            [](InodeRow &row) {
                row.size = 9;
                std::memcpy(row.target, "one\0more", 9);
            },
            read_target),
        inode_with(
            file, [](InodeRow &row) { row.xattr_bytes = 65537; }, list_xattrs),
        inode_with(
            file, [](InodeRow &row) { row.xattr_bytes = 60000; }, list_xattrs),
        inode_with(
            file, [](InodeRow &row) { row.links = 0; }, remove_file),
    };
}

std::vector<Damaged> damaged_counts()
{
    constexpr auto directory = &Filled::directory;

    return {
        inode_with(
            directory, [](InodeRow &row) { row.size = 0; }, remove_file),
        inode_with(
            directory, [](InodeRow &row) { row.size = 0; },
            [](Filled &v) { rename_in(v, v.directory, "file", kRootIno); }),
        inode_with(
            directory, [](InodeRow &row) { row.links = 2; },
            [](Filled &v) { rename_in(v, v.directory, "inner", kRootIno); }),
        inode_with(
            directory, [](InodeRow &row) { row.links = 2; },
            [](Filled &v) {
                v.as_root([&](Call &call) {
                    return rfs::rename(call, { v.directory, "inner" }, { kRootIno, "link" },
                                       RENAME_EXCHANGE);
                });
            }),
        inode_with( // the directories above it form a loop
            directory, [](InodeRow &) {},
            [](Filled &v) {
                (void)make_directory(v, kRootIno, "moved");
                v.as_root([&](Call &call) {
                    return alter(call, v.directory, [&](InodeRow &row) { row.parent = v.inner; });
                });
                rename_in(v, kRootIno, "moved", v.inner);
            }),
        inode_with( // a file is above it
            &Filled::other, [](InodeRow &) {},
            [](Filled &v) {
                (void)make_directory(v, kRootIno, "moved");
                v.as_root([&](Call &call) {
                    return alter(call, v.inner, [&](InodeRow &row) { row.parent = v.other; });
                });
                rename_in(v, kRootIno, "moved", v.inner);
            }),
    };
}

// Changes a pointer of the file: in its inode, or in the row of its blocks 32 to 63.
std::vector<Damaged> damaged_pointers()
{
    std::vector<Damaged> all;
    auto punch = [](Filled &v) {
        (void)v.client->finish(rfs::allocate_file(*v.client, v.root, v.file,
                                                  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                                  40 * rfs::kBlockBytes));
    };
    auto zero = [](Filled &v) {
        (void)v.client->finish(rfs::allocate_file(*v.client, v.root, v.file, FALLOC_FL_ZERO_RANGE,
                                                  0, 40 * rfs::kBlockBytes));
    };
    auto overwrite = [](Filled &v) {
        (void)write_at(v, v.file, 0, std::string(40 * rfs::kBlockBytes, 'x'));
    };
    auto empty = [](Filled &v) { (void)resize_to(v, v.file, 0); };

    for (uint64_t bits : { 2ull << 56, 1024ull << 16, 1ull << 2, 1ull << 15, 1ull << 1 })
        for (const Use &use : { Use(read_file), Use(overwrite), Use(empty), Use(punch), Use(zero),
                                Use(seek_data) }) {
            all.push_back(inode_with(
                &Filled::file, [=](InodeRow &row) { row.pointers[3].place |= bits; }, use));
            all.push_back({ [](const Filled &v) {
                               return rfs::RowName{ "maps", key_of(v.file, 1) };
                           },
                            [=](Filled &v, Call &call) {
                                return alter_row(
                                    call, call.tables().maps, key_of(v.file, 1),
                                    [=](rfs::MapRow &row) { row.pointers[2].place |= bits; });
                            },
                            use });
        }
    return all;
}

std::vector<Damaged> damaged_names()
{
    auto long_name = [](const Filled &v) {
        return rfs::RowName{ "long_names", v.place_key(kRootIno, std::string(200, 'n')) };
    };
    auto erase_long = [=](Filled &v, Call &call) {
        return erase_row(call, call.tables().long_names, long_name(v).key);
    };

    return {
        name_with([](rfs::NameRow &row) { row.ino = 0; }, find_file),
        name_with([](rfs::NameRow &row) { row.ino = 0; }, list_directory),
        name_with([](rfs::NameRow &row) { row.type = 3; }, find_file),
        name_with([](rfs::NameRow &row) { row.type = 200; }, list_directory),
        name_with([](rfs::NameRow &row) { row.length = 0; }, list_directory),
        name_with([](rfs::NameRow &row) { row.head[1] = '/'; }, list_directory),
        name_with([](rfs::NameRow &row) { row.head[1] = '\0'; }, list_directory),
        name_with(
            [](rfs::NameRow &row) {
                row.length = 2;
                row.head[0] = row.head[1] = '.';
            },
            list_directory),
        { [](const Filled &v) {
             return rfs::RowName{ "long_names", v.place_key(v.directory, "file") };
         },
          [](Filled &v, Call &call) {
              return alter_row(call, call.tables().names, v.place_key(v.directory, "file"),
                               [](rfs::NameRow &row) { row.length = 255; });
          },
          list_directory },
        { long_name, erase_long, [](Filled &v) { (void)names_in(v, kRootIno); } },
        { long_name, erase_long,
          [](Filled &v) { (void)place_of(v, kRootIno, std::string(200, 'n')); } },
        { [](const Filled &v) { return rfs::file_row(v.file); },
          [](Filled &v, Call &call) { return erase_row(call, call.tables().inodes, v.file); },
          remove_file },
        { [](const Filled &) { return rfs::file_row(kRootIno); }, // a name leads to the root
          [](Filled &v, Call &call) -> dtx::Task<> {
              co_await alter_row(call, call.tables().names, v.place_key(v.directory, "inner"),
                                 [](rfs::NameRow &row) { row.ino = kRootIno; });
              co_await alter(call, kRootIno, [](InodeRow &row) { row.size = 0; });
          },
          [](Filled &v) {
              v.as_root(
                  [&](Call &call) { return rfs::remove_directory(call, v.directory, "inner"); });
          } },
    };
}

std::vector<Damaged> damaged_others()
{
    auto slab = [](const Filled &v) {
        return rfs::RowName{ "slabs", v.slab_key(v.inode.pointers[0]) };
    };
    auto lock = [](const Filled &v) { return rfs::RowName{ "locks", key_of(v.file, 1) }; };
    auto blob = [](uint32_t piece) {
        return [=](const Filled &v) { return rfs::RowName{ "blobs", key_of(v.file, piece) }; };
    };
    auto target = [](const Filled &v) {
        return rfs::RowName{ "blobs", key_of(v.link, rfs::kFirstTargetPiece + 1) };
    };
    std::vector<Damaged> all = {
        { slab,
          [=](Filled &v, Call &call) { return erase_row(call, call.tables().slabs, slab(v).key); },
          [](Filled &v) { (void)resize_to(v, v.file, 0); } },
        { slab,
          [=](Filled &v, Call &call) {
              return alter_row(call, call.tables().slabs, slab(v).key,
                               [](rfs::SlabRow &row) { row.used = {}; });
          },
          [](Filled &v) { (void)resize_to(v, v.file, 0); } },
        { target,
          [=](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, target(v).key);
          },
          read_target },
        { blob(0),
          [=](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs, key_of(v.file, 0),
                               [](rfs::BlobRow &row) { row.bytes[2]++; });
          },
          list_xattrs },
        { [](const Filled &v) { return rfs::file_row(v.file); },
          [](Filled &v, Call &call) {
              return erase_row(call, call.tables().blobs, key_of(v.file, 1));
          },
          list_xattrs },
        { [](const Filled &v) { return rfs::file_row(v.link); },
          [=](Filled &v, Call &call) {
              return alter_row(call, call.tables().blobs, target(v).key,
                               [](rfs::BlobRow &row) { row.bytes[7] = '\0'; });
          },
          read_target },
    };

    for (auto change : std::initializer_list<void (*)(rfs::LockRow &)>{
             [](rfs::LockRow &row) { row.start = row.end + 1; },
             [](rfs::LockRow &row) { row.end = UINT64_MAX; },
             [](rfs::LockRow &row) { row.client = 0; }, [](rfs::LockRow &row) { row.client = 101; },
             [](rfs::LockRow &row) { row.kind = rfs::LockKind{ 7 }; },
             [](rfs::LockRow &row) { row.type = rfs::LockType::none; } })
        all.push_back({ lock,
                        [=](Filled &v, Call &call) {
                            return alter_row(call, call.tables().locks, lock(v).key, change);
                        },
                        lock_file });
    return all;
}

} // namespace

TEST_CASE("fs: a call that meets a damaged row ends with a text that names it", "[unit]")
{
    std::vector<Damaged> all = damaged_inodes();

    for (const auto &more :
         { damaged_counts(), damaged_pointers(), damaged_names(), damaged_others() })
        all.insert(all.end(), more.begin(), more.end());

    Filled volume;
    SavedVolume whole(volume);

    for (size_t i = 0; i < all.size(); i++) {
        rfs::RowName row = all[i].row(volume);

        volume.as_root([&](Call &call) { return all[i].make(volume, call); });

        std::string text = text_of_damage(all[i].use, volume);
        std::string expected = "the volume is damaged: row " + std::to_string(row.key >> 32) + "/" +
                               std::to_string(row.key & UINT32_MAX) + " of " + row.table + ": ";

        CAPTURE(i, text);
        CHECK(text.substr(0, expected.size()) == expected);
        whole.put_back(volume);
    }
    CHECK(whole.is_unchanged(volume));
}

TEST_CASE("fs: times that cannot grow stay, and all can be told", "[unit]")
{
    Filled volume;

    volume.as_root([&](Call &call) {
        return alter(call, volume.file, [](InodeRow &row) {
            row.atime_ns = INT64_MIN;
            row.mtime_ns = row.ctime_ns = INT64_MAX;
        });
    });

    struct stat stat = rfs::stat_of(write_at(volume, volume.file, 0, "x"));

    CHECK(stat.st_atim.tv_sec == INT64_MIN / 1000000000 - 1);
    CHECK(stat.st_atim.tv_nsec == 1000000000 + INT64_MIN % 1000000000);
    CHECK(stat.st_mtim.tv_sec == INT64_MAX / 1000000000);
    CHECK(stat.st_ctim.tv_nsec == INT64_MAX % 1000000000);
}

TEST_CASE("fs: slabs that there are not, or of owners that there cannot be, are passed", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");

    volume.as_root([](Call &call) -> dtx::Task<> {
        rfs::SlabRow owned{};

        owned.owner = 1000;
        co_await add_empty(call, call.tables().slabs, key_of(0, UINT32_MAX));
        (void)co_await call.txn.insert(call.tables().slabs, key_of(0, 0), owned);
    });
    for (uint64_t i = 0; i < rfs::kSlabBlocks - rfs::kReserveBlocks; i += 126) // slab 1
        (void)write_at(volume, ino, i * rfs::kBlockBytes, std::string(126 * rfs::kBlockBytes, 'x'));
    CHECK(error_of([&] { (void)write_at(volume, ino, 1 << 30, "x"); }) == ENOSPC);
    CHECK(volume.client->finish(rfs::count_blocks(*volume.client)).free ==
          rfs::kSlabBlocks + rfs::kReserveBlocks);
}

TEST_CASE("fs: an orphan that is damaged does not keep others, nor a mount from going on", "[unit]")
{
    Filled volume;
    rfs::Client &client = *volume.client;

    (void)make_file(volume, kRootIno, "second");
    client.open_files().add(place_of(volume, kRootIno, "second").ino);

    uint32_t second = place_of(volume, kRootIno, "second").ino;

    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "second"); });
    volume.as_root([&](Call &call) {
        return alter(call, volume.orphan, [](InodeRow &row) { row.mode = 0; });
    });
    for (uint32_t ino : { volume.orphan, second })
        client.open_files().remove(ino);

    std::string text =
        text_of_damage([&](Filled &) { client.finish(rfs::take_turn(client, false)); }, volume);

    CHECK(text.find("row 0/" + std::to_string(volume.orphan) + " of inodes") != text.npos);
    CHECK(error_of([&] { (void)inode_of(volume, second); }) == ESTALE);
    client.finish(rfs::unmount(client));
    client.finish(rfs::mount(client));
}

TEST_CASE("fs: a lock that is damaged goes with its file, and keeps no client from joining",
          "[unit]")
{
    Filled volume;
    rfs::Client &client = *volume.client;

    volume.as_root([&](Call &call) {
        return alter_row(call, call.tables().locks, key_of(volume.file, 1),
                         [](rfs::LockRow &row) { row.end = 0; });
    });
    client.finish(rfs::mount(client));
    remove_file(volume);
    client.finish(rfs::free_file(client, volume.file));
    CHECK(error_of([&] { (void)inode_of(volume, volume.file); }) == ESTALE);
}
