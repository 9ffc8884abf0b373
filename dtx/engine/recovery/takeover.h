/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * takeover.h: take over from a dead coordinator on a thread of its own.
 *
 * recover_one() connects, claims logs, and installs rows. Each of these calls blocks its thread
 * until the server answers, at most for Options::timeout_us. On the session's thread no coroutine
 * would run meanwhile; so a second thread makes them, and writes to an eventfd when recover_one()
 * has ended.
 *
 * Tests: tests/unit/dtx/engine/recovery/takeover_test.cpp
 */
#ifndef DTX_ENGINE_TAKEOVER_H
#define DTX_ENGINE_TAKEOVER_H

#include "engine/recovery/recover.h"

#include <exception>
#include <thread>

namespace dtx
{

class Takeover
{
  public:
    /* Starts recover_one(@cluster, @coordinator, @claim), which has connections of its own. The
     * object borrows @cluster. Throws Error, RPM_E_NOMEM: no descriptor or no thread is left. */
    Takeover(const Cluster &cluster, uint32_t coordinator, Claim claim);
    /* Waits for its end. */
    ~Takeover();
    Takeover(const Takeover &) = delete;
    Takeover &operator=(const Takeover &) = delete;

    /* Becomes readable when recover_one() has ended. */
    int fd() const
    {
        return ended_;
    }
    /* Waits for the end. Throws what recover_one() threw: Fenced, Error. Called once. */
    void finish();

  private:
    int ended_; /* an eventfd */
    std::exception_ptr thrown_;
    std::thread thread_;
};

} // namespace dtx
#endif
