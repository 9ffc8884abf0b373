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
#include <memory>

namespace rfs
{

bool reads(int flags)
{
    return (flags & O_ACCMODE) != O_WRONLY;
}

bool writes(int flags)
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

    co_return co_await create_at(call, last.parent, place, last.name, wanted);
}

/* What to open, as rfs_open() has it. */
struct Opening {
    std::string path;
    int flags;
    uint32_t mode;
};

/* Awaited: opens; finishes an earlier cut of the file, and its own. @hold: keeps the file open from
 * the attempt on. */
static dtx::Task<Node> open_file(rfs_client *client, const Credentials &who, const Opening &what,
                                 Hold &hold)
{
    auto open = [&](Call &call) -> dtx::Task<Node> {
        Node node = co_await open_path(call, what.path.c_str(), what.flags, what.mode);

        hold.set(node.ino);
        co_return node;
    };
    auto find = [&](Call &call) { return resolve(call, kRootIno, what.path, true); };

    for (;;) {
        bool unfinished = false;
        Node node;

        try {
            node = co_await client->client.call(who, open);
        } catch (const Unfinished &) { /* only an existing file is cut */
            unfinished = true;
        }
        if (unfinished)
            node = co_await client->client.call(who, find);
        if (unfinished || node.row.cut != kNoCut)
            co_await finish_cut(client->client, node.ino);
        if (!unfinished)
            co_return node;
    }
}

/* The calls, as coroutines. What they are given by pointer is borrowed until they end. */
static dtx::Task<int64_t> open_call(rfs_client *client, Credentials who, Opening what, Job &job)
{
    Hold hold(client->client.open_files());
    auto made = std::make_unique<rfs_file>(client, who, what.flags);

    expect((what.flags & O_ACCMODE) != O_ACCMODE, EINVAL);
    expect((what.flags & (O_CREAT | O_DIRECTORY)) != (O_CREAT | O_DIRECTORY), EINVAL);

    Node node = co_await open_file(client, who, what, hold);

    made->ino = node.ino;
    hold.keep();
    job.opened = std::move(made);
    co_return 0;
}

dtx::Task<int64_t> close_call(rfs_file *file)
{
    std::exception_ptr thrown;

    try {
        co_await drop_locks(file);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_await close_handle(file->client, file->ino);
    if (thrown)
        std::rethrow_exception(thrown);
    co_return 0;
}

static size_t part_of(size_t size)
{
    return std::min(size, kCallBytesMax);
}

void expect_usable(const rfs_file *file, bool open_for_it)
{
    expect(open_for_it, EBADF);
    expect(!file->lost, EIO);
}

static dtx::Task<int64_t> read_call(rfs_file *file, void *into, size_t size, uint64_t offset)
{
    auto bytes = static_cast<unsigned char *>(into);
    size_t done = 0;
    auto body = [&](Call &call) {
        return read(call, file->ino, offset + done, bytes + done, part_of(size - done));
    };

    expect(into != nullptr && size <= SSIZE_MAX, EINVAL);
    expect_usable(file, reads(file->flags));
    for (size_t got = 1; got > 0 && done < size; done += got)
        got = co_await file->client->client.call(file->who, body);
    co_return static_cast<int64_t>(done);
}

static dtx::Task<int64_t> write_call(rfs_file *file, const void *bytes, size_t size,
                                     uint64_t offset)
{
    auto from = static_cast<const unsigned char *>(bytes);
    size_t done = 0;

    expect(bytes != nullptr && size <= SSIZE_MAX, EINVAL);
    expect_usable(file, writes(file->flags));
    while (done < size) {
        size_t part = part_of(size - done);
        NewBytes piece{ offset + done, from + done, part, (file->flags & O_APPEND) != 0 };

        try {
            (void)co_await write_file(file->client->client, file->who, file->ino, piece);
        } catch (...) {
            if (done == 0)
                throw;
            break;
        }
        done += part;
    }
    co_return static_cast<int64_t>(done);
}

/* All that has ended is durable, and this begins when earlier calls have ended. */
static dtx::Task<int64_t> sync_call(rfs_file *file)
{
    expect_usable(file, true);
    co_return 0;
}

} // namespace rfs

int rfs_open(rfs_client *client, const rfs_cred *who, const char *path, int flags, mode_t mode,
             rfs_file **file)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);
        rfs::Opening what{ rfs::path_of(path), flags, mode };

        rfs::expect(file != nullptr, EINVAL);
        return static_cast<int>(client->calls.run(nullptr, rfs::Order::free, [&](rfs::Job &job) {
            job.into = file;
            return rfs::open_call(client, self, what, job);
        }));
    });
}

int rfs_open_async(rfs_client *client, const rfs_cred *who, const char *path, int flags,
                   mode_t mode, rfs_file **file, void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &job) {
        rfs::expect(file != nullptr, EINVAL);
        job.into = file;
        return rfs::open_call(client, rfs::credentials_of(who), { rfs::path_of(path), flags, mode },
                              job);
    });
}

void rfs_close(rfs_file **file)
{
    if (file == nullptr || *file == nullptr)
        return;

    rfs_file *taken = std::exchange(*file, nullptr);

    (void)rfs::run(taken->client, taken, rfs::Order::close,
                   [=](rfs::Job &) { return rfs::close_call(taken); });
}

int rfs_close_async(rfs_file **file, void *context)
{
    if (file == nullptr || *file == nullptr)
        return rfs::failed(EINVAL);

    rfs_file *taken = *file;
    int err = rfs::submit(taken->client, taken, rfs::Order::close, context,
                          [=](rfs::Job &) { return rfs::close_call(taken); });

    if (err == 0)
        *file = nullptr;
    return err;
}

ssize_t rfs_pread(rfs_file *file, void *into, size_t size, uint64_t offset)
{
    return rfs::run(file->client, file, rfs::Order::free,
                    [=](rfs::Job &) { return rfs::read_call(file, into, size, offset); });
}

int rfs_pread_async(rfs_file *file, void *into, size_t size, uint64_t offset, void *context)
{
    return rfs::submit(file->client, file, rfs::Order::free, context,
                       [=](rfs::Job &) { return rfs::read_call(file, into, size, offset); });
}

ssize_t rfs_pwrite(rfs_file *file, const void *bytes, size_t size, uint64_t offset)
{
    return rfs::run(file->client, file, rfs::Order::free,
                    [=](rfs::Job &) { return rfs::write_call(file, bytes, size, offset); });
}

int rfs_pwrite_async(rfs_file *file, const void *bytes, size_t size, uint64_t offset, void *context)
{
    return rfs::submit(file->client, file, rfs::Order::free, context,
                       [=](rfs::Job &) { return rfs::write_call(file, bytes, size, offset); });
}

int rfs_fsync(rfs_file *file)
{
    return static_cast<int>(rfs::run(file->client, file, rfs::Order::barrier,
                                     [=](rfs::Job &) { return rfs::sync_call(file); }));
}

int rfs_fsync_async(rfs_file *file, void *context)
{
    return rfs::submit(file->client, file, rfs::Order::barrier, context,
                       [=](rfs::Job &) { return rfs::sync_call(file); });
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
