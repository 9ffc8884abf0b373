/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_operations.cc: open, read, write and close files; list directories.
 *
 * A call that has been answered is durable, so there is nothing to flush: the kernel gets ENOSYS
 * for fsync and flush, which it takes for success, and does not ask again.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/operations.h"

#include "core/client/files.h"
#include "core/client/mount.h"
#include "core/tree/create.h"
#include "core/tree/names.h"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <vector>

namespace rfs
{

/* A handle that appends has no pages in the kernel, which would put them at the end that it
 * knows. */
static void set_flags(fuse_file_info &info)
{
    info.direct_io = (info.flags & O_APPEND) != 0 ? 1 : 0;
    info.keep_cache = 0;
}

static void open_file(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);

    daemon.serve(
        handle,
        [&daemon, ino = number_of(ino), info = *info](Request &request) mutable -> dtx::Task<> {
            Client &client = daemon.client();
            Hold hold(client.open_files());
            auto body = [ino](Call &call) { return held_inode(call, ino); };

            hold.set(ino);
            if ((info.flags & O_TRUNC) != 0)
                (void)co_await resize_file(client, request.who(), ino, 0);
            else
                (void)co_await client.call(request.who(), body);
            set_flags(info);
            if (request.opened(info))
                hold.keep();
        });
}

/* The kernel has looked the name up and found none. If another mount has created it since, ESTALE
 * has the kernel look it up again, and check whether the caller may open it. */
static void create_file(fuse_req_t handle, fuse_ino_t parent, const char *name, mode_t mode,
                        fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);

    daemon.serve(handle,
                 [&daemon, parent = number_of(parent), name = std::string(name), mode,
                  info = *info](Request &request) mutable -> dtx::Task<> {
                     Client &client = daemon.client();
                     Credentials who = request.who_with_groups();
                     Hold hold(client.open_files());
                     auto body = [&](Call &call) -> dtx::Task<Node> {
                         Node node = co_await create(call, parent, name,
                                                     { S_IFREG | (mode & 07777), 0, {} });

                         hold.set(node.ino);
                         co_return node;
                     };
                     Node node;

                     try {
                         node = co_await client.call(who, body);
                     } catch (const Failure &failure) {
                         bool exists = failure.error == EEXIST && (info.flags & O_EXCL) == 0;

                         throw Failure{ exists ? ESTALE : failure.error };
                     }
                     set_flags(info);
                     if (request.created(node, info))
                         hold.keep();
                 });
}

static void close_open_file(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *)
{
    Daemon &daemon = daemon_of(handle);

    daemon.serve(handle, [&daemon, ino = number_of(ino)](Request &request) -> dtx::Task<> {
        Client &client = daemon.client();

        request.end(0);
        if (client.open_files().remove(ino))
            co_await close_file(client, ino);
    });
}

static void read_file(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t offset,
                      fuse_file_info *)
{
    Daemon &daemon = daemon_of(handle);

    daemon.serve(handle,
                 [&daemon, ino = number_of(ino), size = std::min(size, kCallBytesMax),
                  offset = static_cast<uint64_t>(offset)](Request &request) -> dtx::Task<> {
                     Buffer into = daemon.buffer();
                     auto body = [&](Call &call) {
                         return read(call, ino, offset, into.get(), size);
                     };
                     size_t got = co_await daemon.client().call(request.who(), body);

                     request.bytes(into.get(), got);
                 });
}

static void write_to_file(fuse_req_t handle, fuse_ino_t ino, const char *bytes, size_t size,
                          off_t offset, fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);
    NewBytes wanted{ static_cast<uint64_t>(offset), bytes, size, (info->flags & O_APPEND) != 0 };

    daemon.serve(handle,
                 [&daemon, ino = number_of(ino), wanted,
                  memory = daemon.take_request()](Request &request) -> dtx::Task<> {
                     expect(wanted.size <= kCallBytesMax, EINVAL);
                     if (wanted.size != 0)
                         (void)co_await write_file(daemon.client(), request.who(), ino, wanted);
                     request.written(wanted.size);
                 });
}

/* Names are listed without state: the kernel passes the cookie of the last one. */
static void list(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t cookie, fuse_file_info *)
{
    Daemon &daemon = daemon_of(handle);

    daemon.serve(handle,
                 [&daemon, ino = number_of(ino), size,
                  cookie = static_cast<uint64_t>(cookie)](Request &request) -> dtx::Task<> {
                     uint32_t limit = static_cast<uint32_t>(std::clamp<size_t>(size / 32, 1, 1024));
                     auto body = [=](Call &call) {
                         return list_directory(call, ino, cookie, limit);
                     };
                     std::vector<Listed> names = co_await daemon.client().call(request.who(), body);
                     std::vector<char> bytes(size);
                     size_t used = 0;

                     for (const Listed &name : names) {
                         struct stat stat {
                         };

                         stat.st_ino = name.ino;
                         stat.st_mode = static_cast<mode_t>(name.type) << 12;

                         size_t takes = fuse_add_direntry(request.handle(), bytes.data() + used,
                                                          size - used, name.name.c_str(), &stat,
                                                          static_cast<off_t>(name.cookie));

                         if (takes > size - used)
                             break;
                         used += takes;
                     }
                     request.bytes(bytes.data(), used);
                 });
}

void add_file_operations(fuse_lowlevel_ops &operations)
{
    operations.open = open_file;
    operations.create = create_file;
    operations.release = close_open_file;
    operations.read = read_file;
    operations.write = write_to_file;
    operations.readdir = list;
}

} // namespace rfs
