/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inodes.cc: rows of the table inodes.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#include "core/tree/inodes.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/format/keys.h"
#include "core/tree/orphans.h"
#include "core/tree/permission.h"

#include <cerrno>
#include <sys/stat.h>

namespace rfs
{

static Node sound_node(uint32_t ino, const InodeRow &row)
{
    need_sound(fault_of(row), file_row(ino));
    return { ino, row };
}

Node named_node(uint32_t ino, const std::optional<InodeRow> &row)
{
    need(row, file_row(ino), "it does not exist, but a name or a subdirectory refers to it");
    return sound_node(ino, *row);
}

Node held_node(uint32_t ino, const std::optional<InodeRow> &row)
{
    expect(row.has_value(), ESTALE);
    return sound_node(ino, *row);
}

void expect_permitted(const Call &call, const Node &node, uint32_t wanted)
{
    expect(may(call.who, node.row, wanted), EACCES);
}

void expect_directory(const Call &call, const Node &node, uint32_t wanted)
{
    expect(S_ISDIR(node.row.mode), ENOTDIR);
    expect_permitted(call, node, wanted);
    expect(node.row.links != 0, ENOENT);
}

void expect_written(uint32_t ino, bool found)
{
    need(found, file_row(ino), "it was read, but is missing now");
}

/* Numbers are random: no counter is contended for, and none is lost when a client dies. */
dtx::Task<Node> add_inode(Call &call, const InodeRow &row, uint32_t near)
{
    uint32_t shards = call.volume.shards;
    Node node{ 0, row };
    bool added = false;

    while (!added) {
        uint64_t random = call.random.below((1ull << 32) / shards);
        uint64_t shard = near != 0 ? shard_of(near, shards) : call.random.below(shards);

        node.ino = static_cast<uint32_t>(random * shards + shard);
        if (node.ino <= kRootIno)
            continue;
        added = co_await add_row(call, call.tables().inodes, node.ino, node.row);
    }
    co_return node;
}

/* Times saturate: after INT64_MAX, a change leaves the time as it is. */
static int64_t later(const Call &call, int64_t ns)
{
    return std::max(call.now_ns, ns + (ns < INT64_MAX ? 1 : 0));
}

void touch_inode(const Call &call, InodeRow &row)
{
    row.ctime_ns = later(call, row.ctime_ns);
}

void touch_contents(const Call &call, InodeRow &row)
{
    row.mtime_ns = canary(Canary::mtime_still) ? std::max(call.now_ns, row.mtime_ns)
                                               : later(call, row.mtime_ns);
    touch_inode(call, row);
    row.data_version++;
}

void uncount(Node &directory, uint32_t names, uint32_t directories)
{
    need(directory.row.size >= names && directory.row.links >= 2 + directories,
         file_row(directory.ino), "it has more names than it counts");
    directory.row.size -= names;
    directory.row.links -= directories;
}

dtx::Task<> drop_name(Call &call, Node &node)
{
    bool directory = S_ISDIR(node.row.mode);

    need(node.ino != kRootIno, file_row(kRootIno), "a name leads to the root directory");
    need(node.row.links >= (directory ? 2 : 1), file_row(node.ino),
         "it has more names than it counts");
    node.row.links = directory ? 0 : node.row.links - 1;
    touch_inode(call, node.row);
    co_await put(call, node);
    if (node.row.links != 0)
        co_return;

    co_await add_orphan(call, node.ino);
}

} // namespace rfs
