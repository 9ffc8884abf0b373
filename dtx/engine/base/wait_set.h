/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_set.h: one descriptor that can be read when one of others can, or at a time: for a thread
 * that waits in a loop of its own.
 *
 * Tests: tests/unit/dtx/engine/base/wait_set_test.cpp
 */
#ifndef DTX_ENGINE_WAIT_SET_H
#define DTX_ENGINE_WAIT_SET_H

#include <cstdint>
#include <poll.h>
#include <vector>

namespace dtx
{

class WaitSet
{
  public:
    /* Throws Error, RPM_E_NOMEM: the process has no descriptors left. */
    WaitSet();
    ~WaitSet();
    WaitSet(const WaitSet &) = delete;
    WaitSet &operator=(const WaitSet &) = delete;

    /* Stays the same. Only to be waited for. */
    int fd() const
    {
        return events_;
    }
    /* From now on fd() can be read when one of @fds can, or from @until_ns of now_ns() on
     * (UINT64_MAX: at no time). Descriptors of earlier calls do not count any more. Throws Error,
     * RPM_E_NOMEM. */
    void arm(const std::vector<pollfd> &fds, uint64_t until_ns);

  private:
    int events_ = -1;
    int timer_ = -1;
    std::vector<int> watched_; /* some may be closed, and their numbers be those of other files */
};

} // namespace dtx
#endif
