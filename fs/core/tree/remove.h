/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove.h: remove names of files, and empty directories.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#ifndef FS_CORE_TREE_REMOVE_H
#define FS_CORE_TREE_REMOVE_H

#include "core/tree/inodes.h"

#include <string_view>

namespace rfs
{

/* Awaited: remove a name of a file, as unlink(2). Returns the file as it is then: with links 0 it
 * is an orphan. Failure: ENOENT, ENOTDIR, EACCES; EISDIR, the name leads to a directory; EPERM, the
 * sticky bit forbids it. */
dtx::Task<Node> remove_file(Call &call, uint32_t directory, std::string_view name);

/* Awaited: remove an empty directory, as rmdir(2). Failure: as remove_file(); ENOTDIR, the name
 * leads to no directory; ENOTEMPTY; EINVAL, the name is ".". */
dtx::Task<Node> remove_directory(Call &call, uint32_t directory, std::string_view name);

} // namespace rfs
#endif
