// SPDX-License-Identifier: BSD-3-Clause
// rename() with its flags.
#include "core/tree/rename.h"

#include "unit/fs/volume.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <linux/fs.h>
#include <thread>

using rfs::Call;
using rfs::kRootIno;
using rfs::Spot;

namespace
{

std::optional<rfs::Node> rename_as(TestVolume &volume, const rfs::Credentials &who, Spot from,
                                   Spot to, uint32_t flags = 0)
{
    return volume.client->call_now(who,
                                   [&](Call &call) { return rfs::rename(call, from, to, flags); });
}

int error_of_rename(TestVolume &volume, Spot from, Spot to, uint32_t flags = 0)
{
    return error_of([&] { (void)rename_as(volume, volume.root, from, to, flags); });
}

// The number of the file that a name leads to; 0: none.
uint32_t at(TestVolume &volume, uint32_t directory, const std::string &name)
{
    return place_of(volume, directory, name).ino;
}

} // namespace

TEST_CASE("fs: a file is renamed within a directory and to another one", "[unit]")
{
    TestVolume volume(3, 2);
    uint32_t directory = make_directory(volume, kRootIno, "d");
    uint32_t file = make_file(volume, kRootIno, "a");

    CHECK_FALSE(rename_as(volume, volume.root, { kRootIno, "a" }, { kRootIno, "b" }));
    CHECK(at(volume, kRootIno, "a") == 0);
    CHECK(at(volume, kRootIno, "b") == file);
    CHECK(inode_of(volume, kRootIno).size == 2);
    CHECK(error_of_rename(volume, { kRootIno, "b" }, { directory, "c" }) == 0);
    CHECK(at(volume, kRootIno, "b") == 0);
    CHECK(at(volume, directory, "c") == file);
    CHECK(inode_of(volume, kRootIno).size == 1);
    CHECK(inode_of(volume, directory).size == 1);
    CHECK(inode_of(volume, file).links == 1);
    CHECK(error_of_rename(volume, { kRootIno, "b" }, { kRootIno, "c" }) == ENOENT);
}

TEST_CASE("fs: a file that is replaced loses a name", "[unit]")
{
    TestVolume volume;
    uint32_t first = make_file(volume, kRootIno, "a");
    uint32_t second = make_file(volume, kRootIno, "b");
    auto replaced = rename_as(volume, volume.root, { kRootIno, "a" }, { kRootIno, "b" });

    REQUIRE(replaced);
    CHECK(replaced->ino == second);
    CHECK(replaced->row.links == 0);
    CHECK(at(volume, kRootIno, "b") == first);
    CHECK(inode_of(volume, kRootIno).size == 1);

    // Two names of one file: both stay.
    volume.as_root([&](Call &call) { return rfs::link(call, first, kRootIno, "c"); });
    CHECK_FALSE(rename_as(volume, volume.root, { kRootIno, "b" }, { kRootIno, "c" }));
    CHECK(at(volume, kRootIno, "b") == first);
    CHECK(at(volume, kRootIno, "c") == first);
}

TEST_CASE("fs: only an empty directory is replaced, and only by a directory", "[unit]")
{
    TestVolume volume(2);
    uint32_t full = make_directory(volume, kRootIno, "full");
    uint32_t inner = make_directory(volume, full, "inner");
    uint32_t empty = make_directory(volume, kRootIno, "empty");
    uint32_t file = make_file(volume, kRootIno, "file");

    CHECK(error_of_rename(volume, { kRootIno, "file" }, { kRootIno, "empty" }) == EISDIR);
    CHECK(error_of_rename(volume, { kRootIno, "empty" }, { kRootIno, "file" }) == ENOTDIR);
    CHECK(error_of_rename(volume, { kRootIno, "empty" }, { kRootIno, "full" }) == ENOTEMPTY);
    CHECK(inode_of(volume, kRootIno).links == 4);

    auto replaced = rename_as(volume, volume.root, { full, "inner" }, { kRootIno, "empty" });

    REQUIRE(replaced);
    CHECK(replaced->ino == empty);
    CHECK(replaced->row.links == 0);
    CHECK(inode_of(volume, kRootIno).links == 4);
    CHECK(inode_of(volume, full).links == 2);
    CHECK(inode_of(volume, full).size == 0);
    CHECK(inode_of(volume, inner).parent == kRootIno);
    CHECK(at(volume, kRootIno, "file") == file);
}

TEST_CASE("fs: a directory cannot be moved into itself", "[unit]")
{
    TestVolume volume(2);
    uint32_t a = make_directory(volume, kRootIno, "a");
    uint32_t b = make_directory(volume, a, "b");
    uint32_t c = make_directory(volume, b, "c");

    CHECK(error_of_rename(volume, { kRootIno, "a" }, { c, "x" }) == EINVAL);
    CHECK(error_of_rename(volume, { kRootIno, "a" }, { a, "x" }) == EINVAL);
    CHECK(error_of_rename(volume, { b, "c" }, { kRootIno, "a" }) == ENOTEMPTY);
    CHECK(error_of_rename(volume, { b, "c" }, { kRootIno, "a" }, RENAME_EXCHANGE) == EINVAL);
    CHECK(error_of_rename(volume, { a, "b" }, { kRootIno, "b" }) == 0);
    CHECK(inode_of(volume, b).parent == kRootIno);
    CHECK(error_of_rename(volume, { kRootIno, "a" }, { c, "x" }) == 0); // not above any more
}

