/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_operations.cc: open, read, write, allocate and close files; list directories.
 *
 * A call that has been answered is durable, so there is nothing to flush: the kernel gets ENOSYS
 * for fsync, which it takes for success, and does not ask again.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/operations.h"

#include "core/base/canary.h"
#include "core/client/files.h"
#include "core/client/mount.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <vector>

namespace rfs
{

/* A flag of the kernel for execve(2), FMODE_EXEC, which it passes with those of open(2). */
static constexpr int kToExecute = 0x20;

/* Does a handle bypass the kernel's page cache (direct_io)? Yes with O_APPEND: with its cache, the
 * kernel would append at the end of the file that it last knew. Yes with O_WRONLY: if a write
 * begins inside a block that is not cached, the kernel would send that part as a request of its
 * own, and the write would take effect in two steps. No with O_RDWR, which mmap(2) needs. */
static bool is_direct(int flags)
{
    return (flags & O_APPEND) != 0 || (flags & O_ACCMODE) == O_WRONLY;
}

static void set_up(Daemon &daemon, const Told &told, fuse_file_info &info)
{
    info.fh = daemon.next_handle() | ((info.flags & O_ACCMODE) != O_RDONLY ? 1 : 0);
    info.direct_io = is_direct(info.flags) ? 1 : 0;
    info.keep_cache = daemon.has_pages(told) ? 1 : 0;
}

/* What the caller must be permitted, a sum of Permission. execve(2) only executes. */
static uint32_t wanted_by(int flags)
{
    if ((flags & kToExecute) != 0)
        return kMayExecute;
    switch (flags & O_ACCMODE) {
    case O_RDONLY:
        return kMayRead;
    case O_WRONLY:
        return kMayWrite;
    default:
        return kMayRead | kMayWrite;
    }
}

static dtx::Task<> answer_open(Daemon &daemon, Request &request, uint32_t ino, fuse_file_info info)
{
    Hold hold(daemon.client().open_files());
    auto body = [ino, wanted = wanted_by(info.flags)](Call &call) {
        return permitted_inode(call, ino, wanted);
    };

    hold.set(ino);

    Told told = co_await daemon.tell(request.who(), body);

    set_up(daemon, told, info);
    if (request.opened(info))
        hold.keep();
}

static void open_file(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    daemon_of(handle).serve(handle, answer_open, number_of(ino), *info);
}

/* The kernel has looked the name up and found none. If another mount has created it since, ESTALE
 * has the kernel look it up again, and check whether the caller may open it. */
static dtx::Task<> answer_create(Daemon &daemon, Request &request, uint32_t parent,
                                 std::string name, mode_t mode, fuse_file_info info)
{
    Hold hold(daemon.client().open_files());
    auto body = [&](Call &call) -> dtx::Task<Node> {
        Wanted wanted{ S_IFREG | (mode & 07777), 0, {} };
        Node node = co_await create(call, parent, name, wanted);

        hold.set(node.ino);
        co_return node;
    };
    Told told;

    try {
        told = co_await daemon.tell(request.who(), body);
    } catch (const Failure &failure) {
        bool exists = failure.error == EEXIST && (info.flags & O_EXCL) == 0;

        throw Failure{ exists ? ESTALE : failure.error };
    }
    set_up(daemon, told, info);
    if (request.created(told, info))
        hold.keep();
}

static void create_file(fuse_req_t handle, fuse_ino_t parent, const char *name, mode_t mode,
                        fuse_file_info *info)
{
    daemon_of(handle).serve(handle, answer_create, number_of(parent), name, mode, *info);
}

/* @taken: owners that have locks by this open file. */
static dtx::Task<> answer_release(Daemon &daemon, Request &request, uint32_t ino,
                                  HeldLocks::Taken taken)
{
    Client &client = daemon.client();
    bool last = client.open_files().remove(ino);

    request.end(0);
    co_await drop_locks(daemon, taken);
    if (last)
        co_await close_file(client, ino);
}

/* Locks of flock(2), and those of fcntl(2) of the open file, end with it; the kernel tells only
 * now. */
static void close_open_file(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);

    daemon.locks().end(info->fh);
    daemon.serve(handle, answer_release, number_of(ino),
                 daemon.locks().take_handle(number_of(ino), info->fh));
}

