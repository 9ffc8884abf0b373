/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * permission.cc: judge permission bits.
 *
 * Tests: tests/unit/fs/tree/permission_test.cpp
 */
#include "core/tree/permission.h"

#include "core/base/assert.h"

#include <sys/stat.h>

namespace rfs
{

bool owns(const Credentials &who, const InodeRow &inode)
{
    return who.uid == 0 || who.uid == inode.uid;
}

bool may(const Credentials &who, const InodeRow &inode, uint32_t wanted)
{
    uint32_t bits = inode.mode;

    RFS_ASSERT(wanted <= (kMayExecute | kMayWrite | kMayRead));
    if (who.uid == 0)
        return (wanted & kMayExecute) == 0 || S_ISDIR(inode.mode) ||
               (bits & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
    if (who.uid == inode.uid)
        return (bits >> 6 & wanted) == wanted;

    bool group_may = (bits >> 3 & wanted) == wanted;
    bool others_may = (bits & wanted) == wanted;

    if (group_may == others_may)
        return group_may;
    return who.is_in(inode.gid) ? group_may : others_may;
}

bool may_remove(const Credentials &who, const InodeRow &directory, const InodeRow &inode)
{
    return (directory.mode & S_ISVTX) == 0 || owns(who, directory) || owns(who, inode);
}

void drop_set_ids(InodeRow &inode)
{
    if (!S_ISREG(inode.mode))
        return;
    inode.mode &= ~static_cast<uint32_t>(S_ISUID);
    if ((inode.mode & S_IXGRP) != 0) /* without it the bit asks for mandatory locks */
        inode.mode &= ~static_cast<uint32_t>(S_ISGID);
}

} // namespace rfs
