/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page_drops.cc: a thread that drops pages, and how a coroutine waits for it.
 *
 * Tests: tests/fs/mount_test, tests/fs/rpm-fs-history
 */
#include "mount/page_drops.h"

#include "mount/request.h"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace rfs
{

PageDrops::PageDrops(fuse_session *session) : session_(session), thread_([this] { work(); }) {}

PageDrops::~PageDrops()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);

        RFS_ASSERT(jobs_.empty());
        ends_ = true;
    }
    more_.notify_one();
    thread_.join();
}

dtx::Task<> PageDrops::drop(dtx::Session &session, uint32_t ino, const Tail &tail)
{
    int done = eventfd(0, EFD_CLOEXEC);

    if (done < 0)
        throw std::system_error(errno, std::generic_category(), "cannot drop pages");
    {
        std::lock_guard<std::mutex> lock(mutex_);

        jobs_.push_back({ ino, &tail, done });
    }
    more_.notify_one();
    under_way_++;
    co_await session.readable(done);
    under_way_--;
    close(done);
}

void PageDrops::work()
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

/* If the kernel does not know the file any more, or the file system is unmounted, there are no
 * pages. */
void PageDrops::carry_out(const Job &job)
{
    fuse_bufvec bytes = FUSE_BUFVEC_INIT(job.tail->size);
    eventfd_t one = 1;

    bytes.buf[0].mem = const_cast<unsigned char *>(job.tail->bytes);
    (void)fuse_lowlevel_notify_inval_inode(session_, job.ino, 0, 0);
    if (job.tail->size != 0) {
        off_t offset = static_cast<off_t>(job.tail->offset);

        (void)fuse_lowlevel_notify_store(session_, job.ino, offset, &bytes, fuse_buf_copy_flags{});
        (void)fuse_lowlevel_notify_inval_inode(session_, job.ino, offset,
                                               static_cast<off_t>(job.tail->size));
    }
    (void)eventfd_write(job.done, one);
}

} // namespace rfs
