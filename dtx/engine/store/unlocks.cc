/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unlocks.cc: free a lock in mapped memory, or send the message that frees it.
 *
 * Tests: tests/unit/dtx/engine/store/install_queue_test.cpp
 */
#include "engine/store/unlocks.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

namespace dtx
{

int Unlocks::send(Address address, uint64_t txn)
{
    ServerConnection &primary = servers_.primary(address.shard());
    uint64_t offset = servers_.layout().lock_offset(address);
    int err = 0;

    DTX_ASSERT(txn != 0);
    if (pending_ == nullptr)
        pending_ = servers_.new_pending();
    if (primary.is_mapped())
        (void)primary.compare_and_swap(address.shard(), offset, txn, 0);
    else
        err = primary.send(
            { Operation::swap_lock, address.shard(), offset, &found_, sizeof(found_), txn, 0 },
            pending_.get());
    servers_.remote() += err == 0 ? 1 : 0;
    return err;
}

} // namespace dtx
