// SPDX-License-Identifier: BSD-3-Clause
#include "engine/backoff.h"

#include "support/catch.h"

TEST_CASE("dtx: back-off starts small, and its limit follows the conflicts", "[unit]")
{
    dtx::Backoff backoff;
    dtx::Chance chance(1);
    uint64_t now = dtx::Backoff::kEpochNs;

    CHECK(backoff.wait_ns(1, now, chance) < 2 * dtx::Backoff::kFirstNs);
    for (int epoch = 0; epoch < 30; epoch++, now += dtx::Backoff::kEpochNs)
        for (uint32_t i = 1; i <= 20; i++)
            (void)backoff.wait_ns(i, now, chance);
    CHECK(backoff.limit_ns() == dtx::Backoff::kLastNs);
    CHECK(backoff.wait_ns(11, now, chance) >= dtx::Backoff::kLastNs);
    CHECK(backoff.wait_ns(1, now, chance) < 2 * dtx::Backoff::kFirstNs);
    for (int epoch = 0; epoch < 30; epoch++, now += dtx::Backoff::kEpochNs) {
        for (int i = 0; i < 20; i++)
            backoff.done();
        (void)backoff.wait_ns(1, now, chance);
    }
    CHECK(backoff.limit_ns() == dtx::Backoff::kFirstNs);
}
