// SPDX-License-Identifier: BSD-3-Clause
// Extended attributes: what they hold, whose they are, and how much of them.
#include "core/tree/xattrs.h"

#include "core/format/keys.h"
#include "core/format/xattr_stream.h"
#include "unit/fs/file/files.h"

#include <cerrno>
#include <sys/xattr.h>

using rfs::Call;
using rfs::Credentials;
using rfs::kRootIno;
using rfs::kXattrsMax;

namespace
{

const Credentials kSuper{};
const Credentials kAuthor{ 10, 20, {} };
const Credentials kStranger{ 11, 21, {} };

int set(TestVolume &volume, const Credentials &who, uint32_t ino, const std::string &name,
        const std::string &value, int flags = 0)
{
    return error_of([&] {
        (void)volume.client->call_now(
            who, [&](Call &call) { return rfs::set_xattr(call, ino, name, value, flags); });
    });
}

int remove(TestVolume &volume, const Credentials &who, uint32_t ino, const std::string &name)
{
    return error_of([&] {
        (void)volume.client->call_now(
            who, [&](Call &call) { return rfs::remove_xattr(call, ino, name); });
    });
}

std::string get(TestVolume &volume, const Credentials &who, uint32_t ino, const std::string &name)
{
    return volume.client->call_now(who,
                                   [&](Call &call) { return rfs::get_xattr(call, ino, name); });
}

int error_of_get(TestVolume &volume, const Credentials &who, uint32_t ino, const std::string &name)
{
    return error_of([&] { (void)get(volume, who, ino, name); });
}

// The names, each with a comma behind it.
std::string list(TestVolume &volume, const Credentials &who, uint32_t ino)
{
    std::string names =
        volume.client->call_now(who, [&](Call &call) { return rfs::list_xattrs(call, ino); });

    std::replace(names.begin(), names.end(), '\0', ',');
    return names;
}

// Rows of blobs that the volume has.
uint32_t blobs_of(const TestVolume &volume)
{
    uint32_t blobs = 0;

    volume.open->cluster->each_row(volume.open->volume.tables.blobs.number, 0,
                                   [&](uint64_t, const void *, size_t) { blobs++; });
    return blobs;
}

// The longest value of an attribute that is alone.
std::string longest_value(const std::string &name)
{
    return text_of(kXattrsMax - sizeof(rfs::XattrHead) - name.size(), 1);
}

} // namespace

