/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refresher.h: has the kernel take the size and time of a file that another client has changed, and
 * drop its pages of it.
 *
 * Before it reads or seeks, the kernel asks for the attributes of the file, and drops its pages if
 * these have changed. But it ignores attributes that it asked for before another reply on that file
 * had come, and then goes on with the old size and old pages, although the file was changed before
 * it asked. So before the daemon answers, a thread of its own asks for the attributes by statx(2),
 * which the daemon answers at once, and looks whether the kernel has taken them; if not, because of
 * another reply in between, it asks again. Then the thread drops the pages.
 *
 * The kernel drops a page only after requests that use it were answered: so it is a thread that
 * waits for it, while the daemon serves. It finds the file by its number, as a name in the mount's
 * own folder (statistics.h), which the daemon looks up for this thread alone.
 *
 * A request of the mount's own process must not keep the mount alive: if the daemon is killed, the
 * kernel ends the request when the last descriptor of the mount is closed. So a second thread,
 * which has a table of descriptors of its own without that one, makes these requests.
 *
 * Tests: tests/fs/mount_test, tests/fs/stale, tests/fs/rpm-fs-history
 */
#ifndef FS_MOUNT_REFRESHER_H
#define FS_MOUNT_REFRESHER_H

#include <dtx/session.h>
#include <dtx/task.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>

struct fuse_session;

namespace rfs
{

class Refresher
{
  public:
    /* @session: borrowed; mounted at @directory. Throws std::system_error: there is no thread. */
    Refresher(fuse_session *session, std::string directory);
    /* All refreshes have ended. */
    ~Refresher();
    Refresher(const Refresher &) = delete;
    Refresher &operator=(const Refresher &) = delete;

    /* Awaited: the kernel has dropped its pages of the file that were older than this call; it also
     * has a size and time as new, unless it has ignored 100 answers. */
    dtx::Task<> refresh(dtx::Session &session, uint32_t ino);

    /* Does the refresher ask? Its requests are answered without a refresh. */
    bool is_own(pid_t thread) const
    {
        return thread_id_.load(std::memory_order_relaxed) == thread;
    }

    /* Are there refreshes that have not ended? Then the daemon goes on serving. */
    bool is_busy() const
    {
        return under_way_ != 0;
    }

  private:
    struct Job {
        uint32_t ino;
        int done; /* becomes readable at the end */
    };

    void work();
    void carry_out(const Job &job);
    void ask_all();
    int open_file(uint32_t ino) const;

    fuse_session *session_;
    std::string directory_;
    uint32_t under_way_ = 0; /* of the daemon's thread */
    std::atomic<pid_t> thread_id_{ 0 };
    std::mutex mutex_; /* protects what follows up to the threads */
    std::condition_variable more_;
    std::deque<Job> jobs_;
    bool ends_ = false;
    uint32_t asked_ = 0;              /* the file that the asking thread asks for; 0: none */
    std::condition_variable changed_; /* asked_, or ends_ */
    std::thread thread_;
    std::thread asking_;
};

} // namespace rfs
#endif
