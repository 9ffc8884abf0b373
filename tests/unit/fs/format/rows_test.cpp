// SPDX-License-Identifier: BSD-3-Clause
// Rows are judged by themselves.
#include "core/format/rows.h"

#include "support/catch.h"

#include <functional>
#include <string>
#include <sys/stat.h>

namespace
{

rfs::InodeRow inode(uint32_t mode, uint64_t size = 0)
{
    rfs::InodeRow row{};

    row.mode = mode;
    row.size = size;
    row.links = 1;
    row.cut = rfs::kNoCut;
    row.parent = S_ISDIR(mode) ? 7 : 0;
    return row;
}

bool is_sound(rfs::InodeRow row, const std::function<void(rfs::InodeRow &)> &change)
{
    change(row);
    return rfs::fault_of(row) == nullptr;
}

} // namespace

TEST_CASE("fs: an inode has the fields of its type, within their bounds", "[unit]")
{
    rfs::InodeRow file = inode(S_IFREG | 07777, rfs::kFileMax);
    rfs::InodeRow link = inode(S_IFLNK | 0777, rfs::kLinkTargetMax);

    for (uint32_t type : { S_IFREG, S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK })
        CHECK(rfs::fault_of(inode(type | 0644)) == nullptr);
    CHECK(rfs::fault_of(file) == nullptr);
    CHECK(rfs::fault_of(link) == nullptr);
    CHECK(rfs::fault_of(inode(S_IFDIR, UINT64_MAX)) == nullptr);
    CHECK(is_sound(file, [](auto &row) { row.blocks = rfs::kFileBlocks; }));
    CHECK(is_sound(file, [](auto &row) { row.xattr_bytes = 65536; }));
    CHECK(is_sound(inode(S_IFREG, 4097), [](auto &row) { row.cut = 2; }));
    CHECK(is_sound(inode(S_IFREG, 4097), [](auto &row) { row.cut = row.links = 0; }));

    for (uint32_t mode : { 0u, 0644u, 0170000u, 0030000u, 0110000u, S_IFREG | 1u << 16, ~0u })
        CHECK_FALSE(rfs::fault_of(inode(mode)) == nullptr);
    for (uint32_t type : { S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK })
        CHECK_FALSE(rfs::fault_of(inode(type, 1)) == nullptr);
    CHECK_FALSE(rfs::fault_of(inode(S_IFREG, rfs::kFileMax + 1)) == nullptr);
    CHECK_FALSE(rfs::fault_of(inode(S_IFLNK)) == nullptr);
    CHECK_FALSE(rfs::fault_of(inode(S_IFLNK, rfs::kLinkTargetMax + 1)) == nullptr);
    CHECK_FALSE(is_sound(file, [](auto &row) { row.parent = 1; }));
    CHECK_FALSE(is_sound(inode(S_IFDIR), [](auto &row) { row.parent = 0; }));
    CHECK_FALSE(is_sound(file, [](auto &row) { row.xattr_bytes = 65537; }));
    CHECK_FALSE(is_sound(file, [](auto &row) { row.blocks = rfs::kFileBlocks + 1; }));
    CHECK_FALSE(is_sound(link, [](auto &row) { row.blocks = 1; }));
    CHECK_FALSE(is_sound(link, [](auto &row) { row.cut = 0; }));
    CHECK_FALSE(is_sound(inode(S_IFREG, 4097), [](auto &row) { row.cut = 1; }));
    CHECK_FALSE(is_sound(file, [](auto &row) { row.cut = rfs::kFileBlocks; }));
}

TEST_CASE("fs: a name leads to a file of some type, and is one that a file can have", "[unit]")
{
    rfs::NameRow row{ 7, S_IFREG >> 12, 1, { 'a' } };

    CHECK(rfs::fault_of(row) == nullptr);
    for (uint8_t type : { 0, 3, 5, 7, 9, 11, 13, 14, 15, 16, 24, 255 }) {
        row.type = type;
        CHECK_FALSE(rfs::fault_of(row) == nullptr);
    }
    CHECK_FALSE(rfs::fault_of(rfs::NameRow{ 0, S_IFREG >> 12, 1, { 'a' } }) == nullptr);
    CHECK_FALSE(rfs::fault_of(rfs::NameRow{ 7, S_IFREG >> 12, 0, {} }) == nullptr);

    for (const std::string &name : { std::string("a"), std::string("..."), std::string(255, 'n') })
        CHECK(rfs::is_name(name));
    for (const std::string &name :
         { std::string(), std::string("."), std::string(".."), std::string("a/b"),
           std::string("a\0b", 3), std::string(256, 'n') })
        CHECK_FALSE(rfs::is_name(name));
}
