/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.cc: begin calls.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#include "core/client/client.h"

#include "core/client/clock.h"

namespace rfs
{

static uint64_t random_seed()
{
    uint64_t seed = 0;

    fill_random(&seed, sizeof(seed));
    return seed;
}

Client::Client(const OpenVolume &open)
    : open_(open), session_(*open.cluster, dtx::kAnyCoordinator), random_(random_seed())
{
}

Call Client::begin(dtx::Txn &txn, const Credentials &who)
{
    return Call{ txn, open_.volume, who, random_, wall_ns() };
}

} // namespace rfs
