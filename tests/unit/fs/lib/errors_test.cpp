// SPDX-License-Identifier: BSD-3-Clause
// The errors that the headers of librpmfs list for calls on paths and open files.
#include <librpmfs.h>

#include "unit/fs/lib/mounted.h"

#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static const rfs_cred kUser{ 11, 11, nullptr, 0 };
static const rfs_cred kNoGroups{ 0, 0, nullptr, 1 };
static constexpr uint64_t kFileMax = 16ull << 40;

namespace
{

// All belongs to user 0. /d has the sticky bit, and every user may write it.
struct Files {
    Files()
    {
        REQUIRE(rfs_mkdir(client, &kRoot, "/d", 01777) == 0);
        REQUIRE(rfs_mkdir(client, &kRoot, "/d/sub", 0755) == 0);
        REQUIRE(rfs_mkdir(client, &kRoot, "/closed", 0700) == 0);
        REQUIRE(rfs_mknod(client, &kRoot, "/closed/f", S_IFREG | 0666, 0) == 0);
        REQUIRE(rfs_mknod(client, &kRoot, "/f", S_IFREG | 0600, 0) == 0);
        REQUIRE(rfs_link(client, &kRoot, "/f", "/d/hard") == 0);
        REQUIRE(rfs_mknod(client, &kUser, "/d/null", S_IFCHR | 0666, makedev(1, 3)) == 0);
        REQUIRE(rfs_symlink(client, &kRoot, "f", "/l") == 0);
        REQUIRE(rfs_symlink(client, &kRoot, "d", "/ld") == 0);
        REQUIRE(rfs_symlink(client, &kRoot, "nowhere", "/dangling") == 0);
        REQUIRE(rfs_symlink(client, &kRoot, "/loop", "/loop") == 0);
    }
    int open(const rfs_cred &who, const char *path, int flags)
    {
        rfs_close(&file);
        return rfs_open(client, &who, path, flags, 0600, &file);
    }
    ~Files()
    {
        rfs_close(&file);
    }
    Files(const Files &) = delete;
    Files &operator=(const Files &) = delete;

    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = nullptr;
    struct stat stat {
    };
};

} // namespace

TEST_CASE("librpmfs: a path that leads nowhere has the errors of tree.h", "[unit]")
{
    Files in;
    std::string name = "/" + std::string(256, 'x');
    std::string path = "/" + std::string(5000, '/');

    CHECK(rfs_stat(in.client, &kRoot, "/none", &in.stat) == -ENOENT);
    CHECK(rfs_stat(in.client, &kRoot, "", &in.stat) == -ENOENT);
    CHECK(rfs_stat(in.client, &kRoot, "/f/x", &in.stat) == -ENOTDIR);
    CHECK(rfs_stat(in.client, &kRoot, "/f/", &in.stat) == -ENOTDIR);
    CHECK(rfs_stat(in.client, &kUser, "/closed/f", &in.stat) == -EACCES);
    CHECK(rfs_stat(in.client, &kRoot, "/loop", &in.stat) == -ELOOP);
    CHECK(rfs_stat(in.client, &kRoot, name.c_str(), &in.stat) == -ENAMETOOLONG);
    CHECK(rfs_stat(in.client, &kRoot, path.c_str(), &in.stat) == -ENAMETOOLONG);
    CHECK(rfs_stat(in.client, nullptr, "/f", &in.stat) == -EINVAL);
    CHECK(rfs_stat(in.client, &kNoGroups, "/f", &in.stat) == -EINVAL);
    CHECK(rfs_stat(in.client, &kRoot, nullptr, &in.stat) == -EINVAL);
    CHECK(rfs_stat(in.client, &kRoot, "/f", nullptr) == -EINVAL);
    CHECK(rfs_stat(in.client, &kRoot, "/..", &in.stat) == 0);
    CHECK(rfs_lstat(in.client, &kRoot, "/ld", &in.stat) == 0);
    CHECK(S_ISLNK(in.stat.st_mode));
    CHECK(rfs_lstat(in.client, &kRoot, "/ld/", &in.stat) == 0);
    CHECK(S_ISDIR(in.stat.st_mode));
}