TEST_CASE("fs: flags of rename", "[unit]")
{
    TestVolume volume(2);
    uint32_t directory = make_directory(volume, kRootIno, "d");
    uint32_t below = make_directory(volume, directory, "e");
    uint32_t file = make_file(volume, kRootIno, "f");

    CHECK(error_of_rename(volume, { kRootIno, "f" }, { directory, "e" }, RENAME_NOREPLACE) ==
          EEXIST);
    CHECK(error_of_rename(volume, { kRootIno, "f" }, { directory, "g" }, RENAME_EXCHANGE) ==
          ENOENT);
    CHECK(error_of_rename(volume, { kRootIno, "f" }, { kRootIno, "g" }, RENAME_WHITEOUT) == EINVAL);
    CHECK(error_of_rename(volume, { kRootIno, "f" }, { kRootIno, "g" },
                          RENAME_NOREPLACE | RENAME_EXCHANGE) == EINVAL);
    CHECK(error_of_rename(volume, { kRootIno, "." }, { kRootIno, "g" }) == EBUSY);
    CHECK(error_of_rename(volume, { kRootIno, "f" }, { kRootIno, ".." }) == EBUSY);

    CHECK(error_of_rename(volume, { kRootIno, "f" }, { directory, "e" }, RENAME_EXCHANGE) == 0);
    CHECK(at(volume, kRootIno, "f") == below);
    CHECK(place_of(volume, kRootIno, "f").type == S_IFDIR >> 12);
    CHECK(at(volume, directory, "e") == file);
    CHECK(inode_of(volume, below).parent == kRootIno);
    CHECK(inode_of(volume, directory).links == 2);
    CHECK(inode_of(volume, kRootIno).links == 4);
    CHECK(inode_of(volume, kRootIno).size == 2);
    CHECK(error_of_rename(volume, { kRootIno, "f" }, { kRootIno, "g" }, RENAME_NOREPLACE) == 0);
}

TEST_CASE("fs: permissions of rename", "[unit]")
{
    TestVolume volume;
    rfs::Credentials user{ 10, 20 };
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t sticky = make(volume, volume.root, kRootIno, "sticky", S_IFDIR | 01777);
    auto error = [&](Spot from, Spot to) {
        return error_of([&] { (void)rename_as(volume, user, from, to); });
    };

    (void)make_file(volume, kRootIno, "f");
    (void)make_file(volume, sticky, "f");
    (void)make(volume, user, open, "own", S_IFREG | 0644);
    (void)make_directory(volume, open, "d");
    CHECK(error({ kRootIno, "f" }, { open, "f" }) == EACCES);
    CHECK(error({ open, "own" }, { kRootIno, "g" }) == EACCES);
    CHECK(error({ sticky, "f" }, { open, "f" }) == EPERM);
    CHECK(error({ open, "own" }, { sticky, "f" }) == EPERM);
    CHECK(error({ open, "d" }, { sticky, "d" }) == EACCES); // ".." of another's directory
    CHECK(error({ open, "d" }, { open, "e" }) == 0);
    CHECK(error({ open, "own" }, { sticky, "own" }) == 0);
}

// Each client moves one of two directories below the other: together they would make a loop that
// the root does not lead to.
TEST_CASE("fs: two renames at once do not make a loop of directories", "[unit]")
{
    TestVolume volume(2);
    uint32_t a = make_directory(volume, kRootIno, "a");
    uint32_t b = make_directory(volume, kRootIno, "b");
    std::atomic<int> moved = 0;

    for (int round = 0; round < 40; round++) {
        std::vector<std::thread> threads;

        for (bool first : { true, false })
            threads.emplace_back([&, first] {
                rfs::Client client(*volume.open);
                rfs::Credentials root;
                Spot from = first ? Spot{ kRootIno, "a" } : Spot{ kRootIno, "b" };
                Spot to = first ? Spot{ b, "a" } : Spot{ a, "b" };

                if (error_of([&] {
                        (void)client.call_now(
                            root, [&](Call &call) { return rfs::rename(call, from, to, 0); });
                    }) == 0)
                    moved++;
            });
        for (std::thread &thread : threads)
            thread.join();
        REQUIRE(moved == round + 1);

        bool first = at(volume, kRootIno, "a") == 0;
        Spot from = first ? Spot{ b, "a" } : Spot{ a, "b" };
        Spot to = first ? Spot{ kRootIno, "a" } : Spot{ kRootIno, "b" };

        REQUIRE(error_of_rename(volume, from, to) == 0);
    }
    CHECK(faults_below(volume) == "");
}
