/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.cc: reply to the kernel.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/request.h"

#include "core/tree/attributes.h"

#include <algorithm>
#include <utility>

namespace rfs
{

static fuse_entry_param entry_of(const Node &node)
{
    fuse_entry_param entry{};

    entry.ino = node.ino;
    entry.generation = node.row.generation;
    entry.attr = stat_of(node);
    return entry;
}

Request::Request(fuse_req_t handle) : handle_(handle)
{
    const fuse_ctx *caller = fuse_req_ctx(handle);

    who_.uid = caller->uid;
    who_.gid = caller->gid;
    who_.checked = true;
}

Credentials Request::who_with_groups() const
{
    Credentials who = who_;
    int count = fuse_req_getgroups(handle_, 0, nullptr);

    if (count <= 0)
        return who;
    who.groups.resize(static_cast<size_t>(count));
    count = fuse_req_getgroups(handle_, count, who.groups.data());
    who.groups.resize(std::min(who.groups.size(), static_cast<size_t>(std::max(count, 0))));
    return who;
}

fuse_req_t Request::take()
{
    RFS_ASSERT(handle_ != nullptr);
    return std::exchange(handle_, nullptr);
}

void Request::end(int error)
{
    (void)fuse_reply_err(take(), error);
}

bool Request::entry(const Node &node)
{
    fuse_entry_param entry = entry_of(node);

    return fuse_reply_entry(take(), &entry) == 0;
}

bool Request::created(const Node &node, const fuse_file_info &file)
{
    fuse_entry_param entry = entry_of(node);

    return fuse_reply_create(take(), &entry, &file) == 0;
}

bool Request::opened(const fuse_file_info &file)
{
    return fuse_reply_open(take(), &file) == 0;
}

void Request::attributes(const Node &node)
{
    struct stat stat = stat_of(node);

    (void)fuse_reply_attr(take(), &stat, 0);
}

void Request::link_target(const std::string &target)
{
    (void)fuse_reply_readlink(take(), target.c_str());
}

void Request::bytes(const void *from, size_t size)
{
    (void)fuse_reply_buf(take(), static_cast<const char *>(from), size);
}

void Request::written(size_t size)
{
    (void)fuse_reply_write(take(), size);
}

void Request::volume(const struct statvfs &of)
{
    (void)fuse_reply_statfs(take(), &of);
}

void Request::xattr_bytes(size_t size)
{
    (void)fuse_reply_xattr(take(), size);
}

} // namespace rfs