TEST_CASE("librpmfs: what cannot be created or linked is refused", "[unit]")
{
    Files in;
    std::string target(4096, 't');

    CHECK(rfs_mkdir(in.client, &kRoot, "/", 0700) == -EEXIST);
    CHECK(rfs_mkdir(in.client, &kRoot, "/d/", 0700) == -EEXIST);
    CHECK(rfs_mkdir(in.client, &kRoot, "/dangling", 0700) == -EEXIST);
    CHECK(rfs_mkdir(in.client, &kUser, "/x", 0700) == -EACCES);
    CHECK(rfs_mknod(in.client, &kRoot, "/x", S_IFDIR | 0700, 0) == -EINVAL);
    CHECK(rfs_mknod(in.client, &kRoot, "/x", 0600, 0) == -EINVAL);
    CHECK(rfs_mknod(in.client, &kRoot, "/f", S_IFIFO | 0600, 0) == -EEXIST);
    CHECK(rfs_mknod(in.client, &kRoot, "/x/", S_IFIFO | 0600, 0) == -ENOENT);
    CHECK(rfs_mknod(in.client, &kUser, "/x", S_IFIFO | 0600, 0) == -EACCES);
    CHECK(rfs_symlink(in.client, &kRoot, target.c_str(), "/x") == -ENAMETOOLONG);
    target.pop_back();
    CHECK(rfs_symlink(in.client, &kRoot, target.c_str(), "/d/long") == 0);
    CHECK(rfs_symlink(in.client, &kRoot, "t", "/f") == -EEXIST);
    CHECK(rfs_symlink(in.client, &kUser, "t", "/x") == -EACCES);
    CHECK(rfs_symlink(in.client, &kRoot, "", "/x") == -ENOENT);
    CHECK(rfs_symlink(in.client, &kRoot, nullptr, "/x") == -EINVAL);
    CHECK(rfs_link(in.client, &kRoot, "/d", "/x") == -EPERM);
    CHECK(rfs_link(in.client, &kRoot, "/ld/", "/x") == -EPERM);
    CHECK(rfs_link(in.client, &kRoot, "/f", "/l") == -EEXIST);
    CHECK(rfs_link(in.client, &kRoot, "/f", "/") == -EEXIST);
    CHECK(rfs_link(in.client, &kRoot, "/f", "/x/") == -ENOENT);
    CHECK(rfs_link(in.client, &kUser, "/f", "/x") == -EACCES);
    CHECK(rfs_link(in.client, &kUser, "/f", "/d/f") == 0);
    CHECK(rfs_link(in.client, &kRoot, "/l", "/d/l") == 0);
    CHECK(rfs_lstat(in.client, &kRoot, "/d/l", &in.stat) == 0);
    CHECK(S_ISLNK(in.stat.st_mode));
}

TEST_CASE("librpmfs: names that must stay are not removed", "[unit]")
{
    Files in;

    CHECK(rfs_unlink(in.client, &kRoot, "/d") == -EISDIR);
    CHECK(rfs_unlink(in.client, &kRoot, "/") == -EISDIR);
    CHECK(rfs_unlink(in.client, &kRoot, "/.") == -EISDIR);
    CHECK(rfs_unlink(in.client, &kRoot, "/f/") == -ENOTDIR);
    CHECK(rfs_unlink(in.client, &kRoot, "/ld/") == -ENOTDIR);
    CHECK(rfs_unlink(in.client, &kUser, "/f") == -EACCES);
    CHECK(rfs_unlink(in.client, &kUser, "/d/hard") == -EPERM);
    CHECK(rfs_rmdir(in.client, &kRoot, "/d") == -ENOTEMPTY);
    CHECK(rfs_rmdir(in.client, &kRoot, "/d/..") == -ENOTEMPTY);
    CHECK(rfs_rmdir(in.client, &kRoot, "/d/.") == -EINVAL);
    CHECK(rfs_rmdir(in.client, &kRoot, "/") == -EBUSY);
    CHECK(rfs_rmdir(in.client, &kRoot, "/f") == -ENOTDIR);
    CHECK(rfs_rmdir(in.client, &kUser, "/closed") == -EACCES);
    CHECK(rfs_rmdir(in.client, &kUser, "/d/sub") == -EPERM);
}

