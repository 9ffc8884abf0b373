/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock_operations.cc: locks of fcntl(2), of processes and of open files, and of flock(2).
 *
 * The owner of a lock is the number that the kernel gives to a process or, for the other two kinds,
 * to an open file. When a process closes a file, the kernel names the process (flush); when an open
 * file ends, only its handle matters (release).
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/operations.h"

#include "core/client/locks.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <utility>

namespace rfs
{

static constexpr uint64_t kBusyNs = 200000;     /* until a request looks again */
static constexpr uint64_t kCloseNs = 300000000; /* the most that close(2) waits for its locks */

static LockType type_of(int type)
{
    return type == F_RDLCK ? LockType::read : type == F_WRLCK ? LockType::write : LockType::none;
}

/* @range: as libfuse has checked and converted it: from the file's start on. */
static LockRow lock_of(const struct flock &range, const fuse_file_info &info)
{
    LockRow lock{};
    uint64_t length = static_cast<uint64_t>(range.l_len);

    lock.start = static_cast<uint64_t>(range.l_start);
    lock.end = length == 0 ? kLockEnd : lock.start + length - 1;
    lock.owner = info.lock_owner;
    lock.pid = static_cast<uint32_t>(range.l_pid);
    lock.kind = LockKind::posix;
    lock.type = type_of(range.l_type);
    return lock;
}

/* Processes of other mounts have no number here. */
static struct flock range_of(const std::optional<LockRow> &lock, Client &client)
{
    struct flock range {
    };

    range.l_type = F_UNLCK;
    if (!lock)
        return range;
    range.l_type = lock->type == LockType::write ? F_WRLCK : F_RDLCK;
    range.l_start = static_cast<off_t>(lock->start);
    range.l_len = lock->end == kLockEnd ? 0 : static_cast<off_t>(lock->end - lock->start + 1);
    if (lock->client == client_number(client.session().coordinator()))
        range.l_pid = static_cast<pid_t>(lock->pid);
    return range;
}

static dtx::Task<> answer_test(Daemon &daemon, Request &request, uint32_t ino, LockRow wanted)
{
    Client &client = daemon.client();
    auto body = [&](Call &call) { return test_lock(call, ino, wanted); };

    wanted.client = client_number(client.session().coordinator());

    std::optional<LockRow> found = co_await client.call(request.who(), body);

    request.lock(range_of(found, client));
}

static void get_lock(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info, struct flock *range)
{
    daemon_of(handle).serve_open(handle, info, answer_test, number_of(ino), lock_of(*range, *info));
}

/* @opened: the handle of the open file. */
static dtx::Task<> answer_lock(Daemon &daemon, Request &request, uint32_t ino, uint64_t opened,
                               LockRow wanted, bool waits)
{
    Client &client = daemon.client();
    std::shared_ptr<bool> lost = daemon.locks().watch(opened);
    auto interrupted = [&] { return request.is_interrupted() || daemon.is_ending(); };

    expect(!*lost || wanted.type == LockType::none, EIO);
    if (wanted.type != LockType::none)
        co_await daemon.begin_beats();
    while (daemon.locks().is_busy(ino) && !interrupted())
        co_await client.session().sleep_until(dtx::now_ns() + kBusyNs);
    try {
        co_await lock_watched(client, ino, wanted, waits, interrupted, lost.get());
    } catch (const Failure &failure) {
        if (failure.error == EIO) /* it may be set */
            daemon.locks().add(ino, opened, wanted.owner);
        /* The wait ended because the mount ends. EINTR would not do: the kernel turns it into an
         * internal error, which a caller without a pending signal would get. */
        if (failure.error == EINTR && !request.is_interrupted())
            throw Failure{ ENOTCONN };
        throw;
    }
    if (wanted.type != LockType::none)
        daemon.locks().add(ino, opened, wanted.owner);
    if (request.is_given_up()) { /* the caller got EINTR, so it does not have the lock */
        wanted.type = LockType::none;
        co_await lock_file(client, ino, wanted, false, nullptr);
    }
    if (wanted.type == LockType::none) /* before the answer: this client may be taken for dead */
        co_await unwatch_unlocked(client, { ino, wanted.owner, wanted.kind });
    request.end(*lost && wanted.type != LockType::none ? EIO : 0);
}

static void set_lock_of_range(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info,
                              struct flock *range, int waits)
{
    daemon_of(handle).serve(handle, answer_lock, number_of(ino), info->fh, lock_of(*range, *info),
                            waits != 0);
}

static void set_lock_of_file(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info, int operation)
{
    LockRow wanted{};

    wanted.end = kLockEnd;
    wanted.owner = info->lock_owner;
    wanted.pid = static_cast<uint32_t>(fuse_req_ctx(handle)->pid);
    wanted.kind = LockKind::flock;
    wanted.type = (operation & LOCK_EX) != 0   ? LockType::write
                  : (operation & LOCK_SH) != 0 ? LockType::read
                                               : LockType::none;
    daemon_of(handle).serve(handle, answer_lock, number_of(ino), info->fh, wanted,
                            (operation & LOCK_NB) == 0);
}

dtx::Task<> drop_locks(Daemon &daemon, HeldLocks::Taken &taken)
{
    for (; !taken.empty(); taken.dropped()) {
        co_await drop_owner(daemon.client(), taken.ino(), taken.owner());
        for (LockKind kind : { LockKind::posix, LockKind::flock })
            daemon.client().watched_locks().remove({ taken.ino(), taken.owner(), kind },
                                                   UINT64_MAX);
    }
}

static dtx::Task<> answer_close(Daemon &daemon, Request &request, HeldLocks::Taken taken)
{
    daemon.interrupts().answer_at(request, dtx::now_ns() + kCloseNs);
    co_await drop_locks(daemon, taken);
    request.end(0);
}

/* A process closes a file: once for each of its descriptors. */
static void close_descriptor(fuse_req_t handle, fuse_ino_t ino, fuse_file_info *info)
{
    Daemon &daemon = daemon_of(handle);
    HeldLocks::Taken taken = daemon.locks().take_owner(number_of(ino), info->lock_owner);

    if (taken.empty())
        (void)fuse_reply_err(handle, 0);
    else
        daemon.serve(handle, answer_close, std::move(taken));
}

void add_lock_operations(fuse_lowlevel_ops &operations)
{
    operations.getlk = get_lock;
    operations.setlk = set_lock_of_range;
    operations.flock = set_lock_of_file;
    operations.flush = close_descriptor;
}

} // namespace rfs