/* @notes: the open file sets the time of last access. */
static dtx::Task<> answer_read(Daemon &daemon, Request &request, uint32_t ino, size_t size,
                               uint64_t offset, bool notes)
{
    Buffer into = daemon.buffer();
    bool due = false;
    auto body = [&](Call &call) -> dtx::Task<size_t> {
        size_t bytes = co_await read(call, ino, offset, into.get(), std::min(size, kCallBytesMax));

        if (notes)
            due = co_await is_access_due(call, ino);
        co_return bytes;
    };
    size_t got = co_await daemon.client().call(request.who(), body);

    daemon.counts().read_bytes += got;
    (void)request.bytes(into.get(), got);
    into.reset();
    if (due)
        co_await daemon.accessed(ino);
}

static void read_file(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t offset,
                      fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);
    bool notes = daemon.access_times().of_files() && (info->flags & O_NOATIME) == 0;

    daemon.serve_open(handle, info, answer_read, number_of(ino), size,
                      static_cast<uint64_t>(offset), notes);
}

/* @memory: has the bytes. */
static dtx::Task<> answer_write(Daemon &daemon, Request &request, uint32_t ino, NewBytes bytes,
                                bool direct, Buffer memory)
{
    Node node;

    RFS_ASSERT(memory != nullptr);
    expect(bytes.size <= kCallBytesMax, EINVAL);
    if (bytes.size != 0)
        node = co_await write_file(daemon.client(), request.who(), ino, bytes);
    if (direct)
        daemon.lost_pages(ino);
    else if (bytes.size != 0)
        daemon.changed(node);
    daemon.counts().written_bytes += bytes.size;
    request.written(bytes.size);
}

static void write_to_file(fuse_req_t handle, fuse_ino_t ino, const char *bytes, size_t size,
                          off_t offset, fuse_file_info *info)
{
    bool append = (info->flags & O_APPEND) != 0 && !canary(Canary::append_kernel_offset);
    NewBytes wanted{ static_cast<uint64_t>(offset), bytes, size, append };
    Daemon &daemon = daemon_of(handle);

    daemon.serve_open(handle, info, answer_write, number_of(ino), wanted, is_direct(info->flags),
                      daemon.take_request());
}

static dtx::Task<> answer_allocate(Daemon &daemon, Request &request, uint32_t ino, int mode,
                                   uint64_t offset, uint64_t length)
{
    (void)co_await allocate_file(daemon.client(), request.who(), ino, mode, offset, length);
    request.end(0);
}

static void allocate_in_file(fuse_req_t handle, fuse_ino_t ino, int mode, off_t offset,
                             off_t length, fuse_file_info *info)
{
    daemon_of(handle).serve_open(handle, info, answer_allocate, number_of(ino), mode,
                                 static_cast<uint64_t>(offset), static_cast<uint64_t>(length));
}

/* The kernel asks for SEEK_DATA and SEEK_HOLE alone. */
static dtx::Task<> answer_seek(Daemon &daemon, Request &request, uint32_t ino, uint64_t offset,
                               int what)
{
    uint64_t at = co_await seek_file(daemon.client(), request.who(), ino, offset, what);

    request.offset(at);
}

static void seek_in_file(fuse_req_t handle, fuse_ino_t ino, off_t offset, int what,
                         fuse_file_info *info)
{
    daemon_of(handle).serve_open(handle, info, answer_seek, number_of(ino),
                                 static_cast<uint64_t>(offset), what);
}

static dtx::Task<> answer_open_directory(Daemon &daemon, Request &request, uint32_t ino,
                                         fuse_file_info info)
{
    auto body = [ino](Call &call) { return held_directory(call, ino, kMayRead); };

    (void)co_await daemon.client().call(request.who(), body);
    (void)request.opened(info);
}

static void open_directory(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    daemon_of(handle).serve(handle, answer_open_directory, number_in_use(handle, ino), *info);
}

/* What a list gives of a name: its number and type, and if the kernel asks for it, the file. */
static size_t add_entry(Request &request, char *into, size_t room, const Listed &name,
                        const Told *told)
{
    off_t cookie = static_cast<off_t>(name.cookie);

    if (told != nullptr) {
        fuse_entry_param entry = entry_of(*told);

        return fuse_add_direntry_plus(request.handle(), into, room, name.name.c_str(), &entry,
                                      cookie);
    }
    struct stat stat {
    };

    stat.st_ino = name.ino;
    stat.st_mode = static_cast<mode_t>(name.type) << 12;
    return fuse_add_direntry(request.handle(), into, room, name.name.c_str(), &stat, cookie);
}

