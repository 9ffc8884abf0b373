/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.cc: poll and close the parts of a session's store together.
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#include "engine/store/store.h"

namespace dtx
{

static constexpr uint64_t kSettleNs = 1000000000;

Store::Store(const Cluster &cluster, Scheduler &scheduler)
    : servers(cluster, scheduler),
      guesses(cluster.options().techniques.guesses ? cluster.options().guesses : 0)
{
}

void Store::close()
{
    servers.close();
    unlocks.close();
    installs.close();
}

void Store::poll(uint64_t idle_until_ns)
{
    /* A poll may finish commits that wait for nothing else. */
    bool idle = servers.poll(idle_until_ns != 0 && installs.empty());

    if (!installs.empty())
        installs.poll();
    if (idle)
        servers.idle(idle_until_ns);
}

/* Waiting for rows needs no time limit here: librpm's timeout ends it if a server is lost. */
void Store::settle()
{
    uint64_t until = now_ns() + kSettleNs;

    while (!is_settled() && (!installs.empty() || now_ns() < until))
        poll(now_ns() + Servers::kSleepMaxNs);
}

} // namespace dtx
