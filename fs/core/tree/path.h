/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h: follow a path from directory to directory, within the transaction of the call that names
 * it: the whole path was so at one time.
 *
 * Tests: tests/unit/fs/tree/path_test.cpp
 */
#ifndef FS_CORE_TREE_PATH_H
#define FS_CORE_TREE_PATH_H

#include "core/tree/inodes.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace rfs
{

inline constexpr uint32_t kSymlinksMax = 40; /* followed by one call, as by Linux */
inline constexpr size_t kPathMax = 4096;     /* bytes, with the final zero */

/* A path's last name, in its directory; both may be changed by the call. */
struct Last {
    uint32_t directory = 0;
    std::string name;             /* empty: the path is "/" */
    bool wants_directory = false; /* it ends with a slash */
    Node parent{};                /* the directory, if there is a name */
};

/* Is this the last name of "/", or a name that each directory has? */
inline bool is_fixed(const Last &last)
{
    return last.name.empty() || last.name == "." || last.name == "..";
}

/* When a last name that is a symbolic link is replaced by the place to which it leads, whether that
 * exists or not: never; unless a slash is behind it; always. */
enum class Follow { never, without_slash, always };

/* Awaited: follow all of a path but its last name, whose directory lets the caller pass. @from:
 * where a relative path begins. @path: borrowed until this has been awaited. Failure: ENOENT,
 * ENOTDIR, EACCES, ELOOP, ENAMETOOLONG. */
dtx::Task<Last> walk(Call &call, uint32_t from, std::string_view path, Follow follow);

/* Awaited: the file to which a path leads. A slash behind a symbolic link follows it in any case.
 * Failure: as walk(). */
dtx::Task<Node> resolve(Call &call, uint32_t from, std::string_view path, bool follows);

} // namespace rfs
#endif
