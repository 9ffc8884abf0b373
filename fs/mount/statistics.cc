/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statistics.cc: wraps the operations of a mount.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/statistics.h"

#include "mount/operations.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace rfs
{

using Json = nlohmann::ordered_json;

static constexpr fuse_ino_t kFolder = fuse_ino_t{ 1 } << 32;
static constexpr fuse_ino_t kText = kFolder + 1;
static constexpr fuse_ino_t kJson = kFolder + 2;

static constexpr const char *kKinds[] = {
    "lookup",    "getattr",     "setattr", "readlink",    "mknod",    "mkdir",
    "unlink",    "rmdir",       "rename",  "link",        "access",   "statfs",
    "open",      "create",      "release", "read",        "write",    "fallocate",
    "lseek",     "opendir",     "readdir", "readdirplus", "getxattr", "setxattr",
    "listxattr", "removexattr", "getlk",   "setlk",       "flock",
};
static_assert(std::size(kKinds) == static_cast<size_t>(RequestKind::count));

/* What the operations of the volume are; the same for all mounts of a process. */
static fuse_lowlevel_ops served;

static Json object_of(Daemon &daemon)
{
    const Counts &counts = daemon.counts();
    const dtx::Counters &session = daemon.client().session().counters();
    Json requests;

    for (size_t i = 0; i < std::size(kKinds); i++)
        requests[kKinds[i]] = counts.requests[i];
    return {
        { "requests", requests },
        { "read_bytes", counts.read_bytes },
        { "written_bytes", counts.written_bytes },
        { "faults", counts.faults },
        { "open_files", daemon.open_files() },
        { "solo", counts.solo },
        { "transactions",
          { { "committed", session.committed },
            { "conflicts", session.conflicts },
            { "unknown", session.unknown } } },
        { "servers",
          { { "operations", session.remote },
            { "round_trips", session.round_trips },
            { "sent_bytes", session.sent_bytes },
            { "received_bytes", session.received_bytes },
            { "rejoined", session.rejoined },
            { "mended", session.mended } } },
    };
}

static std::string text_of(const Json &object)
{
    Json flat = object.flatten();
    std::string text;

    for (const auto &[path, value] : flat.items()) {
        std::string name = path.substr(1);

        std::replace(name.begin(), name.end(), '/', '.');
        text += name + " " + value.dump() + "\n";
    }
    return text;
}

static struct stat stat_of_own(fuse_ino_t ino)
{
    struct stat stat {
    };

    stat.st_ino = ino;
    stat.st_mode = ino == kFolder ? S_IFDIR | 0555 : S_IFREG | 0444;
    stat.st_nlink = ino == kFolder ? 2 : 1;
    return stat;
}

/* 0: there is no file with that name. */
static fuse_ino_t own_name(fuse_ino_t parent, std::string_view name)
{
    if (parent == kRootIno)
        return name == kOwnFolder ? kFolder : 0;
    if (parent != kFolder)
        return 0;
    return name == "stats" ? kText : name == "stats.json" ? kJson : 0;
}

namespace
{

/* Counts requests of a kind. Those for the folder that no function below serves are refused, but
 * for statfs(), whose answer is the same for all files of a mount. */
template <auto Member, RequestKind kind> struct Counted;

template <class... Args, void (*fuse_lowlevel_ops::*Member)(fuse_req_t, fuse_ino_t, Args...),
          RequestKind kind>
struct Counted<Member, kind> {
    static void serve(fuse_req_t handle, fuse_ino_t ino, Args... args)
    {
        if (is_statistics(ino) && kind != RequestKind::statfs) {
            fuse_reply_err(handle, EPERM);
            return;
        }
        daemon_of(handle).counts().requests[static_cast<size_t>(kind)]++;
        (served.*Member)(handle, ino, args...);
    }
};

} // namespace

template <auto Member, RequestKind kind> static void count(fuse_lowlevel_ops &operations)
{
    if (operations.*Member != nullptr)
        operations.*Member = Counted<Member, kind>::serve;
}

static void look_up_own(fuse_req_t handle, fuse_ino_t parent, const char *name)
{
    fuse_entry_param entry{};

    entry.ino = own_name(parent, name);
    if (entry.ino == 0 && !is_statistics(parent)) {
        Counted<&fuse_lowlevel_ops::lookup, RequestKind::lookup>::serve(handle, parent, name);
    } else if (entry.ino == 0 && daemon_of(handle).is_refresher(fuse_req_ctx(handle)->pid)) {
        look_up_number(handle, static_cast<uint32_t>(std::strtoul(name, nullptr, 10)));
    } else if (entry.ino == 0) {
        fuse_reply_err(handle, ENOENT);
    } else {
        entry.attr = stat_of_own(entry.ino);
        fuse_reply_entry(handle, &entry);
    }
}

/* The folder and its files stay, and hide no name that a call would give to another file. */
template <auto Member, RequestKind kind>
static void remove_own(fuse_req_t handle, fuse_ino_t parent, const char *name)
{
    if (own_name(parent, name) != 0)
        fuse_reply_err(handle, EPERM);
    else
        Counted<Member, kind>::serve(handle, parent, name);
}

static void rename_own(fuse_req_t handle, fuse_ino_t from, const char *name, fuse_ino_t to,
                       const char *new_name, unsigned int flags)
{
    if (own_name(from, name) != 0 || own_name(to, new_name) != 0 || is_statistics(to))
        fuse_reply_err(handle, EPERM);
    else
        Counted<&fuse_lowlevel_ops::rename, RequestKind::rename>::serve(handle, from, name, to,
                                                                        new_name, flags);
}

static void attributes_own(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    struct stat stat = stat_of_own(ino);

    if (is_statistics(ino))
        fuse_reply_attr(handle, &stat, 0);
    else
        Counted<&fuse_lowlevel_ops::getattr, RequestKind::getattr>::serve(handle, ino, info);
}

static void access_own(fuse_req_t handle, fuse_ino_t ino, int wanted)
{
    if (is_statistics(ino))
        fuse_reply_err(handle, (wanted & W_OK) != 0 ? EACCES : 0);
    else
        Counted<&fuse_lowlevel_ops::access, RequestKind::access>::serve(handle, ino, wanted);
}

/* What is read is as of the moment of opening. */
static void open_own(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    if (!is_statistics(ino)) {
        Counted<&fuse_lowlevel_ops::open, RequestKind::open>::serve(handle, ino, info);
        return;
    }
    if ((info->flags & O_ACCMODE) != O_RDONLY) {
        fuse_reply_err(handle, EACCES);
        return;
    }
    Json object = object_of(daemon_of(handle));
    auto text =
        std::make_unique<std::string>(ino == kJson ? object.dump(2) + "\n" : text_of(object));

    info->fh = reinterpret_cast<uintptr_t>(text.get());
    info->direct_io = 1;
    if (fuse_reply_open(handle, info) == 0)
        (void)text.release(); /* until release_own() */
}

static void open_own_folder(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    if (is_statistics(ino))
        fuse_reply_open(handle, info);
    else
        Counted<&fuse_lowlevel_ops::opendir, RequestKind::opendir>::serve(handle, ino, info);
}

static std::string *text_at(const fuse_file_info *info)
{
    return reinterpret_cast<std::string *>(static_cast<uintptr_t>(info->fh));
}

static void read_own(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t offset,
                     fuse_file_info *info)
{
    if (!is_statistics(ino)) {
        Counted<&fuse_lowlevel_ops::read, RequestKind::read>::serve(handle, ino, size, offset,
                                                                    info);
        return;
    }
    const std::string &text = *text_at(info);
    size_t begin = std::min(static_cast<size_t>(offset), text.size());

    fuse_reply_buf(handle, text.data() + begin, std::min(size, text.size() - begin));
}

static void release_own(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    if (!is_statistics(ino)) {
        Counted<&fuse_lowlevel_ops::release, RequestKind::release>::serve(handle, ino, info);
        return;
    }
    delete text_at(info);
    fuse_reply_err(handle, 0);
}

/* An entry of a list, with the file if the kernel asks for it; not that of "." and "..", which it
 * knows. */
static size_t add_own(fuse_req_t handle, char *into, size_t room, size_t i, bool with_file)
{
    static constexpr std::pair<const char *, fuse_ino_t> kEntries[] = {
        { ".", kFolder }, { "..", kRootIno }, { "stats", kText }, { "stats.json", kJson }
    };
    off_t cookie = static_cast<off_t>(i + 1);
    fuse_entry_param entry{};

    if (i >= std::size(kEntries))
        return 0;

    auto [name, ino] = kEntries[i];

    entry.attr = stat_of_own(ino);
    if (!with_file)
        return fuse_add_direntry(handle, into, room, name, &entry.attr, cookie);
    entry.ino = ino == kText || ino == kJson ? ino : 0;
    return fuse_add_direntry_plus(handle, into, room, name, &entry, cookie);
}

static void reply_list(fuse_req_t handle, size_t size, off_t cookie, bool with_files)
{
    std::string bytes(size, '\0');
    size_t used = 0;

    for (size_t i = static_cast<size_t>(cookie);; i++) {
        size_t takes = add_own(handle, bytes.data() + used, size - used, i, with_files);

        if (takes == 0 || takes > size - used)
            break;
        used += takes;
    }
    fuse_reply_buf(handle, bytes.data(), used);
}

static void list_own(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t cookie,
                     fuse_file_info *info)
{
    if (is_statistics(ino))
        reply_list(handle, size, cookie, false);
    else
        Counted<&fuse_lowlevel_ops::readdir, RequestKind::readdir>::serve(handle, ino, size, cookie,
                                                                          info);
}

static void list_own_with_files(fuse_req_t handle, fuse_ino_t ino, size_t size, off_t cookie,
                                fuse_file_info *info)
{
    if (is_statistics(ino))
        reply_list(handle, size, cookie, true);
    else
        Counted<&fuse_lowlevel_ops::readdirplus, RequestKind::readdirplus>::serve(handle, ino, size,
                                                                                  cookie, info);
}

static void forget_own(fuse_req_t handle, fuse_ino_t ino, uint64_t times)
{
    if (is_statistics(ino))
        fuse_reply_none(handle);
    else
        served.forget(handle, ino, times);
}

void add_statistics(fuse_lowlevel_ops &operations)
{
    using Ops = fuse_lowlevel_ops;

    served = operations;
    count<&Ops::setattr, RequestKind::setattr>(operations);
    count<&Ops::readlink, RequestKind::readlink>(operations);
    count<&Ops::mknod, RequestKind::mknod>(operations);
    count<&Ops::mkdir, RequestKind::mkdir>(operations);
    count<&Ops::link, RequestKind::link>(operations);
    count<&Ops::statfs, RequestKind::statfs>(operations);
    count<&Ops::create, RequestKind::create>(operations);
    count<&Ops::write, RequestKind::write>(operations);
    count<&Ops::fallocate, RequestKind::fallocate>(operations);
    count<&Ops::lseek, RequestKind::lseek>(operations);
    count<&Ops::getxattr, RequestKind::getxattr>(operations);
    count<&Ops::setxattr, RequestKind::setxattr>(operations);
    count<&Ops::listxattr, RequestKind::listxattr>(operations);
    count<&Ops::removexattr, RequestKind::removexattr>(operations);
    count<&Ops::getlk, RequestKind::getlk>(operations);
    count<&Ops::setlk, RequestKind::setlk>(operations);
    count<&Ops::flock, RequestKind::flock>(operations);
    operations.lookup = look_up_own;
    operations.unlink = remove_own<&Ops::unlink, RequestKind::unlink>;
    operations.rmdir = remove_own<&Ops::rmdir, RequestKind::rmdir>;
    operations.rename = rename_own;
    operations.getattr = attributes_own;
    operations.access = access_own;
    operations.open = open_own;
    operations.opendir = open_own_folder;
    operations.read = read_own;
    operations.release = release_own;
    operations.readdir = list_own;
    operations.readdirplus = list_own_with_files;
    operations.forget = forget_own;
}

} // namespace rfs
