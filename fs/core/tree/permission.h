/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * permission.h: what the permission bits of a file let a caller do, as POSIX defines it. User 0 may
 * do all, but executes a regular file only if one of its x bits is set.
 *
 * Tests: tests/unit/fs/tree/permission_test.cpp
 */
#ifndef FS_CORE_TREE_PERMISSION_H
#define FS_CORE_TREE_PERMISSION_H

#include "core/call/call.h"

#include <cstdint>

namespace rfs
{

enum Permission : uint32_t { kMayExecute = 1, kMayWrite = 2, kMayRead = 4 };

/* @wanted: a sum of Permission. */
bool may(const Credentials &who, const InodeRow &inode, uint32_t wanted);

/* May every user look a name up in the directory? */
inline bool may_all_search(const InodeRow &directory)
{
    return (directory.mode & 0111) == 0111;
}

/* Is the caller the file's owner, or user 0? */
bool owns(const Credentials &who, const InodeRow &inode);

/* In a directory with the sticky bit, only the owners of the directory and of the file may remove
 * or rename the file. */
bool may_remove(const Credentials &who, const InodeRow &directory, const InodeRow &inode);

/* Takes the set-ID bits away from a regular file that gets another owner or other contents: a
 * program must not come to run as another user. */
void drop_set_ids(InodeRow &inode);

} // namespace rfs
#endif
