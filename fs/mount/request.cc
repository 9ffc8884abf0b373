/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.cc: reply to the kernel.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/request.h"

#include "core/base/canary.h"
#include "core/tree/attributes.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rfs
{

/* The seconds that are left: the kernel counts them from when it gets the reply. */
static double keeps_for(const Told &told)
{
    uint64_t now = dtx::now_ns();

    if (canary(Canary::timeout_shared))
        return 1;
    return told.keep_until_ns > now ? static_cast<double>(told.keep_until_ns - now) / 1e9 : 0;
}

fuse_entry_param entry_of(const Told &told)
{
    fuse_entry_param entry{};

    entry.ino = told.number_told();
    entry.generation = told.node.row.generation;
    entry.attr = stat_of(told.node);
    entry.attr_timeout = keeps_for(told);
    entry.entry_timeout = told.keeps_name ? entry.attr_timeout : 0;
    return entry;
}

Request::Request(fuse_req_t handle, std::shared_ptr<const bool> lost)
    : handle_(handle), lost_(std::move(lost))
{
    const fuse_ctx *caller = fuse_req_ctx(handle);

    who_.uid = caller->uid;
    who_.gid = caller->gid;
    who_.further = this;
    who_.lost = lost_.get();
    thread_ = caller->pid;
}

/* Of a caller that was given up, no further groups are known. */
static std::vector<uint32_t> further_groups(fuse_req_t handle)
{
    std::vector<uint32_t> groups;
    int count = handle != nullptr ? fuse_req_getgroups(handle, 0, nullptr) : 0;

    if (count <= 0)
        return groups;
    groups.resize(static_cast<size_t>(count));
    count = fuse_req_getgroups(handle, count, groups.data());
    groups.resize(std::min(groups.size(), static_cast<size_t>(std::max(count, 0))));
    return groups;
}

bool Request::has(uint32_t group) const
{
    if (!groups_)
        groups_ = further_groups(handle_);
    return std::find(groups_->begin(), groups_->end(), group) != groups_->end();
}

/* @reply: a callable int(fuse_req_t), which returns 0 if the kernel has taken it. */
template <class Reply> bool Request::reply(Reply reply)
{
    fuse_req_t handle = std::exchange(handle_, nullptr);

    RFS_ASSERT(handle != nullptr || given_up_);
    return handle != nullptr && reply(handle) == 0;
}

void Request::give_up(int error)
{
    (void)end(error);
    given_up_ = true;
}

bool Request::end(int error)
{
    return reply([=](fuse_req_t handle) { return fuse_reply_err(handle, error); });
}

bool Request::entry(const Told &told)
{
    fuse_entry_param entry = entry_of(told);

    return reply([&](fuse_req_t handle) {
        if (told.node.ino == 0 && entry.entry_timeout == 0)
            return fuse_reply_err(handle, ENOENT);
        return fuse_reply_entry(handle, &entry);
    });
}

bool Request::created(const Told &told, const fuse_file_info &file)
{
    fuse_entry_param entry = entry_of(told);

    return reply([&](fuse_req_t handle) { return fuse_reply_create(handle, &entry, &file); });
}

bool Request::opened(const fuse_file_info &file)
{
    return reply([&](fuse_req_t handle) { return fuse_reply_open(handle, &file); });
}

void Request::attributes(const Told &told)
{
    struct stat stat = stat_of(told.node);

    (void)reply([&](fuse_req_t handle) { return fuse_reply_attr(handle, &stat, keeps_for(told)); });
}

void Request::link_target(const std::string &target)
{
    (void)reply([&](fuse_req_t handle) { return fuse_reply_readlink(handle, target.c_str()); });
}

bool Request::bytes(const void *from, size_t size)
{
    return reply([=](fuse_req_t handle) {
        return fuse_reply_buf(handle, static_cast<const char *>(from), size);
    });
}

void Request::written(size_t size)
{
    (void)reply([=](fuse_req_t handle) { return fuse_reply_write(handle, size); });
}

void Request::offset(uint64_t at)
{
    (void)reply(
        [=](fuse_req_t handle) { return fuse_reply_lseek(handle, static_cast<off_t>(at)); });
}

void Request::volume(const struct statvfs &of)
{
    (void)reply([&](fuse_req_t handle) { return fuse_reply_statfs(handle, &of); });
}

void Request::xattr_bytes(size_t size)
{
    (void)reply([=](fuse_req_t handle) { return fuse_reply_xattr(handle, size); });
}

void Request::lock(const struct flock &found)
{
    (void)reply([&](fuse_req_t handle) { return fuse_reply_lock(handle, &found); });
}

} // namespace rfs
