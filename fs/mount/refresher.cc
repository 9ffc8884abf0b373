/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refresher.cc: a thread that asks the kernel for a file's attributes, and how a coroutine waits
 * for it.
 *
 * Tests: tests/fs/mount_test, tests/fs/stale, tests/fs/rpm-fs-history
 */
#include "mount/refresher.h"

#include "mount/statistics.h"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rfs
{

static constexpr int kAsksMax = 100; /* each may be ignored because of another reply in between */

Refresher::Refresher(fuse_session *session, std::string directory)
    : session_(session), directory_(std::move(directory)), thread_([this] { work(); }),
      asking_([this] { ask_all(); })
{
}

Refresher::~Refresher()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);

        RFS_ASSERT(jobs_.empty());
        ends_ = true;
    }
    more_.notify_one();
    changed_.notify_all();
    thread_.join();
    asking_.join();
}

dtx::Task<> Refresher::refresh(dtx::Session &session, uint32_t ino)
{
    int done = eventfd(0, EFD_CLOEXEC);

    if (done < 0)
        throw std::system_error(errno, std::generic_category(), "cannot refresh a file's pages");
    {
        std::lock_guard<std::mutex> lock(mutex_);

        jobs_.push_back({ ino, done });
    }
    more_.notify_one();
    under_way_++;
    co_await session.readable(done);
    under_way_--;
    close(done);
}

void Refresher::work()
{
    for (;;) {
        std::unique_lock<std::mutex> lock(mutex_);

        more_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
        if (jobs_.empty())
            return;

        Job job = jobs_.front();

        jobs_.pop_front();
        lock.unlock();
        carry_out(job);
    }
}

/* -1: the file is gone, or the file system is unmounted. */
int Refresher::open_file(uint32_t ino) const
{
    std::string path = directory_ + "/" + kOwnFolder + "/" + std::to_string(ino);

    return open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Asks until the kernel has taken the answer. */
static void ask(int file)
{
    for (int i = 0; i < kAsksMax; i++) {
        struct statx answered {
        };
        struct statx taken {
        };

        if (statx(file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_MTIME,
                  &answered) != 0 ||
            statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_MTIME, &taken) !=
                0)
            return;
        if (answered.stx_size == taken.stx_size &&
            answered.stx_mtime.tv_sec == taken.stx_mtime.tv_sec &&
            answered.stx_mtime.tv_nsec == taken.stx_mtime.tv_nsec)
            return;
    }
}

/* In a thread without the descriptor of the mount, see refresher.h. Where it cannot have a table of
 * its own, it asks for nothing. */
void Refresher::ask_all()
{
    bool is_apart = unshare(CLONE_FILES) == 0 && close_range(3, ~0U, 0) == 0;
    std::unique_lock<std::mutex> lock(mutex_);

    thread_id_.store(gettid(), std::memory_order_relaxed);
    for (;;) {
        changed_.wait(lock, [this] { return ends_ || asked_ != 0; });
        if (asked_ == 0)
            return;
        lock.unlock();

        int file = is_apart ? open_file(asked_) : -1;

        if (file >= 0) {
            ask(file);
            close(file);
        }
        lock.lock();
        asked_ = 0;
        changed_.notify_all();
    }
}

/* If the kernel does not know the file any more, or the file system is unmounted, there are no
 * pages. */
void Refresher::carry_out(const Job &job)
{
    std::unique_lock<std::mutex> lock(mutex_);
    eventfd_t one = 1;

    asked_ = job.ino;
    changed_.notify_all();
    changed_.wait(lock, [this] { return asked_ == 0; });
    lock.unlock();
    (void)fuse_lowlevel_notify_inval_inode(session_, job.ino, 0, 0);
    (void)eventfd_write(job.done, one);
}

} // namespace rfs