TEST_CASE("fs: attributes are set, replaced, listed and removed", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t file = make_file(volume, kRootIno, "f");
    rfs::InodeRow before = inode_of(volume, file);
    std::string bytes("\0\xff", 2);

    CHECK(list(volume, kSuper, file) == "");
    CHECK(error_of_get(volume, kSuper, file, "user.b") == ENODATA);
    CHECK(set(volume, kSuper, file, "user.b", "one") == 0);
    CHECK(set(volume, kSuper, file, "user.c", "") == 0);
    CHECK(set(volume, kSuper, file, "user.a", bytes) == 0);
    CHECK(get(volume, kSuper, file, "user.b") == "one");
    CHECK(get(volume, kSuper, file, "user.c") == "");
    CHECK(get(volume, kSuper, file, "user.a") == bytes);
    CHECK(set(volume, kSuper, file, "user.b", "longer than one") == 0);
    CHECK(get(volume, kSuper, file, "user.b") == "longer than one");
    CHECK(list(volume, kSuper, file) == "user.a,user.b,user.c,");
    CHECK(remove(volume, kSuper, file, "user.b") == 0);
    CHECK(remove(volume, kSuper, file, "user.b") == ENODATA);
    CHECK(list(volume, kSuper, file) == "user.a,user.c,");
    CHECK(error_of_get(volume, kSuper, file, "user.b") == ENODATA);

    rfs::InodeRow after = inode_of(volume, file);

    CHECK(after.ctime_ns > before.ctime_ns);
    CHECK(after.mtime_ns == before.mtime_ns);
    CHECK(after.data_version == before.data_version);
    CHECK(after.xattr_bytes == 2 * (sizeof(rfs::XattrHead) + 6) + 2);
    CHECK(remove(volume, kSuper, file, "user.a") == 0);
    CHECK(remove(volume, kSuper, file, "user.c") == 0);
    CHECK(inode_of(volume, file).xattr_bytes == 0);
    CHECK(blobs_of(volume) == 0);
    CHECK(set(volume, kSuper, 999, "user.a", "") == ESTALE);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: flags ask whether an attribute exists", "[unit]")
{
    TestVolume volume;
    uint32_t file = make_file(volume, kRootIno, "f");

    CHECK(set(volume, kSuper, file, "user.a", "1", XATTR_REPLACE) == ENODATA);
    CHECK(set(volume, kSuper, file, "user.a", "2", XATTR_CREATE) == 0);
    CHECK(set(volume, kSuper, file, "user.a", "3", XATTR_CREATE) == EEXIST);
    CHECK(get(volume, kSuper, file, "user.a") == "2");
    CHECK(set(volume, kSuper, file, "user.a", "4", XATTR_REPLACE) == 0);
    CHECK(get(volume, kSuper, file, "user.a") == "4");
    CHECK(set(volume, kSuper, file, "user.a", "5", XATTR_CREATE | XATTR_REPLACE) == EEXIST);
    CHECK(set(volume, kSuper, file, "user.b", "5", XATTR_CREATE | XATTR_REPLACE) == ENODATA);
    CHECK(set(volume, kSuper, file, "user.a", "6", 4) == EINVAL);
}

TEST_CASE("fs: names of attributes are of a known kind, and not too long", "[unit]")
{
    TestVolume volume;
    uint32_t file = make(volume, volume.root, kRootIno, "f", S_IFREG | 0600);
    std::string longest = "user." + std::string(rfs::kNameMax - 5, 'n');

    CHECK(set(volume, kSuper, file, longest, "1") == 0);
    CHECK(get(volume, kSuper, file, longest) == "1");
    for (const std::string &name : { longest + "n", std::string() }) {
        CHECK(set(volume, kSuper, file, name, "1") == ERANGE);
        CHECK(error_of_get(volume, kSuper, file, name) == ERANGE);
        CHECK(remove(volume, kSuper, file, name) == ERANGE);
    }
    for (const char *name :
         { "system.posix_acl_access", "system.", "user", "users.a", "other.a" }) {
        CHECK(set(volume, kSuper, file, name, "1") == EOPNOTSUPP);
        CHECK(error_of_get(volume, kSuper, file, name) == EOPNOTSUPP);
        CHECK(remove(volume, kSuper, file, name) == EOPNOTSUPP);
    }
    for (const char *name : { "user.", "trusted.", "security." }) {
        CHECK(set(volume, kSuper, file, name, "1") == EINVAL);
        CHECK(error_of_get(volume, kSuper, file, name) == EINVAL);
        CHECK(remove(volume, kSuper, file, name) == EINVAL);
    }
    CHECK(set(volume, kSuper, file, std::string("user.a\0b", 8), "1") == EINVAL);
    CHECK(set(volume, kStranger, file, "other.a", "1") == EACCES); // Linux asks for that first
    CHECK(set(volume, kStranger, file, "system.a", "1") == EOPNOTSUPP);
}

TEST_CASE("fs: attributes of users need permissions of the file", "[unit]")
{
    TestVolume volume;
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t file = make(volume, kAuthor, open, "f", S_IFREG | 0640);
    uint32_t blind = make(volume, kAuthor, open, "g", S_IFREG | 0200);
    Credentials in_group{ 11, 20, {} };

    CHECK(set(volume, kAuthor, file, "user.a", "1") == 0);
    CHECK(get(volume, in_group, file, "user.a") == "1");
    CHECK(set(volume, in_group, file, "user.a", "2") == EACCES);
    CHECK(remove(volume, in_group, file, "user.a") == EACCES);
    CHECK(error_of_get(volume, kStranger, file, "user.a") == EACCES);
    CHECK(list(volume, kStranger, file) == "user.a,");
    CHECK(set(volume, kAuthor, blind, "user.a", "1") == 0);
    CHECK(error_of_get(volume, kAuthor, blind, "user.a") == EACCES);
    CHECK(get(volume, kSuper, blind, "user.a") == "1");
}

TEST_CASE("fs: only regular files and directories have attributes of users", "[unit]")
{
    TestVolume volume;
    uint32_t sticky = make(volume, volume.root, kRootIno, "tmp", S_IFDIR | 01777);
    uint32_t own = make(volume, kAuthor, sticky, "own", S_IFDIR | 01777);
    std::string target(1000, 't');
    uint32_t link = volume
                        .as_root([&](Call &call) {
                            return rfs::create(call, kRootIno, "l", { S_IFLNK | 0777, 0, target });
                        })
                        .ino;

    for (uint32_t type : { S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK }) {
        uint32_t file = make(volume, volume.root, kRootIno, std::to_string(type), type | 0666);

        CHECK(set(volume, kSuper, file, "user.a", "1") == EPERM);
        CHECK(remove(volume, kSuper, file, "user.a") == EPERM);
        CHECK(error_of_get(volume, kSuper, file, "user.a") == ENODATA);
        CHECK(set(volume, kSuper, file, "trusted.a", "1") == 0);
    }
    CHECK(set(volume, kSuper, link, "user.a", "1") == EPERM);
    CHECK(set(volume, kSuper, link, "trusted.a", text_of(2000, 1)) == 0);
    CHECK(get(volume, kSuper, link, "trusted.a") == text_of(2000, 1));
    CHECK(volume.as_root([&](Call &call) { return rfs::read_link(call, link); }).size() == 1000);
    CHECK(set(volume, kAuthor, sticky, "user.a", "1") == EPERM); // the owner of the directory alone
    CHECK(set(volume, kSuper, sticky, "user.a", "1") == 0);
    CHECK(get(volume, kAuthor, sticky, "user.a") == "1");
    CHECK(set(volume, kAuthor, own, "user.a", "1") == 0);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: user 0 alone has trusted attributes, and sets those of security", "[unit]")
{
    TestVolume volume;
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t file = make(volume, kAuthor, open, "f", S_IFREG | 0600);

    CHECK(set(volume, kAuthor, file, "user.a", "1") == 0);
    CHECK(set(volume, kAuthor, file, "trusted.a", "1") == EPERM);
    CHECK(set(volume, kAuthor, file, "security.a", "1") == EPERM);
    CHECK(set(volume, kSuper, file, "trusted.a", "2") == 0);
    CHECK(set(volume, kSuper, file, "security.a", "3") == 0);
    CHECK(error_of_get(volume, kAuthor, file, "trusted.a") == ENODATA);
    CHECK(get(volume, kSuper, file, "trusted.a") == "2");
    CHECK(get(volume, kStranger, file, "security.a") == "3");
    CHECK(remove(volume, kAuthor, file, "trusted.a") == EPERM);
    CHECK(remove(volume, kAuthor, file, "security.a") == EPERM);
    CHECK(list(volume, kSuper, file) == "security.a,trusted.a,user.a,");
    CHECK(list(volume, kAuthor, file) == "security.a,user.a,");
    CHECK(remove(volume, kSuper, file, "trusted.a") == 0);
    CHECK(list(volume, kSuper, file) == "security.a,user.a,");
}

TEST_CASE("fs: the attributes of a file have 64 KiB together", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t file = make_file(volume, kRootIno, "f");
    std::string value = longest_value("user.a");

    CHECK(set(volume, kSuper, file, "user.a", std::string(kXattrsMax + 1, 'x')) == E2BIG);
    CHECK(set(volume, kSuper, file, "user.a", std::string(kXattrsMax, 'x')) == ENOSPC);
    CHECK(set(volume, kSuper, file, "user.a", value + "x") == ENOSPC);
    CHECK(set(volume, kSuper, file, "user.a", value) == 0);
    CHECK((get(volume, kSuper, file, "user.a") == value));
    CHECK(inode_of(volume, file).xattr_bytes == kXattrsMax);
    CHECK(blobs_of(volume) == 137);
    CHECK(set(volume, kSuper, file, "user.b", "") == ENOSPC);
    CHECK(set(volume, kSuper, file, "user.a", value.substr(10)) == 0);
    CHECK(set(volume, kSuper, file, "user.b", "") == 0);
    CHECK((get(volume, kSuper, file, "user.a") == value.substr(10)));
    CHECK(set(volume, kSuper, file, "user.a", text_of(500, 2)) == 0);
    CHECK(get(volume, kSuper, file, "user.a") == text_of(500, 2));
    CHECK(blobs_of(volume) == 2);
    CHECK(remove(volume, kSuper, file, "user.a") == 0);
    CHECK(list(volume, kSuper, file) == "user.b,");
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: attributes that find no room in the volume change nothing", "[unit]")
{
    TestVolume volume; // room for 356 pieces
    uint32_t small = make_file(volume, kRootIno, "small");
    int error = 0;

    CHECK(set(volume, kSuper, small, "user.a", "1") == 0);
    for (int i = 0; i < 4 && error == 0; i++) {
        uint32_t file = make_file(volume, kRootIno, std::to_string(i));

        error = set(volume, kSuper, file, "user.a", longest_value("user.a"));
    }
    CHECK(error == ENOSPC);
    CHECK(set(volume, kSuper, small, "user.b", longest_value("user.b").substr(20)) == ENOSPC);
    CHECK(list(volume, kSuper, small) == "user.a,");
    CHECK(get(volume, kSuper, small, "user.a") == "1");
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: attributes are freed with their file, in one step", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 12 });
    uint32_t file = make_file(volume, kRootIno, "f");

    for (uint64_t row = 1; row < rfs::kCutRows; row++) // one block in each row of maps
        (void)write_at(volume, file, row * rfs::kMapPointers * rfs::kBlockBytes, "x");
    CHECK(set(volume, kSuper, file, "user.a", longest_value("user.a")) == 0);
    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "f"); });
    CHECK(blobs_of(volume) == 137);
    CHECK(volume.as_root([&](Call &call) { return rfs::free_orphan(call, file); }));
    CHECK(blobs_of(volume) == 0);
    CHECK(set(volume, kSuper, file, "user.a", "1") == ESTALE);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: damaged attributes end a call with an error", "[unit]")
{
    enum class Kind { lost, damaged, counted };
    Kind kind = GENERATE(Kind::lost, Kind::damaged, Kind::counted);
    TestVolume volume;
    uint32_t file = make_file(volume, kRootIno, "f");

    REQUIRE(set(volume, kSuper, file, "user.a", text_of(1000, 1)) == 0);
    volume.as_root([&](Call &call) -> dtx::Task<> {
        dtx::Table<rfs::BlobRow> blobs = call.tables().blobs;
        rfs::Node node = co_await rfs::held_inode(call, file);
        rfs::BlobRow row{};

        if (kind == Kind::lost)
            (void)co_await call.txn.erase(blobs, rfs::key_of(file, 1));
        if (kind == Kind::damaged)
            (void)co_await call.txn.write(blobs, rfs::key_of(file, 0), row);
        if (kind == Kind::counted)
            node.row.xattr_bytes = 1u << 30;
        co_await rfs::put(call, node);
    });
    CHECK_THROWS_AS(get(volume, kSuper, file, "user.a"), dtx::Error);
    CHECK_THROWS_AS(list(volume, kSuper, file), dtx::Error);
    CHECK_THROWS_AS(set(volume, kSuper, file, "user.a", "1"), dtx::Error);
    CHECK_THROWS_AS(remove(volume, kSuper, file, "user.a"), dtx::Error);
}
