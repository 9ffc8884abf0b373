// SPDX-License-Identifier: BSD-3-Clause
// librpmfs: what it refuses, and what tests/fs/model_test.cpp does not reach.
#include <librpmfs.h>

#include "core/client/client.h"
#include "core/tree/inodes.h"
#include "unit/fs/lib/mounted.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

TEST_CASE("librpmfs: volumes that cannot be made or mounted are refused", "[unit]")
{
    Mounted volume(1);
    rfs_opts wrong = volume.opts;
    rfs_make_opts newer[2] = { volume.make, volume.make };

    CHECK(rfs_mount(&volume.opts, &volume.client) == -ENOENT);
    CHECK(std::string(rfs_last_error()).find("'library'") != std::string::npos);
    CHECK(rfs_make(nullptr, &volume.make) == -EINVAL);
    wrong.url_count = 0;
    CHECK(rfs_make(&wrong, &volume.make) == -EINVAL);
    wrong = volume.opts;
    wrong.name = nullptr;
    CHECK(rfs_make(&wrong, &volume.make) == -EINVAL);
    CHECK(rfs_mount(&wrong, &volume.client) == -EINVAL);
    newer[0].size = 2 * sizeof(newer[0]); // an option that this version does not know
    CHECK(rfs_make(&volume.opts, newer) == -EINVAL);
    std::memset(&newer[1], 0, sizeof(newer[1]));
    newer[0].bytes = 1 << 20; // less than a slab
    CHECK(rfs_make(&volume.opts, newer) == -EINVAL);
    newer[0].bytes = 1ull << 40;
    CHECK(rfs_make(&volume.opts, newer) == -ENOSPC);
    CHECK(std::string(rfs_last_error()) != "");
    CHECK(rfs_make(&volume.opts, &volume.make) == 0);
    CHECK(rfs_make(&volume.opts, &volume.make) == -EEXIST);
    CHECK(rfs_mount(&volume.opts, &volume.client) == 0);
    CHECK(rfs_mkdir(volume.client, nullptr, "/d", 0755) == -EINVAL);
    CHECK(rfs_mkdir(volume.client, &kRoot, nullptr, 0755) == -EINVAL);
    rfs_unmount(&volume.client);
    CHECK(volume.client == nullptr);
    rfs_unmount(&volume.client);
    rfs_unmount(nullptr);
}

TEST_CASE("librpmfs: the error text is that of the last call that failed", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    auto text_after = [&](auto call) {
        CHECK(rfs_make(&volume.opts, &volume.make) == -EEXIST);
        CHECK(std::string(rfs_last_error()).find("mkfs --force") != std::string::npos);
        CHECK(call() < 0);
        return std::string(rfs_last_error());
    };

    CHECK(text_after([&] { return rfs_mkdir(client, &kRoot, "/", 0700); }) == "");
    CHECK(text_after([&] { return rfs_mknod(client, &kRoot, "/d", S_IFDIR | 0700, 0); }) == "");
    CHECK(text_after([&] { return rfs_symlink(client, &kRoot, nullptr, "/l"); }) == "");
    CHECK(text_after([&] { return rfs_symlink(client, &kRoot, "", "/l"); }) == "");
    CHECK(text_after([&] { return rfs_close_async(nullptr, nullptr); }) == "");
    CHECK(text_after([&] { return rfs_cancel(client, nullptr); }) == "");
}

