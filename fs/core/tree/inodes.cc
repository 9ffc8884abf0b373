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

dtx::Task<Node> named_inode(Call &call, uint32_t ino)
{
    Node node{ ino, {} };
    auto row = co_await call.txn.read(call.tables().inodes, ino);

    node.row = dtx::need(row, "a name leads to an inode that does not exist");
    co_return node;
}

dtx::Task<Node> held_inode(Call &call, uint32_t ino)
{
    Node node{ ino, {} };
    auto row = co_await call.txn.read(call.tables().inodes, ino);

    expect(row.has_value(), ESTALE);
    node.row = *row;
    co_return node;
}

dtx::Task<Node> held_directory(Call &call, uint32_t ino, uint32_t wanted)
{
    Node node = co_await held_inode(call, ino);

    expect(S_ISDIR(node.row.mode), ENOTDIR);
    expect(may(call.who, node.row, wanted), EACCES);
    expect(node.row.links != 0, ENOENT);
    co_return node;
}

dtx::Task<> put(Call &call, const Node &node)
{
    bool found = co_await call.txn.write(call.tables().inodes, node.ino, node.row);

    dtx::need(found, "an inode that was read does not exist");
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

void touch_inode(const Call &call, InodeRow &row)
{
    row.ctime_ns = std::max(call.now_ns, row.ctime_ns + 1);
}

void touch_contents(const Call &call, InodeRow &row)
{
    row.mtime_ns = std::max(call.now_ns, row.mtime_ns + (canary(Canary::mtime_still) ? 0 : 1));
    touch_inode(call, row);
    row.data_version++;
}

dtx::Task<> drop_name(Call &call, Node &node)
{
    bool directory = S_ISDIR(node.row.mode);

    RFS_ASSERT(node.ino != kRootIno);
    dtx::need(node.row.links >= (directory ? 2 : 1), "a file has more names than it counts");
    node.row.links = directory ? 0 : node.row.links - 1;
    touch_inode(call, node.row);
    co_await put(call, node);
    if (node.row.links != 0)
        co_return;

    co_await add_orphan(call, node.ino);
}

} // namespace rfs