TEST_CASE("librpmfs: renames that cannot be are refused", "[unit]")
{
    Files in;
    auto rename = [&in](const rfs_cred &who, const char *from, const char *to, unsigned int flags) {
        return rfs_rename(in.client, &who, from, to, flags);
    };

    CHECK(rename(kRoot, "/f", "/l", RFS_RENAME_NOREPLACE) == -EEXIST);
    CHECK(rename(kRoot, "/none", "/x", 0) == -ENOENT);
    CHECK(rename(kRoot, "/f", "/x", RFS_RENAME_EXCHANGE) == -ENOENT);
    CHECK(rename(kUser, "/f", "/x", 0) == -EACCES);
    CHECK(rename(kUser, "/d/hard", "/d/x", 0) == -EPERM);
    CHECK(rename(kRoot, "/f", "/d", 0) == -EISDIR);
    CHECK(rename(kRoot, "/d", "/f", 0) == -ENOTDIR);
    CHECK(rename(kRoot, "/f", "/x/", 0) == -ENOTDIR);
    CHECK(rename(kRoot, "/closed", "/d", 0) == -ENOTEMPTY);
    CHECK(rename(kRoot, "/d/sub", "/d", 0) == -ENOTEMPTY);
    CHECK(rename(kRoot, "/d", "/d/sub/x", 0) == -EINVAL);
    CHECK(rename(kRoot, "/f", "/x", RFS_RENAME_NOREPLACE | RFS_RENAME_EXCHANGE) == -EINVAL);
    CHECK(rename(kRoot, "/", "/x", 0) == -EBUSY);
    CHECK(rename(kRoot, "/f", "/", 0) == -EBUSY);
    CHECK(rename(kRoot, "/d/.", "/x", 0) == -EBUSY);
    CHECK(rename(kRoot, "/f", "/d/hard", 0) == 0); // two names of one file
    CHECK(rfs_lstat(in.client, &kRoot, "/f", &in.stat) == 0);
    REQUIRE(rfs_mkdir(in.client, &kUser, "/d/own", 0500) == 0);
    REQUIRE(rfs_mkdir(in.client, &kRoot, "/open", 0777) == 0);
    CHECK(rename(kUser, "/d/own", "/open/own", 0) == -EACCES);
}

