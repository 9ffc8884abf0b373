/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create.cc: add an inode and its name.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#include "core/tree/create.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include "core/tree/names.h"
#include "core/tree/permission.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace rfs
{

InodeRow new_inode(const Call &call, uint32_t mode)
{
    InodeRow row{};

    row.mode = mode;
    row.uid = call.who.uid;
    row.gid = call.who.gid;
    row.links = S_ISDIR(mode) ? 2 : 1;
    row.atime_ns = row.mtime_ns = row.ctime_ns = row.btime_ns = call.now_ns;
    row.cut = kNoCut;
    return row;
}

/* Awaited: the pieces of a link's target that do not fit into its inode. */
static dtx::Task<> add_target(Call &call, uint32_t ino, std::string_view target)
{
    uint32_t piece = kFirstTargetPiece;

    for (size_t at = 0; at < target.size(); at += kPieceBytes, piece++) {
        BlobRow row{};

        std::memcpy(row.bytes, target.data() + at,
                    std::min<size_t>(kPieceBytes, target.size() - at));
        bool added = co_await add_row(call, call.tables().blobs, key_of(ino, piece), row);

        need(added, { "blobs", key_of(ino, piece) }, "it exists, although no file had its number");
    }
}

/* In a directory with the set-group-ID bit: the new file belongs to the directory's group. A
 * program of a caller who is not in that group must not run as the group. */
static void take_group(const Credentials &who, const InodeRow &parent, InodeRow &row)
{
    row.gid = parent.gid;
    if (S_ISDIR(row.mode))
        row.mode |= S_ISGID;
    else if ((row.mode & S_IXGRP) != 0 && who.uid != 0 && !who.is_in(row.gid))
        row.mode &= ~static_cast<uint32_t>(S_ISGID);
}

void expect_creatable(std::string_view name, const Wanted &wanted)
{
    check_name(name);
    expect(name != "." && name != "..", EEXIST);
    expect(is_mode(wanted.mode), EINVAL);
    expect(!S_ISLNK(wanted.mode) || !wanted.target.empty(), ENOENT);
    expect(wanted.target.size() <= kLinkTargetMax, ENAMETOOLONG);
}

dtx::Task<Node> create(Call &call, uint32_t directory, std::string_view name, Wanted wanted)
{
    expect_creatable(name, wanted);

    Node parent = co_await held_directory(call, directory, kMayExecute);
    Place place = co_await find_name(call, directory, name);

    co_return co_await create_at(call, parent, place, name, wanted);
}

dtx::Task<Node> create_at(Call &call, Node parent, Place place, std::string_view name,
                          Wanted wanted)
{
    bool makes_directory = S_ISDIR(wanted.mode);
    uint32_t directory = parent.ino;

    expect_creatable(name, wanted);
    expect(!place.is_taken(), EEXIST);
    expect(may(call.who, parent.row, kMayWrite), EACCES);
    expect(!makes_directory || parent.row.links < kLinksMax, EMLINK);

    InodeRow row = new_inode(call, wanted.mode);

    if ((parent.row.mode & S_ISGID) != 0)
        take_group(call.who, parent.row, row);
    row.parent = makes_directory ? directory : 0;
    row.device = wanted.device;
    row.size = wanted.target.size();
    if (wanted.target.size() <= kShortTarget)
        (void)wanted.target.copy(row.target, kShortTarget);

    Node node = co_await add_inode(call, row, makes_directory ? 0 : directory);

    if (wanted.target.size() > kShortTarget)
        co_await add_target(call, node.ino, wanted.target);
    co_await add_name(call, place, name, node.ino, node.row.mode);
    parent.row.links += makes_directory ? 1 : 0;
    parent.row.size++;
    touch_contents(call, parent.row);
    co_await put(call, parent);
    co_return node;
}

dtx::Task<Node> link(Call &call, uint32_t ino, uint32_t directory, std::string_view name)
{
    check_name(name);
    expect(name != "." && name != "..", EEXIST);

    Node node = co_await held_inode(call, ino);
    Node parent = co_await held_directory(call, directory, kMayExecute);
    Place place = co_await find_name(call, directory, name);

    expect(!place.is_taken(), EEXIST);
    expect(may(call.who, parent.row, kMayWrite), EACCES);
    expect(!S_ISDIR(node.row.mode), EPERM);
    expect(node.row.links != 0, ENOENT);
    expect(node.row.links < kLinksMax, EMLINK);
    co_await add_name(call, place, name, ino, node.row.mode);
    node.row.links++;
    touch_inode(call, node.row);
    co_await put(call, node);
    parent.row.size++;
    touch_contents(call, parent.row);
    co_await put(call, parent);
    co_return node;
}

dtx::Task<std::string> read_link(Call &call, uint32_t ino)
{
    Node node = co_await held_inode(call, ino);
    size_t bytes = node.row.size;
    std::string target;

    expect(S_ISLNK(node.row.mode), EINVAL);
    if (bytes <= kShortTarget)
        target.assign(node.row.target, bytes);
    for (uint32_t piece = kFirstTargetPiece; target.size() < bytes; piece++) {
        uint64_t key = key_of(ino, piece);
        auto row = co_await call.txn.read(call.tables().blobs, key);

        target.append(need(row, { "blobs", key }, "it is a missing piece of a link's target").bytes,
                      std::min<size_t>(kPieceBytes, bytes - target.size()));
    }
    need(target.find('\0') == target.npos, file_row(ino), "its target has a zero byte");
    co_return target;
}

} // namespace rfs