/* Names are listed without state: the kernel passes the cookie of the last one. */
static dtx::Task<> answer_list(Daemon &daemon, Request &request, uint32_t ino, size_t size,
                               uint64_t cookie)
{
    uint32_t limit = static_cast<uint32_t>(std::clamp<size_t>(size / 32, 1, 1024));
    bool notes = cookie == 0 && daemon.access_times().of_directories();
    bool due = false;
    auto body = [&, limit](Call &call) -> dtx::Task<std::vector<Listed>> {
        std::vector<Listed> listed = co_await list_directory(call, ino, cookie, limit);

        if (notes)
            due = co_await is_access_due(call, ino);
        co_return listed;
    };
    std::vector<Listed> names = co_await daemon.client().call(request.who(), body);
    std::vector<char> bytes(size);
    size_t used = 0;

    for (const Listed &name : names) {
        size_t takes = add_entry(request, bytes.data() + used, size - used, name, nullptr);

        if (takes > size - used)
            break;
        used += takes;
    }
    (void)request.bytes(bytes.data(), used);
    if (due)
        co_await daemon.accessed(ino);
}

static void list(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t cookie, fuse_file_info *)
{
    daemon_of(handle).serve(handle, answer_list, number_of(ino), size,
                            static_cast<uint64_t>(cookie));
}

namespace
{

/* Names in a directory, and the file of each. */
struct Listing {
    std::vector<Listed> names;
    std::vector<Node> nodes;
    bool solo = false;
    bool all_search = false; /* every user may search the directory */
    bool access_due = false;
};

} // namespace

/* Awaited: of "." and "..", which the kernel knows, only the number 0. */
static dtx::Task<Listing> list_files(Call &call, uint32_t ino, uint64_t cookie, uint32_t limit)
{
    Listing listing;

    listing.names = co_await list_directory(call, ino, cookie, limit);
    for (const Listed &name : listing.names) {
        Node node;

        if (name.cookie > kDotCookies)
            node = co_await named_inode(call, name.ino);
        listing.nodes.push_back(node);
    }
    Node directory = co_await held_inode(call, ino);

    listing.all_search = may_all_search(directory.row);
    listing.solo = co_await is_solo(call);
    listing.access_due = co_await is_access_due(call, ino);
    co_return listing;
}

/* As answer_list(), with the files, which the kernel knows then. */
static dtx::Task<> answer_files(Daemon &daemon, Request &request, fuse_ino_t number, size_t size,
                                uint64_t cookie)
{
    uint32_t ino = number_of(number);
    uint32_t limit = static_cast<uint32_t>(std::clamp<size_t>(size / 160, 1, 256));
    uint64_t begin = dtx::now_ns();
    auto body = [=](Call &call) { return list_files(call, ino, cookie, limit); };
    Listing listing = co_await daemon.client().call(request.who(), body);
    std::vector<char> bytes(size);
    std::vector<fuse_ino_t> given;
    size_t used = 0;

    for (size_t i = 0; i < listing.names.size(); i++) {
        Told told{ listing.nodes[i], listing.solo ? begin + kKeepNs : 0 };
        Directories::Place place{ number, listing.names[i].name };

        if (told.is_directory())
            told.number = daemon.directories().listed(told.node.ino, place);
        if (listing.names[i].cookie > kDotCookies)
            daemon.let_keep_name(told, listing.all_search);

        size_t takes =
            add_entry(request, bytes.data() + used, size - used, listing.names[i], &told);

        if (takes > size - used)
            break;
        used += takes;
        daemon.known(told, place);
        given.push_back(told.number_told());
    }
    if (!request.bytes(bytes.data(), used))
        for (fuse_ino_t each : given)
            daemon.forgotten(each, 1);
    if (cookie == 0 && listing.access_due && daemon.access_times().of_directories())
        co_await daemon.accessed(ino);
}

static void list_with_files(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t cookie,
                            fuse_file_info *)
{
    daemon_of(handle).serve(handle, answer_files, ino, size, static_cast<uint64_t>(cookie));
}

void add_file_operations(fuse_lowlevel_ops &operations)
{
    operations.open = open_file;
    operations.opendir = open_directory;
    operations.create = create_file;
    operations.release = close_open_file;
    operations.read = read_file;
    operations.write = write_to_file;
    operations.fallocate = allocate_in_file;
    operations.lseek = seek_in_file;
    operations.readdir = list;
    operations.readdirplus = list_with_files;
}

} // namespace rfs
