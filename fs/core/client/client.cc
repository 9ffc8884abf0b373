/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.cc: begin calls.
 *
 * Tests: tests/unit/fs/client/client_test.cpp
 */
#include "core/client/client.h"

#include "core/client/clock.h"
#include <dtx/error.h>

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

Client::~Client()
{
    try {
        finish(space_.give_back());
    } catch (const dtx::Error &) { /* a server does not answer */
    } catch (const Failure &) {    /* the outcome is unknown */
    }
}

void Client::finish(dtx::Task<> task)
{
    std::vector<dtx::Task<>> tasks;

    tasks.push_back(std::move(task));
    session_.run(std::move(tasks));
}

Call Client::begin(dtx::Txn &txn, const Credentials &who)
{
    return Call{ txn, open_.volume, who, open_files_, session_.coordinator(), random_, wall_ns() };
}

} // namespace rfs
