/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unlocks.h: messages that free locks, for which no coroutine waits.
 *
 * Tests: tests/unit/dtx/engine/store/install_queue_test.cpp
 */
#ifndef DTX_ENGINE_UNLOCKS_H
#define DTX_ENGINE_UNLOCKS_H

#include "engine/base/assert.h"
#include "engine/cluster/servers.h"
#include <dtx/address.h>

#include <cstdint>
#include <memory>

namespace dtx
{

class Unlocks
{
  public:
    explicit Unlocks(Servers &servers) : servers_(servers) {}

    /* Free a lock of transaction @txn without waiting for it. Returns 0, RPM_E_BUSY (poll, then try
     * again), or another rpm_error. May throw Fenced and Error. */
    int send(Address address, uint64_t txn);

    /* Have all messages ended? */
    bool empty() const
    {
        return pending_ == nullptr || pending_->remaining == 0;
    }
    /* Has a message failed? Then this session still holds that lock, until it joins again. */
    bool failed() const
    {
        return pending_ != nullptr && pending_->status != 0;
    }
    /* To be called after the connections were closed: until then librpm may write found_. */
    void close()
    {
        DTX_ASSERT(!servers_.is_open());
        pending_ = nullptr;
    }

  private:
    Servers &servers_;
    std::shared_ptr<Pending> pending_;
    uint64_t found_ = 0; /* librpm writes the old lock words here; not used */
};

} // namespace dtx
#endif
