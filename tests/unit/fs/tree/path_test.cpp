// SPDX-License-Identifier: BSD-3-Clause
// Paths are followed.
#include "core/tree/path.h"

#include "unit/fs/volume.h"

#include <cerrno>

using rfs::Call;
using rfs::Follow;
using rfs::kRootIno;

namespace
{

uint32_t follow(TestVolume &volume, const std::string &path, bool follows = true,
                const rfs::Credentials &who = {}, uint32_t from = kRootIno)
{
    return volume.client
        ->call_now(who, [&](Call &call) { return rfs::resolve(call, from, path, follows); })
        .ino;
}

int error_of_following(TestVolume &volume, const std::string &path, bool follows = true,
                       const rfs::Credentials &who = {})
{
    return error_of([&] { (void)follow(volume, path, follows, who); });
}

rfs::Last last_of(TestVolume &volume, const std::string &path, rfs::Follow follow)
{
    return volume.as_root([&](Call &call) { return rfs::walk(call, kRootIno, path, follow); });
}

uint32_t make_link(TestVolume &volume, uint32_t directory, const std::string &name,
                   const std::string &target)
{
    return volume
        .as_root([&](Call &call) {
            return rfs::create(call, directory, name, { S_IFLNK | 0777, 0, target });
        })
        .ino;
}

} // namespace

TEST_CASE("fs: a path leads through directories", "[unit]")
{
    TestVolume volume(2);
    uint32_t a = make_directory(volume, kRootIno, "a");
    uint32_t b = make_directory(volume, a, "b");
    uint32_t file = make_file(volume, b, "f");

    CHECK(follow(volume, "/") == kRootIno);
    CHECK(follow(volume, "//") == kRootIno);
    CHECK(follow(volume, "/..") == kRootIno);
    CHECK(follow(volume, "/a/b/f") == file);
    CHECK(follow(volume, "a//b/./../b/f") == file);
    CHECK(follow(volume, "a/b/") == b);
    CHECK(follow(volume, "..", true, {}, b) == a);
    CHECK(follow(volume, ".", true, {}, b) == b);
    CHECK(follow(volume, "/a", true, {}, b) == a);
    CHECK(error_of_following(volume, "") == ENOENT);
    CHECK(error_of_following(volume, "/a/x") == ENOENT);
    CHECK(error_of_following(volume, "/x/f") == ENOENT);
    CHECK(error_of_following(volume, "/a/b/f/") == ENOTDIR);
    CHECK(error_of_following(volume, "/a/b/f/g") == ENOTDIR);
    CHECK(error_of_following(volume, "/a/b/f/..") == ENOTDIR);
    CHECK(error_of_following(volume, "/a/" + std::string(256, 'x')) == ENAMETOOLONG);
    CHECK(error_of_following(volume, std::string(4096, '/')) == ENAMETOOLONG);
    CHECK(error_of_following(volume, std::string(4095, '/')) == 0);
}

TEST_CASE("fs: symbolic links in a path are followed", "[unit]")
{
    TestVolume volume(2);
    uint32_t a = make_directory(volume, kRootIno, "a");
    uint32_t file = make_file(volume, a, "f");
    uint32_t to_file = make_link(volume, kRootIno, "to_file", "a/f");

    (void)make_link(volume, a, "up", "..");
    (void)make_link(volume, kRootIno, "to_a", "/a/");
    (void)make_link(volume, kRootIno, "to_root", "/");
    (void)make_link(volume, kRootIno, "loop", "loop");
    CHECK(follow(volume, "to_file") == file);
    CHECK(follow(volume, "to_file", false) == to_file);
    CHECK(follow(volume, "/to_a/f") == file);
    CHECK(follow(volume, "/to_a/up/to_a/up/to_file") == file);
    CHECK(follow(volume, "to_root") == kRootIno);
    CHECK(follow(volume, "to_a/", false) == a); // a slash asks for the directory
    CHECK(error_of_following(volume, "to_file/") == ENOTDIR);
    CHECK(error_of_following(volume, "loop") == ELOOP);
    CHECK(error_of_following(volume, "loop", false) == 0);
    CHECK(error_of_following(volume, "loop/x", false) == ELOOP);
}

TEST_CASE("fs: forty symbolic links are followed, and no more", "[unit]")
{
    TestVolume volume;

    (void)make_file(volume, kRootIno, "l0");
    for (int i = 1; i <= 41; i++)
        (void)make_link(volume, kRootIno, "l" + std::to_string(i), "l" + std::to_string(i - 1));
    CHECK(error_of_following(volume, "l40") == 0);
    CHECK(error_of_following(volume, "l41") == ELOOP);
}

TEST_CASE("fs: the last name of a path need not exist", "[unit]")
{
    TestVolume volume;
    uint32_t a = make_directory(volume, kRootIno, "a");

    (void)make_link(volume, kRootIno, "new", "a/made");
    for (Follow follow : { Follow::never, Follow::without_slash, Follow::always }) {
        CHECK(last_of(volume, "/a/x", follow).directory == a);
        CHECK(last_of(volume, "/a/x", follow).name == "x");
        CHECK_FALSE(last_of(volume, "/a/x", follow).wants_directory);
        CHECK(last_of(volume, "/a/x/", follow).wants_directory);
        CHECK(last_of(volume, "/", follow).name.empty());
    }
    CHECK(last_of(volume, "new/", Follow::without_slash).name == "new");
    CHECK(last_of(volume, "new", Follow::without_slash).name == "made");
    CHECK(last_of(volume, "new", Follow::never).name == "new");
    CHECK(last_of(volume, "new", Follow::always).directory == a);
    CHECK(last_of(volume, "new", Follow::always).name == "made");
}

TEST_CASE("fs: each directory of a path must let the caller pass", "[unit]")
{
    TestVolume volume;
    rfs::Credentials user{ 10, 20, {} };
    uint32_t closed = make(volume, volume.root, kRootIno, "closed", S_IFDIR | 0744);

    (void)make_file(volume, closed, "f");
    (void)make_directory(volume, closed, "d");
    CHECK(error_of_following(volume, "/closed", true, user) == 0);
    CHECK(error_of_following(volume, "/closed/f", true, user) == EACCES);
    CHECK(error_of_following(volume, "/closed/.", true, user) == EACCES);
    CHECK(error_of_following(volume, "/closed/d/x", true, user) == EACCES);
    CHECK(error_of_following(volume, "/closed/f") == 0);
}
