/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_operations.cc: look up, create, link, remove, rename; attributes.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/operations.h"

#include "core/client/files.h"
#include "core/client/usage.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/permission.h"
#include "core/tree/remove.h"
#include "core/tree/rename.h"

#include <linux/fs.h> /* RENAME_EXCHANGE */
#include <string>
#include <unistd.h>

namespace rfs
{

static constexpr int64_t kSecond = 1000000000; /* in nanoseconds */

namespace
{

/* A name in a directory that the kernel knows by @number, which the coroutine of its request keeps.
 */
struct Name {
    fuse_ino_t number;
    std::string text;

    uint32_t directory() const
    {
        return number_of(number);
    }
    Spot spot() const
    {
        return { directory(), text };
    }
    Directories::Place place() const
    {
        return { number, text };
    }
};

} // namespace

/* Answers with a file that the kernel then knows at @name. */
static void answer_entry(Daemon &daemon, Request &request, Told told, const Name &name)
{
    if (told.is_directory())
        told.number = daemon.directories().looked_up(told.node.ino, name.place(), request.thread(),
                                                     dtx::now_ns());
    daemon.known(told, name.place());
    if (!request.entry(told))
        daemon.forgotten(told.number_told(), 1);
}

/* Awaited: the file of a name; ino 0: there is none. @all_search: out: every user may search the
 * directory. */
static dtx::Task<Node> find_child(Call &call, uint32_t parent, std::string_view name,
                                  bool &all_search)
{
    Node directory = co_await held_directory(call, parent, kMayExecute);
    Node none;

    all_search = may_all_search(directory.row);
    check_name(name);
    Place place = co_await find_name(call, directory.ino, name);

    if (!place.is_taken())
        co_return none;
    co_return co_await named_inode(call, place.ino);
}

static dtx::Task<> answer_lookup(Daemon &daemon, Request &request, Name name)
{
    bool all_search = false;
    auto body = [&](Call &call) {
        return find_child(call, name.directory(), name.text, all_search);
    };
    Told told = co_await daemon.tell(request.who(), body);

    daemon.let_keep_name(told, all_search);
    answer_entry(daemon, request, told, name);
}

static dtx::Task<> answer_number(Daemon &daemon, Request &request, uint32_t ino)
{
    auto body = [ino](Call &call) { return held_inode(call, ino); };
    Told told = co_await daemon.tell(request.who(), body);

    expect(S_ISREG(told.node.row.mode), ENOENT); /* a directory has one name in the kernel */
    answer_entry(daemon, request, told, {});
}

void look_up_number(fuse_req_t handle, uint32_t ino)
{
    daemon_of(handle).serve(handle, answer_number, ino);
}

static void look_up(fuse_req_t handle, fuse_ino_t parent, const char *name)
{
    (void)number_in_use(handle, parent);
    daemon_of(handle).serve(handle, answer_lookup, { parent, name });
}

static void forget(fuse_req_t handle, fuse_ino_t ino, uint64_t times)
{
    daemon_of(handle).forgotten(ino, times);
    fuse_reply_none(handle);
}

static void forget_many(fuse_req_t handle, size_t count, fuse_forget_data *files)
{
    for (size_t i = 0; i < count; i++)
        if (!is_statistics(files[i].ino))
            daemon_of(handle).forgotten(files[i].ino, files[i].nlookup);
    fuse_reply_none(handle);
}

static dtx::Task<> answer_make(Daemon &daemon, Request &request, Name name, uint32_t mode,
                               uint32_t device, std::string target)
{
    Wanted wanted{ mode, device, target };
    auto body = [&](Call &call) { return create(call, name.directory(), name.text, wanted); };
    Told told = co_await daemon.tell(request.who(), body);

    answer_entry(daemon, request, told, name);
}

static void make_node(fuse_req_t handle, fuse_ino_t parent, const char *name, mode_t mode,
                      dev_t device)
{
    uint32_t number = device_number(device);

    daemon_of(handle).serve(handle, answer_make, { parent, name }, mode, number, "");
}

static void make_directory(fuse_req_t handle, fuse_ino_t parent, const char *name, mode_t mode)
{
    daemon_of(handle).serve(handle, answer_make, { parent, name }, S_IFDIR | (mode & 01777), 0, "");
}

static void make_link(fuse_req_t handle, const char *target, fuse_ino_t parent, const char *name)
{
    daemon_of(handle).serve(handle, answer_make, { parent, name }, S_IFLNK | 0777, 0, target);
}

static dtx::Task<> answer_target(Daemon &daemon, Request &request, uint32_t ino)
{
    auto body = [ino](Call &call) { return read_link(call, ino); };
    std::string target = co_await daemon.client().call(request.who(), body);

    request.link_target(target);
}

static void read_target(fuse_req_t handle, fuse_ino_t ino)
{
    daemon_of(handle).serve(handle, answer_target, number_of(ino));
}

/* Awaited: a user may add a name to a file of another one only where the user may read and write
 * it, as Linux has it where fs.protected_hardlinks is set: the owner could not get rid of it. */
static dtx::Task<Node> add_safe_link(Call &call, uint32_t ino, uint32_t parent,
                                     std::string_view name)
{
    Node node = co_await held_inode(call, ino);
    uint32_t mode = node.row.mode;
    bool runs_as_others =
        (mode & S_ISUID) != 0 || (mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    bool is_safe =
        S_ISREG(mode) && !runs_as_others && may(call.who, node.row, kMayRead | kMayWrite);

    expect(owns(call.who, node.row) || is_safe, EPERM);
    co_return co_await link(call, ino, parent, name);
}

static dtx::Task<> answer_link(Daemon &daemon, Request &request, uint32_t ino, Name name)
{
    auto body = [&](Call &call) { return add_safe_link(call, ino, name.directory(), name.text); };
    Told told = co_await daemon.tell(request.who(), body);

    answer_entry(daemon, request, told, name);
}

static void add_link(fuse_req_t handle, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    daemon_of(handle).serve(handle, answer_link, number_of(ino), { parent, name });
}

/* Awaited: frees a file that has lost its last name. */
static dtx::Task<> free_removed(Daemon &daemon, std::optional<Node> removed)
{
    if (removed && removed->row.links == 0)
        co_await free_file(daemon.client(), removed->ino);
}

static dtx::Task<> answer_unlink(Daemon &daemon, Request &request, uint32_t parent,
                                 std::string name)
{
    auto body = [&](Call &call) { return remove_file(call, parent, name); };
    Node node = co_await daemon.client().call(request.who(), body);

    (void)request.end(0);
    co_await free_removed(daemon, node);
}

static void unlink_name(fuse_req_t handle, fuse_ino_t parent, const char *name)
{
    daemon_of(handle).serve(handle, answer_unlink, number_of(parent), name);
}

static dtx::Task<> answer_rmdir(Daemon &daemon, Request &request, uint32_t parent, std::string name)
{
    auto body = [&](Call &call) { return remove_directory(call, parent, name); };
    Node node = co_await daemon.client().call(request.who(), body);

    (void)request.end(0);
    co_await free_removed(daemon, node);
}

static void remove_dir(fuse_req_t handle, fuse_ino_t parent, const char *name)
{
    daemon_of(handle).serve(handle, answer_rmdir, number_of(parent), name);
}

/* Awaited: does a file move from a directory that every user may search to one that not every user
 * may? */
static dtx::Task<bool> hides(Call &call, const Name &from, const Name &to)
{
    if (from.directory() == to.directory())
        co_return false;

    Node before = co_await held_directory(call, from.directory(), kMayExecute);
    Node after = co_await held_directory(call, to.directory(), kMayExecute);

    co_return may_all_search(before.row) && !may_all_search(after.row);
}

static dtx::Task<> answer_rename(Daemon &daemon, Request &request, Name from, Name to,
                                 uint32_t flags)
{
    bool hidden = false;
    auto body = [&](Call &call) -> dtx::Task<std::optional<Node>> {
        hidden = co_await hides(call, from, to);
        if ((flags & RENAME_EXCHANGE) != 0 && !hidden)
            hidden = co_await hides(call, to, from);
        co_return co_await rename(call, from.spot(), to.spot(), flags);
    };
    std::optional<Node> replaced = co_await daemon.client().call(request.who(), body);

    if (hidden)
        co_await daemon.names_end();

    bool is_taken = request.end(0);

    if (is_taken && (flags & RENAME_EXCHANGE) != 0)
        daemon.directories().exchanged(from.place(), to.place());
    else if (is_taken)
        daemon.directories().moved(from.place(), to.place());
    co_await free_removed(daemon, replaced);
}

static void rename_name(fuse_req_t handle, fuse_ino_t parent, const char *name, fuse_ino_t to,
                        const char *new_name, unsigned int flags)
{
    daemon_of(handle).serve(handle, answer_rename, { parent, name }, { to, new_name }, flags);
}

static dtx::Task<> answer_attributes(Daemon &daemon, Request &request, uint32_t ino)
{
    auto body = [ino](Call &call) { return held_inode(call, ino); };
    Told told = co_await daemon.tell(request.who(), body);

    if (told.keep_until_ns == 0 && !daemon.is_refresher(request.thread()))
        co_await daemon.refresh(told);
    request.attributes(told);
}

static void get_attributes(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    daemon_of(handle).serve_open(handle, info, answer_attributes, number_in_use(handle, ino));
}

/* The nearest time that a row can have: the years 1677 to 2262. */
static NewTime new_time(const timespec &time)
{
    constexpr int64_t most = INT64_MAX / kSecond;

    if (time.tv_sec >= most || time.tv_sec <= -most)
        return { false, (time.tv_sec < 0 ? -most : most) * kSecond };
    return { false, time.tv_sec * kSecond + time.tv_nsec };
}

/* What the kernel asks to change, beside the size. */
static Changes changes_of(const struct stat &wanted, int which)
{
    Changes changes;

    if ((which & FUSE_SET_ATTR_MODE) != 0)
        changes.mode = wanted.st_mode;
    /* The kernel asks for that before another user than the owner writes or truncates: libfuse 3.14
     * does not tell it that the daemon does so (FUSE_CAP_HANDLE_KILLPRIV). */
    changes.writer_drops_ids = true;
    if ((which & FUSE_SET_ATTR_UID) != 0)
        changes.uid = wanted.st_uid;
    if ((which & FUSE_SET_ATTR_GID) != 0)
        changes.gid = wanted.st_gid;
    changes.drops_ids = changes.uid || changes.gid;
    if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0)
        changes.atime = NewTime{ true };
    else if ((which & FUSE_SET_ATTR_ATIME) != 0)
        changes.atime = new_time(wanted.st_atim);
    if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0)
        changes.mtime = NewTime{ true };
    else if ((which & FUSE_SET_ATTR_MTIME) != 0)
        changes.mtime = new_time(wanted.st_mtim);
    return changes;
}

