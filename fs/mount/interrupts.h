/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interrupts.h: answers requests of processes that are being killed, while their calls go on.
 *
 * A process that is killed in a call waits, in state D, until its request is answered: for as long
 * as a server does not answer. So it gets EINTR, and the call goes on without it: it may still take
 * effect, as that of a client that dies. A call that a signal with a handler interrupts goes on,
 * like one on a disk; those that wait for a lock look for signals themselves.
 *
 * Tests: tests/fs/interrupt
 */
#ifndef FS_MOUNT_INTERRUPTS_H
#define FS_MOUNT_INTERRUPTS_H

#include "mount/request.h"
#include <dtx/session.h>
#include <dtx/task.h>

#include <cstdint>
#include <unordered_map>

namespace rfs
{

class Interrupts
{
  public:
    /* @session: borrowed; runs the coroutine that answers. */
    explicit Interrupts(dtx::Session &session) : session_(session) {}
    Interrupts(const Interrupts &) = delete;
    Interrupts &operator=(const Interrupts &) = delete;

    /* A request that is being served. */
    class Watch
    {
      public:
        Watch(Interrupts &interrupts, Request &request);
        Watch(const Watch &) = delete;
        Watch &operator=(const Watch &) = delete;
        ~Watch()
        {
            interrupts_.waiting_.erase(&request_);
        }

      private:
        static void came(fuse_req_t handle, void *watch);

        Interrupts &interrupts_;
        Request &request_;
    };

    /* Answers a request with 0 at @at_ns, unless it has a reply before. close(2) needs this:
     * while a killed process closes its files, the kernel sends no interrupt. */
    void answer_at(Request &request, uint64_t at_ns);

  private:
    struct Wait {
        uint64_t until_ns;
        bool if_killed; /* else it is answered in any case */
    };

    void begin();
    dtx::Task<> work();

    dtx::Session &session_;
    std::unordered_map<Request *, Wait> waiting_;
    bool works_ = false;
};

} // namespace rfs
#endif
