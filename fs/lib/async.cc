/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async.cc: let calls go on that were submitted, and hand out their completions.
 *
 * Tests: tests/unit/fs/lib/async_test.cpp
 */
#include "lib/handle.h"

#include <algorithm>

namespace rfs
{

static constexpr uint64_t kUsNs = 1000;

static uint64_t time_after(uint64_t timeout_us)
{
    uint64_t now = dtx::now_ns();

    return timeout_us < (UINT64_MAX - now) / kUsNs ? now + timeout_us * kUsNs : UINT64_MAX;
}

/* One look, which may wait until a time. Returns Session::work(). */
static bool work(rfs_client *client, uint64_t until_ns)
{
    if (client->calls.is_running())
        begin_turn(client);
    return client->client.session().work(until_ns);
}

} // namespace rfs

int rfs_client_fd(rfs_client *client)
{
    return rfs::guarded([=] { return client->client.session().fd(); });
}

int rfs_client_arm(rfs_client *client)
{
    return rfs::guarded([=] {
        bool installing = client->calls.outstanding() > 0 && !client->calls.is_running();

        if (client->calls.available(installing) > 0)
            return 1;
        if (installing && !rfs::work(client, 0))
            return 1;
        return client->client.session().arm() ? 1 : 0;
    });
}

int rfs_poll(rfs_client *client, rfs_completion *done, uint32_t n)
{
    return rfs_wait(client, done, n, 0, 0);
}

int rfs_wait(rfs_client *client, rfs_completion *done, uint32_t n, uint32_t min,
             uint64_t timeout_us)
{
    return rfs::guarded([=] {
        rfs::Calls &calls = client->calls;
        uint64_t until_ns = min > 0 ? rfs::time_after(timeout_us) : 0;
        uint32_t most = std::min<uint32_t>(n, INT32_MAX);
        bool installing = rfs::work(client, 0);

        rfs::expect((done != nullptr || n == 0) && min <= n, EINVAL);
        while (calls.available(installing) < min && installing && dtx::now_ns() < until_ns)
            installing = rfs::work(client, until_ns);
        return static_cast<int>(calls.take(done, most, installing));
    });
}

int rfs_cancel(rfs_client *client, const void *context)
{
    return client->calls.cancel(context) > 0 ? 0 : rfs::failed(ENOENT);
}