TEST_CASE("librpmfs: attributes that a caller may not change stay", "[unit]")
{
    Files in;
    timespec times[2] = { { 0, 0 }, { 0, 0 } };
    char bytes[8];

    CHECK(rfs_access(in.client, &kUser, "/f", R_OK) == -EACCES);
    CHECK(rfs_access(in.client, &kUser, "/f", F_OK) == 0);
    CHECK(rfs_access(in.client, &kRoot, "/f", X_OK) == -EACCES);
    CHECK(rfs_access(in.client, &kRoot, "/f", 8) == -EINVAL);
    CHECK(rfs_chmod(in.client, &kUser, "/f", 0777) == -EPERM);
    CHECK(rfs_chown(in.client, &kUser, "/f", 11, UINT32_MAX) == -EPERM);
    CHECK(rfs_lchown(in.client, &kUser, "/l", 11, UINT32_MAX) == -EPERM);
    CHECK(rfs_utimens(in.client, &kUser, "/f", times) == -EPERM);
    CHECK(rfs_utimens(in.client, &kUser, "/f", nullptr) == -EACCES);
    times[0].tv_sec = INT64_MAX / 1000000000;
    CHECK(rfs_utimens(in.client, &kRoot, "/f", times) == -EINVAL);
    CHECK(rfs_truncate(in.client, &kRoot, "/d", 0) == -EISDIR);
    CHECK(rfs_truncate(in.client, &kRoot, "/d/null", 0) == -EINVAL);
    CHECK(rfs_truncate(in.client, &kUser, "/f", 0) == -EACCES);
    CHECK(rfs_truncate(in.client, &kRoot, "/f", kFileMax + 1) == -EFBIG);
    CHECK(rfs_truncate(in.client, &kRoot, "/f", kFileMax) == 0);
    CHECK(rfs_readlink(in.client, &kRoot, "/f", bytes, 8) == -EINVAL);
    CHECK(rfs_readlink(in.client, &kRoot, "/ld/", bytes, 8) == -EINVAL);
    CHECK(rfs_readlink(in.client, &kRoot, "/l", nullptr, 8) == -EINVAL);
    CHECK(rfs_readlink(in.client, &kRoot, "/l", bytes, 0) == -EINVAL);
    CHECK(rfs_readlink(in.client, &kUser, "/dangling", bytes, 3) == 3);
    // The group is chosen among those of the owner, and the set-ID bits go.
    REQUIRE(rfs_chmod(in.client, &kRoot, "/f", 06777) == 0);
    CHECK(rfs_chown(in.client, &kRoot, "/f", 11, 12) == 0);
    CHECK(rfs_stat(in.client, &kRoot, "/f", &in.stat) == 0);
    CHECK((in.stat.st_mode & 07777) == 0777);
    CHECK(rfs_chmod(in.client, &kUser, "/f", 02755) == 0);
    CHECK(rfs_stat(in.client, &kRoot, "/f", &in.stat) == 0);
    CHECK((in.stat.st_mode & 07777) == 0755);
    CHECK(rfs_chown(in.client, &kUser, "/f", UINT32_MAX, 13) == -EPERM);
    CHECK(rfs_chown(in.client, &kUser, "/f", UINT32_MAX, 11) == 0);
}

TEST_CASE("librpmfs: extended attributes have the errors of xattrs.h", "[unit]")
{
    Files in;
    std::string value(65537, 'v');
    std::string name(256, 'n');
    char bytes[100];
    auto set = [&in](const rfs_cred &who, const char *path, const char *attribute) {
        return rfs_setxattr(in.client, &who, path, attribute, "v", 1, 0);
    };
    auto get = [&](const rfs_cred &who, const char *path, const char *attribute) {
        return rfs_getxattr(in.client, &who, path, attribute, bytes, sizeof(bytes));
    };
    auto remove = [&in](const rfs_cred &who, const char *path, const char *attribute) {
        return rfs_removexattr(in.client, &who, path, attribute);
    };

    CHECK(set(kRoot, "/f", "") == -ERANGE);
    CHECK(set(kRoot, "/f", name.c_str()) == -ERANGE);
    CHECK(set(kRoot, "/f", "other.x") == -EOPNOTSUPP);
    CHECK(set(kRoot, "/f", "user.") == -EINVAL);
    CHECK(set(kRoot, "/f", nullptr) == -EINVAL);
    CHECK(set(kUser, "/f", "user.x") == -EACCES);
    CHECK(set(kUser, "/f", "trusted.x") == -EPERM);
    CHECK(set(kUser, "/f", "security.x") == -EPERM);
    CHECK(set(kRoot, "/d/null", "user.x") == -EPERM);
    CHECK(set(kUser, "/d", "user.x") == -EPERM);
    CHECK(rfs_setxattr(in.client, &kRoot, "/f", "user.x", "v", 1, 8) == -EINVAL);
    CHECK(rfs_setxattr(in.client, &kRoot, "/f", "user.x", nullptr, 1, 0) == -EINVAL);
    CHECK(rfs_setxattr(in.client, &kRoot, "/f", "user.x", value.data(), 65537, 0) == -E2BIG);
    CHECK(rfs_setxattr(in.client, &kRoot, "/f", "user.x", value.data(), 65536, 0) == -ENOSPC);
    CHECK(rfs_setxattr(in.client, &kRoot, "/f", "user.x", "v", 1, XATTR_REPLACE) == -ENODATA);
    for (const char *each : { "user.x", "trusted.x", "security.x" })
        REQUIRE(set(kRoot, "/f", each) == 0);
    CHECK(get(kUser, "/f", "user.x") == -EACCES);
    CHECK(get(kUser, "/f", "security.x") == 1);
    CHECK(get(kUser, "/f", "trusted.x") == -ENODATA);
    CHECK(get(kRoot, "/d/null", "user.x") == -ENODATA);
    CHECK(get(kRoot, "/f", "user.y") == -ENODATA);
    CHECK(get(kRoot, "/f", "other.x") == -EOPNOTSUPP);
    CHECK(rfs_getxattr(in.client, &kRoot, "/f", "user.x", nullptr, 1) == -EINVAL);
    CHECK(rfs_listxattr(in.client, &kUser, "/f", bytes, 100) == 7 + 11); // without trusted.x
    CHECK(rfs_listxattr(in.client, &kRoot, "/f", bytes, 100) == 7 + 11 + 10);
    CHECK(rfs_listxattr(in.client, &kRoot, "/f", bytes, 5) == -ERANGE);
    CHECK(rfs_listxattr(in.client, &kRoot, "/f", nullptr, 5) == -EINVAL);
    CHECK(remove(kRoot, "/f", "user.y") == -ENODATA);
    CHECK(remove(kUser, "/f", "user.x") == -EACCES);
    CHECK(remove(kUser, "/f", "trusted.x") == -EPERM);
    CHECK(remove(kRoot, "/f", "") == -ERANGE);
    CHECK(remove(kRoot, "/f", "other.x") == -EOPNOTSUPP);
    CHECK(remove(kRoot, "/f", nullptr) == -EINVAL);
    CHECK(rfs_lremovexattr(in.client, &kRoot, "/l", "user.x") == -EPERM);
    CHECK(rfs_lgetxattr(in.client, &kRoot, "/l", "user.x", bytes, 100) == -ENODATA);
}

