/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.cc: locks of ranges and of whole files.
 *
 * The number of an owner in a row is the caller's, or of an open file the file's, mixed with a
 * random number of the client: so it differs from those of earlier clients with the same
 * coordinator number.
 *
 * Tests: tests/unit/fs/lib/lock_test.cpp
 */
#include "lib/handle.h"

#include "core/client/clock.h"
#include "core/client/locks.h"
#include "core/lock/locks.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/file.h>

namespace rfs
{

static constexpr uint64_t kOfFiles = uint64_t{ 1 } << 63; /* in numbers of open files */
static constexpr uint64_t kMsNs = 1000000;

uint64_t random_owner()
{
    uint64_t random = 0;

    fill_random(&random, sizeof(random));
    return random & ~kOfFiles;
}

/* An open file has an owner number for each kind of lock: flock() drops the locks of its owner
 * before it waits, and must not drop the ranges that the file has locked. */
static uint64_t owner_of_file(rfs_file *file, LockKind kind)
{
    if (file->number == 0)
        file->number = ++file->client->files;

    uint64_t number = 2 * file->number + (kind == LockKind::flock ? 1 : 0);

    return kOfFiles | (number ^ file->client->owner_salt);
}

static LockType type_of(int type)
{
    return type == F_RDLCK ? LockType::read : type == F_WRLCK ? LockType::write : LockType::none;
}

static LockRow row_of(rfs_file *file, const rfs_lock_range *range)
{
    LockRow row{};

    expect(range != nullptr, EINVAL);
    expect(range->type == F_RDLCK || range->type == F_WRLCK || range->type == F_UNLCK, EINVAL);
    expect(range->start <= kLockEnd && range->owner < kOfFiles, EINVAL);
    expect(range->length <= kLockEnd - range->start + 1, EINVAL);
    row.start = range->start;
    row.end = range->length == 0 ? kLockEnd : range->start + range->length - 1;
    row.owner = range->owner == 0 ? owner_of_file(file, LockKind::posix)
                                  : range->owner ^ file->client->owner_salt;
    row.pid = range->pid;
    row.kind = LockKind::posix;
    row.type = type_of(range->type);
    return row;
}

static LockRow row_of(rfs_file *file, int operation)
{
    int what = operation & ~LOCK_NB;
    LockRow row{};

    expect(what == LOCK_SH || what == LOCK_EX || what == LOCK_UN, EINVAL);
    row.end = kLockEnd;
    row.owner = owner_of_file(file, LockKind::flock);
    row.kind = LockKind::flock;
    row.type = type_of(what == LOCK_SH ? F_RDLCK : what == LOCK_EX ? F_WRLCK : F_UNLCK);
    return row;
}

/* How long a call waits for a lock, and what ends that: an error number. */
class LockWait
{
  public:
    LockWait(rfs_file *file, const Job &job, uint64_t timeout_ms)
        : file_(file), job_(job), waits_(timeout_ms != 0)
    {
        uint64_t now = dtx::now_ns();

        if (timeout_ms < (UINT64_MAX - now) / kMsNs)
            until_ns_ = now + timeout_ms * kMsNs;
    }
    bool waits() const
    {
        return waits_;
    }
    /* 0: it waits on. */
    int end()
    {
        if (job_.is_cancelled || file_->calls.is_closing())
            return error_ = ECANCELED;
        if (!job_.is_submitted && file_->client->interrupted.exchange(false))
            return error_ = EINTR;
        if (dtx::now_ns() >= until_ns_)
            return error_ = ETIMEDOUT;
        return 0;
    }
    int error() const
    {
        return error_;
    }

