/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attributes.cc: chmod, chown and utimensat.
 *
 * Tests: tests/unit/fs/tree/attributes_test.cpp
 */
#include "core/tree/attributes.h"

#include "core/tree/permission.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace rfs
{

static constexpr uint32_t kPermissions = 07777;
static constexpr int64_t kSecondNs = 1000000000;
static constexpr int64_t kDayNs = 86400 * kSecondNs;

bool is_access_due(const Call &call, const InodeRow &row)
{
    int64_t changed = std::max(row.mtime_ns, row.ctime_ns);
    int64_t now = call.now_ns;

    if (row.atime_ns > changed)
        return row.atime_ns < now - kDayNs;
    return row.atime_ns < (changed < now ? now : now - kSecondNs);
}

dtx::Task<bool> is_access_due(Call &call, uint32_t ino)
{
    auto row = co_await call.txn.read(call.tables().inodes, ino);

    co_return row &&is_access_due(call, *row);
}

dtx::Task<> note_access(Call &call, uint32_t ino)
{
    auto row = co_await call.txn.read(call.tables().inodes, ino);

    if (!row || !is_access_due(call, *row))
        co_return;
    row->atime_ns = call.now_ns;
    co_await put(call, { ino, *row });
}

/* Does a change of the mode take away set-ID bits, and nothing else? */
static bool only_drops_ids(uint32_t before, uint32_t after)
{
    uint32_t changed = (before ^ after) & kPermissions;

    return changed != 0 && (changed & ~static_cast<uint32_t>(S_ISUID | S_ISGID)) == 0 &&
           (changed & after) == 0;
}

static void change_mode(const Call &call, InodeRow &row, uint32_t mode, bool writer_drops_ids)
{
    const Credentials &who = call.who;
    bool writes = writer_drops_ids && S_ISREG(row.mode) && only_drops_ids(row.mode, mode) &&
                  may(who, row, kMayWrite);

    expect(writes || owns(who, row), EPERM);
    if (who.uid != 0 && !who.is_in(row.gid))
        mode &= ~static_cast<uint32_t>(S_ISGID);
    row.mode = (row.mode & ~kPermissions) | (mode & kPermissions);
}

static void change_owner(const Call &call, InodeRow &row, const Changes &changes)
{
    const Credentials &who = call.who;
    uint32_t uid = changes.uid.value_or(row.uid);
    uint32_t gid = changes.gid.value_or(row.gid);
    bool is_root = who.uid == 0;

    expect(is_root || !changes.uid || (who.uid == row.uid && uid == row.uid), EPERM);
    expect(is_root || !changes.gid || who.uid == row.uid, EPERM);
    expect(is_root || gid == row.gid || who.is_in(gid), EPERM);

    InodeRow before = row;

    drop_set_ids(row);
    expect(row.mode == before.mode || owns(who, before), EPERM);
    row.uid = uid;
    row.gid = gid;
}

static void expect_may_set(const Call &call, const InodeRow &row, const Changes &changes)
{
    bool all_now = (!changes.atime || changes.atime->now) && (!changes.mtime || changes.mtime->now);

    if (owns(call.who, row))
        return;
    expect(all_now, EPERM);
    expect(may(call.who, row, kMayWrite), EACCES);
}

dtx::Task<Node> change(Call &call, uint32_t ino, Changes changes)
{
    Node node = co_await held_inode(call, ino);

    if (changes.mode)
        change_mode(call, node.row, *changes.mode, changes.writer_drops_ids);
    if (changes.uid || changes.gid || changes.drops_ids)
        change_owner(call, node.row, changes);
    if (changes.atime || changes.mtime)
        expect_may_set(call, node.row, changes);
    if (changes.atime)
        node.row.atime_ns = changes.atime->now ? call.now_ns : changes.atime->ns;
    if (changes.mtime)
        node.row.mtime_ns = changes.mtime->now ? call.now_ns : changes.mtime->ns;
    touch_inode(call, node.row);
    co_await put(call, node);
    co_return node;
}

static constexpr int64_t kSecond = 1000000000; /* in nanoseconds */

/* Rounds down, also before 1970. */
static timespec timespec_of(int64_t ns)
{
    int64_t part = ns % kSecond;
    int64_t before = part < 0 ? 1 : 0;

    return { static_cast<time_t>(ns / kSecond - before),
             static_cast<long>(part + before * kSecond) };
}

uint32_t device_number(dev_t device)
{
    return (major(device) & 0xfff) << 20 | (minor(device) & 0xfffff);
}

struct stat stat_of(const Node &node)
{
    struct stat stat {
    };

    stat.st_ino = node.ino;
    stat.st_mode = node.row.mode;
    stat.st_nlink = node.row.links;
    stat.st_uid = node.row.uid;
    stat.st_gid = node.row.gid;
    stat.st_rdev = makedev(node.row.device >> 20, node.row.device & 0xfffff);
    stat.st_size = static_cast<off_t>(node.row.size);
    stat.st_blksize = kBlockBytes;
    stat.st_blocks = static_cast<blkcnt_t>(node.row.blocks * (kBlockBytes / 512));
    stat.st_atim = timespec_of(node.row.atime_ns);
    stat.st_mtim = timespec_of(node.row.mtime_ns);
    stat.st_ctim = timespec_of(node.row.ctime_ns);
    return stat;
}

} // namespace rfs
