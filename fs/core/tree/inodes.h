/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inodes.h: read, add and change inodes within a call.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#ifndef FS_CORE_TREE_INODES_H
#define FS_CORE_TREE_INODES_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstdint>
#include <optional>

namespace rfs
{

/* A file with its number. */
struct Node {
    uint32_t ino = 0;
    InodeRow row{};
};

/* The inode that was read under a number. @row: nullopt: there is none, which for a number from a
 * name is damage, and for a number that the caller has kept is Failure, ESTALE. */
Node named_node(uint32_t ino, const std::optional<InodeRow> &row);
Node held_node(uint32_t ino, const std::optional<InodeRow> &row);

/* Is it a directory that still has a name, in which the caller has the permissions @wanted?
 * Failure: ENOTDIR, EACCES; ENOENT, it was removed. */
void expect_directory(const Call &call, const Node &node, uint32_t wanted);

/* Has the row that a call wanted to write been found? */
void expect_written(uint32_t ino, bool found);

/* Awaited: the inode to which a name leads. If there is none, the rows were read at different times
 * and the call runs again, or the volume is damaged: dtx::Error, RPM_E_CORRUPT. */
inline auto named_inode(Call &call, uint32_t ino)
{
    return dtx::Then(call.txn.read(call.tables().inodes, ino),
                     [ino](const std::optional<InodeRow> &row) { return named_node(ino, row); });
}

/* Awaited: the inode of a number that the caller has kept. Failure: ESTALE, the file is gone. */
inline auto held_inode(Call &call, uint32_t ino)
{
    return dtx::Then(call.txn.read(call.tables().inodes, ino),
                     [ino](const std::optional<InodeRow> &row) { return held_node(ino, row); });
}

/* Has the caller the permissions @wanted? Failure: EACCES. */
void expect_permitted(const Call &call, const Node &node, uint32_t wanted);

/* Awaited: the inode of such a number, with the permissions @wanted. */
inline auto permitted_inode(Call &call, uint32_t ino, uint32_t wanted)
{
    return dtx::Then(held_inode(call, ino), [&call, wanted](const Node &node) {
        expect_permitted(call, node, wanted);
        return node;
    });
}

/* Awaited: the same for a directory. Failure: as expect_directory(). */
inline auto held_directory(Call &call, uint32_t ino, uint32_t wanted)
{
    return dtx::Then(held_inode(call, ino), [&call, wanted](const Node &node) {
        expect_directory(call, node, wanted);
        return node;
    });
}

/* Awaited: write the row back. */
inline auto put(Call &call, const Node &node)
{
    return dtx::Then(call.txn.write(call.tables().inodes, node.ino, node.row),
                     [ino = node.ino](bool found) { expect_written(ino, found); });
}

/* Awaited: add an inode, with a number that no file has. @near: a file or directory on whose shard
 * it is to be; 0: on any. Failure: ENOSPC. */
dtx::Task<Node> add_inode(Call &call, const InodeRow &row, uint32_t near);

/* The contents of a file or directory change now, or only its inode. Times grow by at least 1 ns
 * with each change, so a reader that compares times sees each of them. */
void touch_contents(const Call &call, InodeRow &row);
void touch_inode(const Call &call, InodeRow &row);

/* A directory loses so many names, or directories in it. */
void uncount(Node &directory, uint32_t names, uint32_t directories);

/* Awaited: take a name away from a file that has lost its row in a directory. A file without names
 * becomes an orphan (orphans.h). */
dtx::Task<> drop_name(Call &call, Node &node);

} // namespace rfs
#endif
