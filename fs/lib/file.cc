/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.cc: open files.
 *
 * Tests: tests/unit/fs/lib/library_test.cpp, tests/fs/model_test.cpp
 */
#include "lib/handle.h"

#include "core/base/assert.h"
#include "core/file/allocate.h"
#include "core/file/resize.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <fcntl.h>

struct rfs_file {
    rfs_client *client;
    rfs::Credentials who;
    uint32_t ino;
    int flags;
};

namespace rfs
{

static bool reads(int flags)
{
    return (flags & O_ACCMODE) != O_WRONLY;
}

static bool writes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY;
}

/* May the caller open this file so? */
static void expect_may_open(const Call &call, const InodeRow &row, int flags)
{
    bool changes = writes(flags) || (flags & O_TRUNC) != 0;

    expect((flags & O_DIRECTORY) == 0 || S_ISDIR(row.mode), ENOTDIR);
    expect(!S_ISLNK(row.mode), ELOOP);
    expect(!S_ISDIR(row.mode) || (!changes && (flags & O_CREAT) == 0), EISDIR);
    expect(may(call.who, row, (reads(flags) ? kMayRead : 0u) | (changes ? kMayWrite : 0u)), EACCES);
}

/* Awaited: a file that exists. */
static dtx::Task<Node> open_existing(Call &call, uint32_t ino, int flags)
{
    Node node = co_await named_inode(call, ino);

    expect_may_open(call, node.row, flags);
    if ((flags & O_TRUNC) != 0 && S_ISREG(node.row.mode)) {
        Room none; /* a size of 0 needs no block */

        node = co_await resize(call, ino, 0, none);
    }
    co_return node;
}

/* Awaited: the file of a path, which is created if it does not exist. */
static dtx::Task<Node> open_path(Call &call, const char *path, int flags, uint32_t mode)
{
    bool follows = (flags & O_NOFOLLOW) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);

    if ((flags & O_CREAT) == 0) {
        Node node = co_await resolve(call, kRootIno, path, follows);

        co_return co_await open_existing(call, node.ino, flags);
    }

    Last last =
        co_await walk(call, kRootIno, path, follows ? Follow::without_slash : Follow::never);

    expect(!is_fixed(last), (flags & O_EXCL) != 0 ? EEXIST : EISDIR);
    expect(!last.wants_directory, EISDIR);

    Place place = co_await find_name(call, last.directory, last.name);

    expect(!place.is_taken() || (flags & O_EXCL) == 0, EEXIST);
    if (place.is_taken())
        co_return co_await open_existing(call, place.ino, flags);

    Wanted wanted{ S_IFREG | (mode & 07777), 0, {} };

    co_return co_await create(call, last.directory, last.name, wanted);
}

/* Opens; finishes an earlier cut of the file, and its own. */
static Node open_now(rfs_client *client, const Credentials &who, const char *path, int flags,
                     uint32_t mode)
{
    for (;;) {
        Node node;

        try {
            node = client->client.call_now(
                who, [&](Call &call) { return open_path(call, path, flags, mode); });
        } catch (const Unfinished &) { /* only an existing file is cut */
            node = client->client.call_now(
                who, [&](Call &call) { return resolve(call, kRootIno, path, true); });
            client->client.finish(finish_cut(client->client, node.ino));
            continue;
        }
        if (node.row.cut != kNoCut)
            client->client.finish(finish_cut(client->client, node.ino));
        return node;
    }
}

static size_t part_of(size_t size)
{
    return std::min(size, kCallBytesMax);
}

} // namespace rfs

int rfs_open(rfs_client *client, const rfs_cred *who, const char *path, int flags, mode_t mode,
             rfs_file **file)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);

        rfs::expect(path != nullptr && file != nullptr, EINVAL);
        rfs::expect((flags & O_ACCMODE) != O_ACCMODE, EINVAL);
        rfs::expect((flags & (O_CREAT | O_DIRECTORY)) != (O_CREAT | O_DIRECTORY), EINVAL);

        auto made = std::make_unique<rfs_file>(rfs_file{ client, self, 0, flags });

        made->ino = rfs::open_now(client, self, path, flags, mode).ino;
        client->client.open_files().add(made->ino);
        *file = made.release();
        return 0;
    });
}

void rfs_close(rfs_file **file)
{
    if (file == nullptr || *file == nullptr)
        return;

    rfs_file *taken = std::exchange(*file, nullptr);

    rfs::close_handle(taken->client, taken->ino);
    delete taken;
}

ssize_t rfs_pread(rfs_file *file, void *into, size_t size, uint64_t offset)
{
    return rfs::guarded(file->client, [=]() -> ssize_t {
        auto bytes = static_cast<unsigned char *>(into);
        size_t done = 0;

        rfs::expect(into != nullptr && size <= SSIZE_MAX, EINVAL);
        rfs::expect(rfs::reads(file->flags), EBADF);
        for (size_t got = 1; got > 0 && done < size; done += got)
            got = file->client->client.call_now(file->who, [&](rfs::Call &call) {
                return rfs::read(call, file->ino, offset + done, bytes + done,
                                 rfs::part_of(size - done));
            });
        return static_cast<ssize_t>(done);
    });
}

ssize_t rfs_pwrite(rfs_file *file, const void *bytes, size_t size, uint64_t offset)
{
    rfs_client *client = file->client;

    return rfs::guarded(client, [=]() -> ssize_t {
        auto from = static_cast<const unsigned char *>(bytes);
        size_t done = 0;

        rfs::expect(bytes != nullptr && size <= SSIZE_MAX, EINVAL);
        rfs::expect(rfs::writes(file->flags), EBADF);
        while (done < size) {
            size_t part = rfs::part_of(size - done);
            rfs::NewBytes piece{ offset + done, from + done, part, (file->flags & O_APPEND) != 0 };

            try {
                (void)client->client.finish(
                    rfs::write_file(client->client, file->who, file->ino, piece));
            } catch (...) {
                if (done == 0)
                    throw;
                break;
            }
            done += part;
        }
        return static_cast<ssize_t>(done);
    });
}

int rfs_ftruncate(rfs_file *file, uint64_t size)
{
    rfs_client *client = file->client;

    return rfs::guarded(client, [=] {
        rfs::expect(rfs::writes(file->flags), EBADF);
        (void)client->client.finish(rfs::resize_file(client->client, file->who, file->ino, size));
        return 0;
    });
}

int rfs_fallocate(rfs_file *file, int mode, uint64_t offset, uint64_t length)
{
    rfs_client *client = file->client;

    return rfs::guarded(client, [=] {
        rfs::expect_allocation(mode, offset, length);
        rfs::expect(rfs::writes(file->flags), EBADF);
        (void)client->client.finish(
            rfs::allocate_file(client->client, file->who, file->ino, mode, offset, length));
        return 0;
    });
}

int64_t rfs_seek(rfs_file *file, uint64_t offset, int what)
{
    rfs_client *client = file->client;

    return rfs::guarded(client, [=] {
        return static_cast<int64_t>(client->client.finish(
            rfs::seek_file(client->client, file->who, file->ino, offset, what)));
    });
}

int rfs_fstat(rfs_file *file, struct stat *stat)
{
    return rfs::guarded(file->client, [=] {
        rfs::expect(stat != nullptr, EINVAL);
        *stat = rfs::stat_of(file->client->client.call_now(
            file->who, [&](rfs::Call &call) { return rfs::held_inode(call, file->ino); }));
        return 0;
    });
}
