/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rename.h: rename a file or directory, replace another by it, or exchange the two.
 *
 * Tests: tests/unit/fs/tree/rename_test.cpp
 */
#ifndef FS_CORE_TREE_RENAME_H
#define FS_CORE_TREE_RENAME_H

#include "core/tree/inodes.h"
#include "core/tree/names.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace rfs
{

/* A name in a directory. If the call has read the directory and looked the name up, it says what it
 * has found. Borrowed. */
struct Spot {
    uint32_t directory;
    std::string_view name;
    const Node *parent = nullptr;
    const Place *place = nullptr;
};

/* Awaited: as renameat2(2). @flags: 0, RENAME_NOREPLACE or RENAME_EXCHANGE. Returns the file that
 * lost a name because it was replaced. Before a directory moves to another one, the call reads all
 * directories above the new place: none is the moved one, and two renames at once cannot make a
 * loop of directories. Failure: as remove_file() and create(); EINVAL, other flags, or a directory
 * would be moved into itself; EBUSY, a name is "." or ".."; EISDIR, ENOTDIR, ENOTEMPTY, the file at
 * the new place cannot be replaced. */
dtx::Task<std::optional<Node>> rename(Call &call, Spot from, Spot to, uint32_t flags);

} // namespace rfs
#endif
