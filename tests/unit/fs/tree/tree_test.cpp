// SPDX-License-Identifier: BSD-3-Clause
// Files and directories are created, linked and removed.
#include "core/tree/create.h"

#include "core/format/keys.h"
#include "core/tree/remove.h"
#include "unit/fs/volume.h"

#include <cerrno>
#include <set>
#include <thread>

using rfs::Call;
using rfs::Credentials;
using rfs::kRootIno;

namespace
{

rfs::Node remove_from(TestVolume &volume, const Credentials &who, uint32_t directory,
                      const std::string &name, bool directories)
{
    return volume.client->call_now(who, [&](Call &call) {
        return directories ? rfs::remove_directory(call, directory, name)
                           : rfs::remove_file(call, directory, name);
    });
}

int error_of_making(TestVolume &volume, const Credentials &who, uint32_t directory,
                    const std::string &name, uint32_t mode)
{
    return error_of([&] { (void)make(volume, who, directory, name, mode); });
}

int error_of_removing(TestVolume &volume, const Credentials &who, uint32_t directory,
                      const std::string &name, bool directories)
{
    return error_of([&] { (void)remove_from(volume, who, directory, name, directories); });
}

rfs::Node link_to(TestVolume &volume, uint32_t ino, uint32_t directory, const std::string &name)
{
    return volume.as_root([&](Call &call) { return rfs::link(call, ino, directory, name); });
}

const Credentials kUser{ 10, 20 };

} // namespace

TEST_CASE("fs: a directory counts its names and its directories", "[unit]")
{
    TestVolume volume(3, 2);
    rfs::InodeRow before = inode_of(volume, kRootIno);
    uint32_t directory = make_directory(volume, kRootIno, "d");
    uint32_t file = make_file(volume, directory, "f");
    rfs::InodeRow after = inode_of(volume, kRootIno);

    CHECK(before.links == 2);
    CHECK(after.links == 3);
    CHECK(after.size == 1);
    CHECK(after.mtime_ns > before.mtime_ns);
    CHECK(after.ctime_ns > before.ctime_ns);
    CHECK(after.data_version > before.data_version);
    CHECK(inode_of(volume, directory).size == 1);
    CHECK(inode_of(volume, directory).parent == kRootIno);
    CHECK(rfs::shard_of(file, 3) == rfs::shard_of(directory, 3));

    CHECK(error_of_removing(volume, volume.root, kRootIno, "d", false) == EISDIR);
    CHECK(error_of_removing(volume, volume.root, kRootIno, "d", true) == ENOTEMPTY);
    CHECK(error_of_removing(volume, volume.root, directory, "f", true) == ENOTDIR);
    CHECK(error_of_removing(volume, volume.root, directory, "g", false) == ENOENT);
    CHECK(error_of_removing(volume, volume.root, file, "g", false) == ENOTDIR);
    CHECK(remove_from(volume, volume.root, directory, "f", false).row.links == 0);
    CHECK(remove_from(volume, volume.root, kRootIno, "d", true).row.links == 0);
    CHECK(inode_of(volume, kRootIno).links == 2);
    CHECK(inode_of(volume, kRootIno).size == 0);
    CHECK(names_in(volume, kRootIno).empty());
    CHECK(error_of_making(volume, volume.root, directory, "f", S_IFREG) == ENOENT); // removed
}

TEST_CASE("fs: a file has as many names as it counts", "[unit]")
{
    TestVolume volume;
    uint32_t file = make_file(volume, kRootIno, "a");
    uint32_t directory = make_directory(volume, kRootIno, "d");

    CHECK(link_to(volume, file, directory, "b").row.links == 2);
    CHECK(place_of(volume, directory, "b").ino == file);
    CHECK(error_of([&] { (void)link_to(volume, file, directory, "b"); }) == EEXIST);
    CHECK(error_of([&] { (void)link_to(volume, directory, directory, "c"); }) == EPERM);
    CHECK(remove_from(volume, volume.root, kRootIno, "a", false).row.links == 1);
    CHECK(remove_from(volume, volume.root, directory, "b", false).row.links == 0);
    CHECK(error_of([&] { (void)link_to(volume, file, directory, "c"); }) == ENOENT);
}

TEST_CASE("fs: a file has at most 65000 names", "[unit]")
{
    TestVolume volume;
    uint32_t file = make_file(volume, kRootIno, "a");
    uint32_t directory = make_directory(volume, kRootIno, "d");

    for (uint32_t ino : { file, directory })
        volume.as_root([&](Call &call) -> dtx::Task<> {
            rfs::Node node = co_await rfs::held_inode(call, ino);

            node.row.links = rfs::kLinksMax - 1;
            co_await rfs::put(call, node);
        });
    CHECK(link_to(volume, file, kRootIno, "b").row.links == 65000);
    CHECK(error_of([&] { (void)link_to(volume, file, kRootIno, "c"); }) == EMLINK);
    CHECK(error_of_making(volume, volume.root, directory, "e", S_IFDIR) == 0);
    CHECK(error_of_making(volume, volume.root, directory, "f", S_IFDIR) == EMLINK);
    CHECK(error_of_making(volume, volume.root, directory, "f", S_IFREG) == 0);
}