TEST_CASE("librpmfs: a file larger than a call is written and read in parts", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    std::string text((3 << 20) + 77, '\0');
    std::string found(text.size() + 5, '\0');

    for (size_t i = 0; i < text.size(); i++)
        text[i] = static_cast<char>(i * 31 + i / 4096);
    CHECK(rfs_pwrite(file, text.data(), text.size(), 10) == static_cast<ssize_t>(text.size()));
    CHECK(rfs_pread(file, found.data(), found.size(), 10) == static_cast<ssize_t>(text.size()));
    CHECK(found.compare(0, text.size(), text) == 0);
    rfs_close(&file);
    CHECK(file == nullptr);

    // A write that fails behind its first part says how much it has written.
    std::string large(12 << 20, 'x');

    file = opened(client, "/g", O_RDWR | O_CREAT);
    ssize_t got = rfs_pwrite(file, large.data(), large.size(), 0);

    CHECK(got > 0);
    CHECK(got < static_cast<ssize_t>(large.size()));
    CHECK(got % (1 << 20) == 0);
    CHECK(rfs_pwrite(file, large.data(), large.size(), static_cast<uint64_t>(got)) == -ENOSPC);
    rfs_close(&file);
    CHECK(rfs_unlink(client, &kRoot, "/g") == 0);
}

TEST_CASE("librpmfs: a file that is open is used without its name", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_client *other = nullptr;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    struct stat stat {
    };

    REQUIRE(rfs_mount(&volume.opts, &other) == 0);
    CHECK(rfs_pwrite(file, "text", 4, 0) == 4);
    CHECK(rfs_unlink(other, &kRoot, "/f") == 0);
    CHECK(rfs_stat(client, &kRoot, "/f", &stat) == -ENOENT);
    CHECK(rfs_turn(other) == 0);
    CHECK(contents(file) == "text");
    CHECK(rfs_pwrite(file, "more", 4, 4) == 4);
    CHECK(rfs_ftruncate(file, 6) == 0);
    CHECK(contents(file) == "textmo");
    CHECK(rfs_fstat(file, &stat) == 0);
    CHECK(stat.st_nlink == 0);
    CHECK(stat.st_size == 6);
    rfs_close(&file);
    rfs_unmount(&other);
}

TEST_CASE("librpmfs: what a file was opened for is all that can be done with it", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *reader = opened(client, "/f", O_RDONLY | O_CREAT);
    rfs_file *writer = opened(client, "/f", O_WRONLY | O_APPEND);
    char byte = 'a';

    CHECK(rfs_pwrite(reader, &byte, 1, 0) == -EBADF);
    CHECK(rfs_ftruncate(reader, 0) == -EBADF);
    CHECK(rfs_pread(writer, &byte, 1, 0) == -EBADF);
    CHECK(rfs_pwrite(writer, &byte, 1, 100) == 1); // behind the end, wherever the offset is
    CHECK(rfs_pwrite(writer, &byte, 1, 0) == 1);
    CHECK(contents(reader) == "aa");
    CHECK(rfs_pread(reader, nullptr, 1, 0) == -EINVAL);
    rfs_close(&reader);
    rfs_close(&writer);
    rfs_close(&writer);
    rfs_close(nullptr);
}

TEST_CASE("librpmfs: calls on a name that is too long are refused", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    std::string name = "/" + std::string(256, 'x');
    std::string longest = name.substr(0, 256);
    const char *path = name.c_str();
    rfs_file *file = nullptr;

    CHECK(rfs_open(client, &kRoot, path, O_WRONLY | O_CREAT | O_EXCL, 0600, &file) ==
          -ENAMETOOLONG);
    CHECK(file == nullptr);
    CHECK(rfs_mkdir(client, &kRoot, (name + "/").c_str(), 0700) == -ENAMETOOLONG);
    CHECK(rfs_rmdir(client, &kRoot, path) == -ENAMETOOLONG);
    CHECK(rfs_unlink(client, &kRoot, (name + "/").c_str()) == -ENAMETOOLONG);
    CHECK(rfs_mkdir(client, &kRoot, longest.c_str(), 0700) == 0);
    CHECK(rfs_rename(client, &kRoot, longest.c_str(), path, 0) == -ENAMETOOLONG);
    CHECK(rfs_rename(client, &kRoot, path, "/short", 0) == -ENAMETOOLONG);
}