TEST_CASE("librpmfs: directories that cannot be read are not opened", "[unit]")
{
    Files in;
    rfs_dir *dir = nullptr;
    rfs_dirent entry{};

    CHECK(rfs_opendir(in.client, &kRoot, "/f", &dir) == -ENOTDIR);
    CHECK(rfs_opendir(in.client, &kUser, "/closed", &dir) == -EACCES);
    CHECK(rfs_opendir(in.client, &kRoot, "/d", nullptr) == -EINVAL);
    REQUIRE(rfs_opendir(in.client, &kRoot, "/d/sub", &dir) == 0);
    REQUIRE(rfs_rmdir(in.client, &kRoot, "/d/sub") == 0);
    CHECK(rfs_readdir(dir, nullptr) == -EINVAL);
    CHECK(rfs_readdir(dir, &entry) == 1);
    CHECK(entry.type == DT_DIR);
    CHECK(rfs_readdir(dir, &entry) == 1);
    CHECK(rfs_readdir(dir, &entry) == 0);
    rfs_closedir(&dir);
    rfs_closedir(nullptr);
}

TEST_CASE("librpmfs: open files have the errors of file.h", "[unit]")
{
    Files in;
    char byte = 'a';

    CHECK(in.open(kRoot, "/f", O_RDWR | O_CREAT | O_EXCL) == -EEXIST);
    CHECK(in.open(kRoot, "/d", O_WRONLY) == -EISDIR);
    CHECK(in.open(kRoot, "/d", O_RDONLY | O_CREAT) == -EISDIR);
    CHECK(in.open(kRoot, "/d", O_RDONLY | O_TRUNC) == -EISDIR);
    CHECK(in.open(kRoot, "/x/", O_RDWR | O_CREAT) == -EISDIR);
    CHECK(in.open(kUser, "/f", O_RDONLY) == -EACCES);
    CHECK(in.open(kUser, "/x", O_RDWR | O_CREAT) == -EACCES);
    CHECK(in.open(kRoot, "/f", O_RDONLY | O_DIRECTORY) == -ENOTDIR);
    CHECK(in.open(kRoot, "/l", O_RDONLY | O_NOFOLLOW) == -ELOOP);
    CHECK(in.open(kRoot, "/f", O_ACCMODE) == -EINVAL);
    CHECK(in.open(kRoot, "/x", O_RDWR | O_CREAT | O_DIRECTORY) == -EINVAL);
    CHECK(rfs_open(in.client, &kRoot, "/f", O_RDONLY, 0, nullptr) == -EINVAL);
    REQUIRE(in.open(kRoot, "/d/null", O_RDWR) == 0);
    CHECK(rfs_pread(in.file, &byte, 1, 0) == -EINVAL);
    CHECK(rfs_pwrite(in.file, &byte, 1, 0) == -EINVAL);
    CHECK(rfs_ftruncate(in.file, 0) == -EINVAL);
    CHECK(rfs_fallocate(in.file, 0, 0, 1) == -ENODEV);
    CHECK(rfs_seek(in.file, 0, SEEK_DATA) == -EINVAL);
    REQUIRE(in.open(kRoot, "/d", O_RDONLY) == 0);
    CHECK(rfs_pread(in.file, &byte, 1, 0) == -EISDIR);
    CHECK(rfs_seek(in.file, 0, SEEK_DATA) == -EISDIR);
    REQUIRE(in.open(kRoot, "/f", O_RDWR) == 0);
    CHECK(rfs_pwrite(in.file, &byte, 1, kFileMax) == -EFBIG);
    CHECK(rfs_pwrite(in.file, nullptr, 1, 0) == -EINVAL);
    CHECK(rfs_pread(in.file, &byte, size_t{ SSIZE_MAX } + 1, 0) == -EINVAL);
    CHECK(rfs_ftruncate(in.file, kFileMax + 1) == -EFBIG);
    CHECK(rfs_fallocate(in.file, 0, 0, 0) == -EINVAL);
    CHECK(rfs_fallocate(in.file, 64, 0, 1) == -EOPNOTSUPP);
    CHECK(rfs_fallocate(in.file, 0, kFileMax, 1) == -EFBIG);
    CHECK(rfs_fallocate(in.file, 0, 0, 64 << 20) == -ENOSPC);
    CHECK(rfs_seek(in.file, kFileMax, SEEK_DATA) == -ENXIO);
    CHECK(rfs_seek(in.file, 0, 7) == -EINVAL);
    CHECK(rfs_fstat(in.file, nullptr) == -EINVAL);
}

