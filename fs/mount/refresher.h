/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page_drops.h: has the kernel drop the pages of a file that another client has changed.
 *
 * Before it reads from its pages, the kernel asks for the attributes of the file, and drops the
 * pages if these have changed. But it ignores attributes that it asked for before another call of
 * the same mount on that file returned, and then reads old pages, up to the old size. So the daemon
 * has it drop them before it answers. Of that answer the kernel ignores the size as well, and
 * learns that a file is larger by the last block, which it gets instead, and drops as well: of a
 * read from it the daemon would not hear, and so set no time of last access.
 *
 * The kernel drops a page only after requests that use it were answered, so a thread of its own
 * waits for it, while the daemon serves.
 *
 * Tests: tests/fs/mount_test, tests/fs/rpm-fs-history
 */
#ifndef FS_MOUNT_PAGE_DROPS_H
#define FS_MOUNT_PAGE_DROPS_H

#include "core/format/rows.h"
#include <dtx/session.h>
#include <dtx/task.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

struct fuse_session;

namespace rfs
{

class PageDrops
{
  public:
    /* @session: borrowed. Throws std::system_error: there is no thread. */
    explicit PageDrops(fuse_session *session);
    /* All drops have ended. */
    ~PageDrops();
    PageDrops(const PageDrops &) = delete;
    PageDrops &operator=(const PageDrops &) = delete;

    /* The last block of a file. */
    struct Tail {
        uint64_t offset = 0;
        size_t size = 0; /* 0: none */
        unsigned char bytes[kBlockBytes];
    };

    /* Awaited: drop all pages of a file. The kernel learns the size from the block, if there is
     * one. @tail: borrowed until this has been awaited. */
    dtx::Task<> drop(dtx::Session &session, uint32_t ino, const Tail &tail);

    /* Are there drops that have not ended? Then the daemon goes on serving. */
    bool is_busy() const
    {
        return under_way_ != 0;
    }

  private:
    struct Job {
        uint32_t ino;
        const Tail *tail;
        int done; /* becomes readable at the end */
    };

    void work();
    void carry_out(const Job &job);

    fuse_session *session_;
    uint32_t under_way_ = 0; /* of the daemon's thread */
    std::mutex mutex_;       /* protects jobs_ and ends_ */
    std::condition_variable more_;
    std::deque<Job> jobs_;
    bool ends_ = false;
    std::thread thread_;
};

} // namespace rfs
#endif