/* Awaited: change(). @hides: out: not every user may search a directory any more. */
static dtx::Task<Node> change_and_see(Call &call, uint32_t ino, Changes changes, bool &hides)
{
    Node before = co_await held_inode(call, ino);
    Node after = co_await change(call, ino, changes);

    hides = S_ISDIR(after.row.mode) && may_all_search(before.row) && !may_all_search(after.row);
    co_return after;
}

/* @writes: by an open file that may be written. */
static dtx::Task<> answer_changes(Daemon &daemon, Request &request, uint32_t ino,
                                  struct stat wanted, int which, bool writes)
{
    int others = which & ~FUSE_SET_ATTR_SIZE;
    bool hides = false;

    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
        if (!writes)
            (void)co_await daemon.client().call(
                request.who(), [ino](Call &call) { return permitted_inode(call, ino, kMayWrite); });

        Node node = co_await resize_file(daemon.client(), request.who(), ino,
                                         static_cast<uint64_t>(wanted.st_size));

        /* Times that come with a size are those of the change, which has set them. */
        others &= ~(FUSE_SET_ATTR_CTIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW);
        daemon.changed(node);
        if (((node.row.mode ^ wanted.st_mode) & 07777) == 0)
            others &= ~FUSE_SET_ATTR_MODE; /* the new size has dropped the set-ID bits */
        if (others == 0) {
            request.attributes({ node, 0 });
            co_return;
        }
    }
    auto body = [&hides, changes = changes_of(wanted, others), ino](Call &call) {
        return change_and_see(call, ino, changes, hides);
    };
    Told told = co_await daemon.tell(request.who(), body);

    if (hides)
        co_await daemon.names_end();
    request.attributes(told);
}