TEST_CASE("librpmfs: a file loses its name although it cannot be freed", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    rfs::OpenVolume open = core_of(volume);
    rfs::Client other(open);
    struct stat stat {
    };

    REQUIRE(rfs_pwrite(file, "text", 4, 0) == 4);
    REQUIRE(rfs_fstat(file, &stat) == 0);
    rfs_close(&file);
    // Its pointer leads to a block that is free.
    other.call_now(rfs::kSelf, [&](rfs::Call &call) -> dtx::Task<> {
        rfs::Node node = co_await rfs::held_inode(call, static_cast<uint32_t>(stat.st_ino));

        node.row.pointers[0].place += 1u << 16;
        co_await rfs::put(call, node);
    });
    CHECK(rfs_unlink(client, &kRoot, "/f") == -EIO);
    CHECK(std::string(rfs_last_error()).find("damaged") != std::string::npos);
    CHECK(rfs_lstat(client, &kRoot, "/f", &stat) == -ENOENT);
}

TEST_CASE("librpmfs: blocks are allocated and freed, and holes found", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *reader = opened(client, "/f", O_RDONLY);
    struct stat stat {
    };

    CHECK(rfs_fallocate(file, 0, 100, 3 << 20) == 0);
    CHECK(rfs_fstat(file, &stat) == 0);
    CHECK(stat.st_size == (3 << 20) + 100);
    CHECK(stat.st_blocks == ((3 << 20) + 4096) / 512);
    CHECK(rfs_seek(file, 0, SEEK_DATA) == -ENXIO);
    CHECK(rfs_pwrite(file, "text", 4, 2 << 20) == 4);
    CHECK(rfs_seek(reader, 0, SEEK_DATA) == 2 << 20);
    CHECK(rfs_seek(reader, 2 << 20, SEEK_HOLE) == (2 << 20) + 4096);
    CHECK(rfs_fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 << 20) == 0);
    CHECK(rfs_fstat(file, &stat) == 0);
    CHECK(stat.st_blocks == ((1 << 20) + 4096) / 512);
    CHECK(rfs_fallocate(file, FALLOC_FL_ZERO_RANGE, 2 << 20, 2) == 0);
    CHECK(contents(file) == std::string(1000, '\0'));

    char bytes[4];

    CHECK(rfs_pread(file, bytes, sizeof(bytes), 2 << 20) == 4);
    CHECK(std::string(bytes, 4) == std::string("\0\0xt", 4));

    CHECK(rfs_fallocate(reader, 0, 0, 1) == -EBADF);
    CHECK(rfs_fallocate(reader, 0, 0, 0) == -EINVAL); // first, as in the kernel
    CHECK(rfs_fallocate(reader, FALLOC_FL_PUNCH_HOLE, 0, 1) == -EOPNOTSUPP);
    CHECK(rfs_fallocate(file, 0, 1ull << 44, 1) == -EFBIG);
    CHECK(rfs_fallocate(file, 0, 0, 1ull << 43) == -ENOSPC);
    CHECK(rfs_seek(file, 1ull << 62, SEEK_HOLE) == -ENXIO);
    CHECK(rfs_seek(file, 0, SEEK_END) == -EINVAL);
    rfs_close(&file);
    rfs_close(&reader);
}

