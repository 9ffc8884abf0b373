/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create.h: new files, directories and symbolic links, and further names of files.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#ifndef FS_CORE_TREE_CREATE_H
#define FS_CORE_TREE_CREATE_H

#include "core/tree/inodes.h"
#include "core/tree/names.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace rfs
{

/* What to create: mode with its type; the target of a symbolic link; the number of a device. */
struct Wanted {
    uint32_t mode = 0;
    uint32_t device = 0;
    std::string_view target{};
};

/* Awaited: create a file of any type in a directory. It belongs to the caller; in a directory with
 * the set-group-ID bit, to the directory's group. @name, @wanted: borrowed until this has been
 * awaited. Failure: EEXIST, ENOSPC, ENAMETOOLONG, those of held_directory(); EINVAL, mode is
 * none; EMLINK, the directory has too many directories. */
dtx::Task<Node> create(Call &call, uint32_t directory, std::string_view name, Wanted wanted);

/* Awaited: the same at a place that find_name() gave, in a directory that the call has read. */
dtx::Task<Node> create_at(Call &call, Node parent, Place place, std::string_view name,
                          Wanted wanted);

/* Can there be such a file? Failure: as create(). */
void expect_creatable(std::string_view name, const Wanted &wanted);

/* Awaited: give a file, not a directory, another name. Failure: as create(); EPERM, it is a
 * directory; EMLINK; ENOENT, the file has lost its last name. */
dtx::Task<Node> link(Call &call, uint32_t ino, uint32_t directory, std::string_view name);

/* Awaited: the target of a symbolic link. Failure: EINVAL, it is none; ESTALE. */
dtx::Task<std::string> read_link(Call &call, uint32_t ino);

/* An inode without names and contents, of the caller, made now. */
InodeRow new_inode(const Call &call, uint32_t mode);

} // namespace rfs
#endif