TEST_CASE("librpmfs: a submission fails for its arguments, a completion for the file", "[unit]")
{
    Files in;
    rfs_completion done{};
    rfs_lock_range range{ INT64_MAX, 2, 0, 0, F_WRLCK };
    auto result = [&in, &done] {
        CHECK(rfs_wait(in.client, &done, 1, 1, kForEver) == 1);
        return done.result;
    };

    REQUIRE(in.open(kRoot, "/f", O_RDWR) == 0);
    CHECK(rfs_lock(in.file, &range, 0) == -EINVAL);
    CHECK(rfs_lock_async(in.file, &range, 0, nullptr) == -EINVAL);
    CHECK(rfs_flock(in.file, 77, 0) == -EINVAL);
    CHECK(rfs_flock_async(in.file, 77, 0, nullptr) == -EINVAL);
    CHECK(rfs_open_async(in.client, &kRoot, "/f", 0, 0, nullptr, nullptr) == -EINVAL);
    CHECK(rfs_stat_async(in.client, &kNoGroups, "/f", &in.stat, nullptr) == -EINVAL);
    CHECK(rfs_mkdir_async(in.client, &kRoot, nullptr, 0, nullptr) == -EINVAL);
    REQUIRE(rfs_stat_async(in.client, &kRoot, "/f", nullptr, nullptr) == 0);
    CHECK(result() == -EINVAL);
    REQUIRE(rfs_rename_async(in.client, &kRoot, "/f", "/x", 3, nullptr) == 0);
    CHECK(result() == -EINVAL);
    REQUIRE(rfs_pread_async(in.file, nullptr, 1, 0, nullptr) == 0);
    CHECK(result() == -EINVAL);
    range = { 0, 0, 0, 0, F_UNLCK };
    CHECK(rfs_lock_test(in.file, &range) == -EINVAL);
    CHECK(rfs_lock_test(in.file, nullptr) == -EINVAL);
}
