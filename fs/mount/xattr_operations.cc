/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr_operations.cc: extended attributes. A kernel that is offered them asks for one before each
 * write(), to see whether the file is a program with capabilities.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/operations.h"

#include "core/tree/xattrs.h"

#include <string>

namespace rfs
{

/* @size: bytes that the caller has room for; 0: it asks how many there are. */
static void answer_bytes(Request &request, const std::string &bytes, size_t size)
{
    if (size == 0) {
        request.xattr_bytes(bytes.size());
        return;
    }
    expect(bytes.size() <= size, ERANGE);
    (void)request.bytes(bytes.data(), bytes.size());
}

static dtx::Task<> answer_get(Daemon &daemon, Request &request, uint32_t ino, std::string name,
                              size_t size)
{
    auto body = [&](Call &call) { return get_xattr(call, ino, name); };
    std::string value = co_await daemon.client().call(request.who(), body);

    answer_bytes(request, value, size);
}

static void get(fuse_req_t handle, fuse_ino_t ino, const char *name, size_t size)
{
    daemon_of(handle).serve(handle, answer_get, number_of(ino), name, size);
}

static dtx::Task<> answer_names(Daemon &daemon, Request &request, uint32_t ino, size_t size)
{
    auto body = [ino](Call &call) { return list_xattrs(call, ino); };
    std::string names = co_await daemon.client().call(request.who(), body);

    answer_bytes(request, names, size);
}

static void list_all(fuse_req_t handle, fuse_ino_t ino, size_t size)
{
    daemon_of(handle).serve(handle, answer_names, number_of(ino), size);
}

static dtx::Task<> answer_set(Daemon &daemon, Request &request, uint32_t ino, std::string name,
                              std::string value, int flags)
{
    auto body = [&](Call &call) { return set_xattr(call, ino, name, value, flags); };

    (void)co_await daemon.client().call(request.who(), body);
    request.end(0);
}

static void set(fuse_req_t handle, fuse_ino_t ino, const char *name, const char *value, size_t size,
                int flags)
{
    daemon_of(handle).serve(handle, answer_set, number_of(ino), name, std::string(value, size),
                            flags);
}

static dtx::Task<> answer_remove(Daemon &daemon, Request &request, uint32_t ino, std::string name)
{
    auto body = [&](Call &call) { return remove_xattr(call, ino, name); };

    (void)co_await daemon.client().call(request.who(), body);
    request.end(0);
}

static void remove_one(fuse_req_t handle, fuse_ino_t ino, const char *name)
{
    daemon_of(handle).serve(handle, answer_remove, number_of(ino), name);
}

void add_xattr_operations(fuse_lowlevel_ops &operations)
{
    operations.getxattr = get;
    operations.listxattr = list_all;
    operations.setxattr = set;
    operations.removexattr = remove_one;
}

} // namespace rfs