TEST_CASE("librpmfs: a directory is read in parts, and from a place in it", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_dir *dir = nullptr;
    rfs_dirent entry{};
    std::vector<rfs_dirent> all;
    std::set<std::string> names;

    for (int i = 0; i < 200; i++) {
        std::string path = "/d" + std::to_string(i);

        REQUIRE(rfs_mkdir(client, &kRoot, path.c_str(), 0755) == 0);
    }
    REQUIRE(rfs_opendir(client, &kRoot, "/", &dir) == 0);
    while (rfs_readdir(dir, &entry) == 1) {
        all.push_back(entry);
        CHECK(names.insert(entry.name).second);
    }
    CHECK(all.size() == 202);
    CHECK(std::string(all[0].name) == ".");
    CHECK(std::string(all[1].name) == "..");
    CHECK(rfs_readdir(dir, &entry) == 0);
    for (size_t at : { 0, 1, 2, 77, 200 }) {
        rfs_seekdir(dir, all[at].cookie);
        CHECK(rfs_readdir(dir, &entry) == 1);
        CHECK(std::string(entry.name) == all[at + 1].name);
        CHECK(entry.ino == all[at + 1].ino);
    }
    rfs_seekdir(dir, 0);
    CHECK(rfs_readdir(dir, &entry) == 1);
    CHECK(std::string(entry.name) == ".");
    rfs_closedir(&dir);
    CHECK(dir == nullptr);
    rfs_closedir(&dir);
    CHECK(rfs_opendir(client, &kRoot, "/none", &dir) == -ENOENT);
}

TEST_CASE("librpmfs: times are set and read, before 1970 as well", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    timespec times[2] = { { -1, 999999999 }, { 1700000000, 5 } };
    struct stat stat {
    };

    REQUIRE(rfs_mknod(client, &kRoot, "/null", S_IFCHR | 0666, makedev(1, 3)) == 0);
    CHECK(rfs_utimens(client, &kRoot, "/null", times) == 0);
    REQUIRE(rfs_stat(client, &kRoot, "/null", &stat) == 0);
    CHECK((stat.st_atim.tv_sec == -1 && stat.st_atim.tv_nsec == 999999999));
    CHECK((stat.st_mtim.tv_sec == 1700000000 && stat.st_mtim.tv_nsec == 5));
    CHECK(stat.st_rdev == makedev(1, 3));
    CHECK(S_ISCHR(stat.st_mode));
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_nsec = UTIME_NOW;
    CHECK(rfs_utimens(client, &kRoot, "/null", times) == 0);
    REQUIRE(rfs_stat(client, &kRoot, "/null", &stat) == 0);
    CHECK(stat.st_atim.tv_sec == -1);
    CHECK(stat.st_mtim.tv_sec > 1700000000);
    times[0].tv_nsec = 1000000000;
    CHECK(rfs_utimens(client, &kRoot, "/null", times) == -EINVAL);
    CHECK(rfs_utimens(client, &kRoot, "/null", nullptr) == 0);
}

