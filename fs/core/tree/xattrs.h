/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.h: extended attributes of files: set, get, list, remove. The part of a name before its
 * first dot decides who may do what, as xattr(7) says:
 *
 *   user      who may read or write the file; only of regular files and directories
 *   trusted   user 0; to others these attributes do not exist
 *   security  all get them, user 0 sets them
 *
 * Other names are not supported, which includes system: a volume has no access control lists.
 *
 * Tests: tests/unit/fs/tree/xattrs_test.cpp
 */
#ifndef FS_CORE_TREE_XATTRS_H
#define FS_CORE_TREE_XATTRS_H

#include "core/tree/inodes.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace rfs
{

/* In all of these functions, @name is borrowed until the call has been awaited. Failure of each:
 * ESTALE; of those that take a name: ERANGE, the name is empty or longer than kNameMax; EOPNOTSUPP,
 * it is not of the above; EINVAL, nothing follows the dot, or a zero byte is in it; EACCES, the
 * caller may not read or write the file. */

/* Awaited: set an attribute. @value: borrowed until this has been awaited. @flags: 0, or of
 * setxattr(2): XATTR_CREATE, XATTR_REPLACE. Returns the file as it is then. Failure: EINVAL, other
 * flags; EEXIST, ENODATA, as the flags ask; E2BIG, the value is longer than kXattrsMax; ENOSPC, all
 * attributes of the file would be, or the table is full; EPERM, the caller is not user 0, the
 * file's type has no such attributes, or it is a directory with the sticky bit and not his. */
dtx::Task<Node> set_xattr(Call &call, uint32_t ino, std::string_view name, std::string_view value,
                          int flags);

/* Awaited: the value of an attribute. Failure: ENODATA, there is none, or not for the caller. */
dtx::Task<std::string> get_xattr(Call &call, uint32_t ino, std::string_view name);

/* Awaited: the names of all attributes that there are for the caller, each with a zero byte behind
 * it, as of listxattr(2). It needs no permission of the file. */
dtx::Task<std::string> list_xattrs(Call &call, uint32_t ino);

/* Awaited: remove an attribute. Returns the file as it is then. Failure: ENODATA, there is none;
 * EPERM, as of set_xattr(). */
dtx::Task<Node> remove_xattr(Call &call, uint32_t ino, std::string_view name);

} // namespace rfs
#endif