TEST_CASE("fs: permissions are those of the directory", "[unit]")
{
    TestVolume volume;
    uint32_t closed = make(volume, volume.root, kRootIno, "closed", S_IFDIR | 0700);
    uint32_t read_only = make(volume, volume.root, kRootIno, "read", S_IFDIR | 0755);
    uint32_t sticky = make(volume, volume.root, kRootIno, "sticky", S_IFDIR | 01777);

    (void)make_file(volume, read_only, "f");
    (void)make_file(volume, sticky, "f");
    CHECK(error_of_making(volume, kUser, closed, "f", S_IFREG) == EACCES);
    CHECK(error_of_making(volume, kUser, read_only, "g", S_IFREG) == EACCES);
    CHECK(error_of_making(volume, kUser, read_only, "f", S_IFREG) == EEXIST); // before EACCES
    CHECK(error_of_removing(volume, kUser, read_only, "f", false) == EACCES);
    CHECK(error_of_making(volume, kUser, sticky, "g", S_IFREG) == 0);
    CHECK(error_of_removing(volume, kUser, sticky, "f", false) == EPERM);
    CHECK(error_of_removing(volume, kUser, sticky, "g", false) == 0);
}

TEST_CASE("fs: what is created belongs to the caller, or to the directory's group", "[unit]")
{
    TestVolume volume;
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t grouped = make(volume, Credentials{ 0, 99 }, kRootIno, "grouped", S_IFDIR | 02777);
    rfs::InodeRow own = inode_of(volume, make(volume, kUser, open, "f", S_IFREG | 0640));
    rfs::InodeRow file = inode_of(volume, make(volume, kUser, grouped, "f", S_IFREG | 0640));
    rfs::InodeRow below = inode_of(volume, make(volume, kUser, grouped, "d", S_IFDIR | 0755));

    CHECK((own.uid == 10 && own.gid == 20 && own.mode == (S_IFREG | 0640)));
    CHECK((file.uid == 10 && file.gid == 99 && file.mode == (S_IFREG | 0640)));
    CHECK((below.gid == 99 && below.mode == (S_IFDIR | 02755)));
}

TEST_CASE("fs: a symbolic link keeps targets of all lengths", "[unit]")
{
    TestVolume volume;

    for (size_t length : { 1, 127, 128, 129, 480, 481, 4095 }) {
        std::string name = "link" + std::to_string(length);
        std::string target(length, 'a');

        target.back() = 'z';
        uint32_t ino =
            volume
                .as_root([&](Call &call) {
                    return rfs::create(call, kRootIno, name, { S_IFLNK | 0777, 0, target });
                })
                .ino;

        CAPTURE(length);
        CHECK(volume.as_root([&](Call &call) { return rfs::read_link(call, ino); }) == target);
        CHECK(inode_of(volume, ino).size == length);
    }
    for (size_t length : { 0, 4096 }) {
        std::string target(length, 'a');

        CHECK(error_of([&] {
                  (void)volume.as_root([&](Call &call) {
                      return rfs::create(call, kRootIno, "l", { S_IFLNK | 0777, 0, target });
                  });
              }) == (length == 0 ? ENOENT : ENAMETOOLONG));
    }

    uint32_t file = make_file(volume, kRootIno, "f");

    CHECK(error_of([&] {
              (void)volume.as_root([&](Call &call) { return rfs::read_link(call, file); });
          }) == EINVAL);
}

TEST_CASE("fs: names, modes and places that cannot be are refused", "[unit]")
{
    TestVolume volume;

    CHECK(error_of_making(volume, volume.root, kRootIno, ".", S_IFDIR) == EEXIST);
    CHECK(error_of_making(volume, volume.root, kRootIno, "..", S_IFDIR) == EEXIST);
    CHECK(error_of_making(volume, volume.root, kRootIno, "f", 0644) == EINVAL);
    CHECK(error_of_making(volume, volume.root, 12345, "f", S_IFREG) == ESTALE);
    CHECK(error_of_removing(volume, volume.root, kRootIno, ".", true) == EINVAL);
    CHECK(error_of_removing(volume, volume.root, kRootIno, "..", true) == ENOTEMPTY);
    CHECK(error_of_removing(volume, volume.root, kRootIno, ".", false) == EISDIR);
}

TEST_CASE("fs: a volume without room for inodes is full, and none is lost", "[unit]")
{
    TestVolume volume(1, 1, "", { 60, 1 });
    std::set<std::string> names;
    std::string name;
    int error = 0;

    for (int i = 0; error == 0; i++) {
        name = "f" + std::to_string(i);
        error = error_of_making(volume, volume.root, kRootIno, name, S_IFREG);
        if (error == 0)
            names.insert(name);
        REQUIRE(i < 100);
    }
    CHECK(error == ENOSPC);
    CHECK(names.size() == 59); // and the root directory
    CHECK_FALSE(place_of(volume, kRootIno, name).is_taken());
    CHECK(names_in(volume, kRootIno).size() == names.size());
    CHECK(inode_of(volume, kRootIno).size == names.size());
}

TEST_CASE("fs: clients that create and remove in one directory lose nothing", "[unit]")
{
    constexpr int kClients = 3;
    constexpr int kFiles = 20;
    TestVolume volume(2, 2);
    std::vector<std::thread> threads;

    for (int c = 0; c < kClients; c++)
        threads.emplace_back([&, c] {
            rfs::Client client(*volume.open);
            rfs::Credentials root;

            for (int i = 0; i < kFiles; i++) {
                std::string name = std::to_string(c) + "-" + std::to_string(i);

                (void)client.call_now(root, [&](Call &call) {
                    return rfs::create(call, kRootIno, name, { S_IFREG | 0644 });
                });
                if (i % 2 != 0)
                    (void)client.call_now(
                        root, [&](Call &call) { return rfs::remove_file(call, kRootIno, name); });
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(inode_of(volume, kRootIno).size == kClients * kFiles / 2);
    CHECK(names_in(volume, kRootIno).size() == kClients * kFiles / 2);

    CHECK(faults_below(volume) == "");
}