static void set_attributes(fuse_req_t handle, fuse_ino_t ino, struct stat *wanted, int which,
                           fuse_file_info *info)
{
    bool writes = info != nullptr && may_write(*info);

    daemon_of(handle).serve_open(handle, info, answer_changes, number_in_use(handle, ino), *wanted,
                                 which, writes);
}

/* Of access(2) and chdir(2). */
static dtx::Task<> answer_access(Daemon &daemon, Request &request, uint32_t ino, uint32_t wanted)
{
    auto body = [=](Call &call) { return permitted_inode(call, ino, wanted); };

    (void)co_await daemon.client().call(request.who(), body);
    request.end(0);
}

static void check_access(fuse_req_t handle, fuse_ino_t ino, int wanted)
{
    daemon_of(handle).serve(handle, answer_access, number_in_use(handle, ino),
                            static_cast<uint32_t>(wanted) & (R_OK | W_OK | X_OK));
}

static dtx::Task<> answer_usage(Daemon &daemon, Request &request)
{
    Blocks blocks = co_await count_blocks(daemon.client());
    struct statvfs of {
    };

    of.f_bsize = of.f_frsize = kBlockBytes;
    of.f_blocks = blocks.all;
    of.f_bfree = blocks.free;
    of.f_bavail = blocks.usable;
    of.f_namemax = kNameMax;
    request.volume(of);
}

static void get_usage(fuse_req_t handle, fuse_ino_t)
{
    daemon_of(handle).serve(handle, answer_usage);
}

void add_tree_operations(fuse_lowlevel_ops &operations)
{
    operations.lookup = look_up;
    operations.forget = forget;
    operations.forget_multi = forget_many;
    operations.getattr = get_attributes;
    operations.setattr = set_attributes;
    operations.access = check_access;
    operations.readlink = read_target;
    operations.mknod = make_node;
    operations.mkdir = make_directory;
    operations.symlink = make_link;
    operations.unlink = unlink_name;
    operations.rmdir = remove_dir;
    operations.rename = rename_name;
    operations.link = add_link;
    operations.statfs = get_usage;
}

} // namespace rfs