  private:
    rfs_file *file_;
    const Job &job_;
    bool waits_;
    uint64_t until_ns_ = UINT64_MAX;
    int error_ = 0;
};

static dtx::Task<int64_t> lock_call(rfs_file *file, LockRow wanted, uint64_t timeout_ms, Job &job)
{
    Client &client = file->client->client;
    LockWait wait(file, job, timeout_ms);
    WatchedLocks::Owner owner{ file->ino, wanted.owner, wanted.kind };
    std::vector<uint64_t> &owners = file->owners;
    std::function<bool()> ends = [&wait] { return wait.end() != 0; };
    bool is_posix = wanted.kind == LockKind::posix;
    int error = 0;

    expect_usable(file, !is_posix || wanted.type != LockType::read || reads(file->flags));
    expect_usable(file, !is_posix || wanted.type != LockType::write || writes(file->flags));
    if (std::find(owners.begin(), owners.end(), wanted.owner) == owners.end())
        owners.push_back(wanted.owner); /* before: if this fails, it may be set */
    try {
        co_await lock_watched(client, file->ino, wanted, wait.waits(), ends, &file->lost);
    } catch (const Failure &failure) {
        error = failure.error == EINTR ? wait.error() : failure.error;
    }
    if (wanted.type == LockType::none || (error != 0 && !is_posix))
        co_await unwatch_unlocked(client, owner);
    expect(error == 0, error);
    expect_usable(file, true);
    co_return 0;
}

static dtx::Task<int64_t> test_call(rfs_file *file, rfs_lock_range *range)
{
    Client &client = file->client->client;
    LockRow wanted = row_of(file, range);
    auto body = [&](Call &call) { return test_lock(call, file->ino, wanted); };

    expect(wanted.type != LockType::none, EINVAL);
    expect_usable(file, true);
    wanted.client = client_number(client.session().coordinator());

    std::optional<LockRow> found = co_await client.call(file->who, body);

    range->type = F_UNLCK;
    if (!found)
        co_return 0;

    bool own = found->client == wanted.client;

    range->type = found->type == LockType::write ? F_WRLCK : F_RDLCK;
    range->start = found->start;
    range->length = found->end == kLockEnd ? 0 : found->end - found->start + 1;
    range->owner =
        own && (found->owner & kOfFiles) == 0 ? found->owner ^ file->client->owner_salt : 0;
    range->pid = own ? found->pid : 0;
    co_return 0;
}

dtx::Task<> drop_locks(rfs_file *file)
{
    Client &client = file->client->client;
    WatchedLocks &watched = client.watched_locks();

    watched.forget(&file->lost);
    for (; !file->owners.empty(); file->owners.pop_back()) {
        uint64_t owner = file->owners.back();

        co_await drop_owner(client, file->ino, owner);
        watched.remove({ file->ino, owner, LockKind::posix }, UINT64_MAX); /* by other open files */
    }
}

} // namespace rfs

int rfs_lock(rfs_file *file, const rfs_lock_range *range, uint64_t timeout_ms)
{
    return static_cast<int>(rfs::run(file->client, file, rfs::Order::lock, [=](rfs::Job &job) {
        return rfs::lock_call(file, rfs::row_of(file, range), timeout_ms, job);
    }));
}

int rfs_lock_async(rfs_file *file, const rfs_lock_range *range, uint64_t timeout_ms, void *context)
{
    return rfs::submit(file->client, file, rfs::Order::lock, context, [=](rfs::Job &job) {
        return rfs::lock_call(file, rfs::row_of(file, range), timeout_ms, job);
    });
}

int rfs_lock_test(rfs_file *file, rfs_lock_range *range)
{
    return static_cast<int>(rfs::run(file->client, file, rfs::Order::free,
                                     [=](rfs::Job &) { return rfs::test_call(file, range); }));
}

int rfs_flock(rfs_file *file, int operation, uint64_t timeout_ms)
{
    uint64_t most_ms = (operation & LOCK_NB) != 0 ? 0 : timeout_ms;

    return static_cast<int>(rfs::run(file->client, file, rfs::Order::lock, [=](rfs::Job &job) {
        return rfs::lock_call(file, rfs::row_of(file, operation), most_ms, job);
    }));
}

int rfs_flock_async(rfs_file *file, int operation, uint64_t timeout_ms, void *context)
{
    uint64_t most_ms = (operation & LOCK_NB) != 0 ? 0 : timeout_ms;

    return rfs::submit(file->client, file, rfs::Order::lock, context, [=](rfs::Job &job) {
        return rfs::lock_call(file, rfs::row_of(file, operation), most_ms, job);
    });
}

void rfs_interrupt(rfs_client *client)
{
    client->interrupted.store(true);
}
