/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h: the names in a directory: find, add, change, remove, list.
 *
 * Tests: tests/unit/fs/tree/names_test.cpp
 */
#ifndef FS_CORE_TREE_NAMES_H
#define FS_CORE_TREE_NAMES_H

#include "core/call/call.h"
#include <dtx/task.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rfs
{

/* Where a name is in a directory, or would be. */
struct Place {
    uint64_t key =
        0; /* of its row; of a name that is absent, one that no row has; 0: there is none,
                         because kCollisions names have this name's hash */
    uint32_t ino = 0; /* 0: the name is absent */
    uint8_t type = 0; /* of the inode: mode >> 12 */

    bool is_taken() const
    {
        return ino != 0;
    }
};

/* Throws Failure unless a name can be that of a file: ENAMETOOLONG; ENOENT, it is empty; EINVAL, it
 * has a slash or a zero byte. "." and ".." are for the caller to judge. */
void check_name(std::string_view name);

/* Of find_name(). now(): nullopt, a row has to be waited for, or the name is long. */
struct NameSearch {
    std::optional<Place> now();
    dtx::Task<Place> later();
    Call &call;
    uint32_t directory;
    std::string_view name;
};
/* Awaited: look a name up. @name: borrowed until this has been awaited. */
inline auto find_name(Call &call, uint32_t directory, std::string_view name)
{
    return dtx::AtOnce(NameSearch{ call, directory, name });
}

/* Awaited: add a name at the place that find_name() gave. Failure: ENOSPC. */
dtx::Task<> add_name(Call &call, Place place, std::string_view name, uint32_t ino, uint32_t mode);

/* Awaited: let a name that was found lead to another file. */
dtx::Task<> change_name(Call &call, Place place, uint32_t ino, uint32_t mode);

/* Awaited: remove a name that was found. */
dtx::Task<> remove_name(Call &call, Place place);

/* A name, as readdir() returns it. */
struct Listed {
    uint64_t cookie; /* pass it to list_names() to go on behind this name */
    uint32_t ino;
    uint8_t type; /* mode >> 12, which is d_type */
    std::string name;
};

inline constexpr uint64_t kDotCookies = 2; /* 1 and 2 are the cookies of "." and ".." */

/* Awaited: at most @limit names of a directory, in the order of their cookies, behind that with
 * @cookie; 0: from the first on. Without "." and "..". */
dtx::Task<std::vector<Listed>> list_names(Call &call, uint32_t directory, uint64_t cookie,
                                          uint32_t limit);

/* Awaited: the same with "." and "..", which come first and beside @limit. Failure: ENOTDIR;
 * ESTALE, the directory is gone. */
dtx::Task<std::vector<Listed>> list_directory(Call &call, uint32_t directory, uint64_t cookie,
                                              uint32_t limit);

} // namespace rfs
#endif
