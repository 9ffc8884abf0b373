/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attributes.h: change mode, owner and times of a file.
 *
 * Tests: tests/unit/fs/tree/attributes_test.cpp
 */
#ifndef FS_CORE_TREE_ATTRIBUTES_H
#define FS_CORE_TREE_ATTRIBUTES_H

#include "core/tree/inodes.h"

#include <cstdint>
#include <optional>
#include <sys/stat.h>

namespace rfs
{

/* A time to set: the time of the call, or that of the caller. */
struct NewTime {
    bool now = false;
    int64_t ns = 0; /* unless now */
};

/* What to change; nullopt: nothing. */
struct Changes {
    std::optional<uint32_t> mode{}; /* permission bits; the type stays */
    bool writer_drops_ids = false; /* a user who may write the file may take its set-ID bits away */
    std::optional<uint32_t> uid{};
    std::optional<uint32_t> gid{};
    bool drops_ids = false; /* as a change of the owner, though there may be none */
    std::optional<NewTime> atime{};
    std::optional<NewTime> mtime{};
};

/* Awaited: apply the changes together. Returns the file as it is then. A caller other than user 0
 * who gives a file to a group takes the set-ID bits away; setting a mode takes the set-group-ID bit
 * away if the caller is not in the file's group. Failure: ESTALE; EPERM, the caller is not the
 * owner, or gives the file to a user or group that is not his; EACCES, times are set to now by one
 * who may not write the file. */
dtx::Task<Node> change(Call &call, uint32_t ino, Changes changes);

/* Does a read set the time of last access? If that is not later than the last changes of the file,
 * or a day old (relatime); once a second at most where changes are dated in the future. */
bool is_access_due(const Call &call, const InodeRow &row);
/* Awaited: the same of a file that the call has read. */
dtx::Task<bool> is_access_due(Call &call, uint32_t ino);

/* Awaited: set the time of last access, if that is due. It is no change of the file. Does nothing
 * if there is no such file. */
dtx::Task<> note_access(Call &call, uint32_t ino);

/* A device as InodeRow::device has it. */
uint32_t device_number(dev_t device);

/* What stat() returns of a file. */
struct stat stat_of(const Node &node);

} // namespace rfs
#endif