TEST_CASE("librpmfs: times that stay are no change of a file", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    timespec times[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };
    const rfs_cred other{ 11, 11, nullptr, 0 };
    struct stat before {
    };
    struct stat stat {
    };

    REQUIRE(rfs_mknod(client, &kRoot, "/f", S_IFREG | 0600, 0) == 0);
    REQUIRE(rfs_stat(client, &kRoot, "/f", &before) == 0);
    CHECK(rfs_utimens(client, &other, "/f", times) == 0);
    REQUIRE(rfs_stat(client, &kRoot, "/f", &stat) == 0);
    CHECK(stat.st_ctim.tv_sec == before.st_ctim.tv_sec);
    CHECK(stat.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

TEST_CASE("librpmfs: attributes are handed out as by the system calls", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    const rfs_cred other{ 11, 11, nullptr, 0 };
    char bytes[100] = "";

    rfs_close(&file);
    REQUIRE(rfs_symlink(client, &kRoot, "f", "/l") == 0);
    CHECK(rfs_setxattr(client, &kRoot, "/l", "user.one", "value", 5, XATTR_CREATE) == 0);
    CHECK(rfs_setxattr(client, &kRoot, "/f", "user.one", "value", 5, XATTR_CREATE) == -EEXIST);
    CHECK(rfs_setxattr(client, &kRoot, "/f", "user.two", nullptr, 0, 0) == 0);
    CHECK(rfs_lsetxattr(client, &kRoot, "/l", "user.one", "value", 5, 0) == -EPERM);
    CHECK(rfs_lsetxattr(client, &kRoot, "/l", "trusted.link", "of l", 4, 0) == 0);

    CHECK(rfs_getxattr(client, &kRoot, "/f", "user.one", nullptr, 0) == 5);
    CHECK(rfs_getxattr(client, &kRoot, "/f", "user.one", bytes, 4) == -ERANGE);
    CHECK(std::string(bytes) == "");
    CHECK(rfs_getxattr(client, &kRoot, "/l", "user.one", bytes, 5) == 5);
    CHECK(std::string(bytes) == "value");
    CHECK(rfs_getxattr(client, &kRoot, "/f", "user.two", bytes, sizeof(bytes)) == 0);
    CHECK(rfs_getxattr(client, &kRoot, "/l", "trusted.link", bytes, 100) == -ENODATA);
    CHECK(rfs_lgetxattr(client, &kRoot, "/l", "trusted.link", bytes, 100) == 4);
    CHECK(std::string(bytes, 4) == "of l");
    CHECK(rfs_lgetxattr(client, &other, "/l", "trusted.link", bytes, 100) == -ENODATA);

    CHECK(rfs_listxattr(client, &kRoot, "/l", nullptr, 0) == 18);
    CHECK(rfs_listxattr(client, &kRoot, "/l", bytes, 17) == -ERANGE);
    CHECK(rfs_listxattr(client, &other, "/l", bytes, sizeof(bytes)) == 18);
    CHECK(std::string(bytes, 18) == std::string("user.one\0user.two\0", 18));
    CHECK(rfs_llistxattr(client, &kRoot, "/l", bytes, sizeof(bytes)) == 13);
    CHECK(rfs_llistxattr(client, &other, "/l", bytes, sizeof(bytes)) == 0);

    CHECK(rfs_removexattr(client, &other, "/l", "user.one") == -EACCES);
    CHECK(rfs_removexattr(client, &kRoot, "/l", "user.one") == 0);
    CHECK(rfs_removexattr(client, &kRoot, "/l", "user.one") == -ENODATA);
    CHECK(rfs_lremovexattr(client, &kRoot, "/l", "trusted.link") == 0);
    CHECK(rfs_llistxattr(client, &kRoot, "/l", nullptr, 0) == 0);
    CHECK(rfs_listxattr(client, &kRoot, "/f", nullptr, 0) == 9);
}

TEST_CASE("librpmfs: attributes are refused that are too large, or not given", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    std::string value(65536 - 4 - 6, 'v'); // with its name and head: all that a file has
    std::string found(value.size(), '?');

    CHECK(rfs_setxattr(client, &kRoot, "/", "user.a", value.data(), value.size(), 0) == 0);
    CHECK(rfs_getxattr(client, &kRoot, "/", "user.a", found.data(), found.size()) == 65526);
    CHECK((found == value));
    CHECK(rfs_setxattr(client, &kRoot, "/", "user.b", "", 0, 0) == -ENOSPC);
    value.resize(65537);
    CHECK(rfs_setxattr(client, &kRoot, "/", "user.a", value.data(), value.size(), 0) == -E2BIG);
    CHECK(rfs_setxattr(client, &kRoot, "/none", "user.a", "", 0, 0) == -ENOENT);
    CHECK(rfs_setxattr(client, &kRoot, "/", "user.a", nullptr, 1, 0) == -EINVAL);
    CHECK(rfs_setxattr(client, &kRoot, "/", nullptr, "", 0, 0) == -EINVAL);
    CHECK(rfs_setxattr(client, &kRoot, nullptr, "user.a", "", 0, 0) == -EINVAL);
    CHECK(rfs_getxattr(client, &kRoot, "/", "user.a", nullptr, 1) == -EINVAL);
    CHECK(rfs_getxattr(client, nullptr, "/", "user.a", nullptr, 0) == -EINVAL);
    CHECK(rfs_listxattr(client, &kRoot, "/", nullptr, 1) == -EINVAL);
    CHECK(rfs_removexattr(client, &kRoot, "/", nullptr) == -EINVAL);
}
