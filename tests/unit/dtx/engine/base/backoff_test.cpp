// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/backoff.h"

#include "support/catch.h"

using dtx::Backoff;

namespace
{

// Runs one epoch of @tries attempts of which @in_vain failed, and the first failed attempt of the
// next epoch, at which the session adapts.
void pass(Backoff &backoff, uint64_t *now, uint32_t in_vain, uint32_t tries = 20)
{
    dtx::SplitMix64 rng(1);

    for (uint32_t i = in_vain; i < tries; i++)
        backoff.done(*now);
    for (uint32_t i = 1; i < in_vain; i++)
        (void)backoff.wait_ns(i, false, *now, rng);
    *now += Backoff::kEpochNs;
    (void)backoff.wait_ns(1, false, *now, rng);
}

} // namespace

TEST_CASE("dtx: back-off starts small, and its limit follows the conflicts", "[unit]")
{
    Backoff backoff(true, false);
    dtx::SplitMix64 rng(1);
    uint64_t now = Backoff::kEpochNs;

    CHECK(backoff.wait_ns(1, false, now, rng) < 2 * Backoff::kFirstNs);
    for (int epoch = 0; epoch < 30; epoch++)
        pass(backoff, &now, 20);
    CHECK(backoff.limit_ns() == Backoff::kLastNs);
    CHECK(backoff.depth() == Backoff::kDepthMost);
    CHECK(backoff.wait_ns(11, false, now, rng) >= Backoff::kLastNs);
    CHECK(backoff.wait_ns(1, false, now, rng) < 2 * Backoff::kFirstNs);
    for (int epoch = 0; epoch < 30; epoch++)
        pass(backoff, &now, 1);
    CHECK(backoff.limit_ns() == Backoff::kFirstNs);
}

TEST_CASE("dtx: conflicts first reduce the transactions under way, then lengthen waits, and back",
          "[unit]")
{
    Backoff backoff;
    uint64_t now = Backoff::kEpochNs;

    pass(backoff, &now, 1);
    CHECK(backoff.depth() == 64);
    for (uint32_t depth = 32; depth > 0; depth /= 2) {
        CHECK(backoff.limit_ns() == Backoff::kFirstNs);
        pass(backoff, &now, 15);
        CHECK(backoff.depth() == depth);
    }
    pass(backoff, &now, 15);
    CHECK(backoff.depth() == 1);
    CHECK(backoff.limit_ns() == 2 * Backoff::kFirstNs);
    pass(backoff, &now, 5); // between a tenth and a half failed: nothing changes
    CHECK(backoff.depth() == 1);
    CHECK(backoff.limit_ns() == 2 * Backoff::kFirstNs);
    for (uint32_t depth = 2; depth <= 64; depth *= 2) {
        pass(backoff, &now, 1);
        CHECK(backoff.depth() == depth);
    }
    CHECK(backoff.limit_ns() == 2 * Backoff::kFirstNs);
    pass(backoff, &now, 1);
    CHECK(backoff.limit_ns() == Backoff::kFirstNs);
}

TEST_CASE("dtx: the number under way recovers without conflicts", "[unit]")
{
    Backoff backoff;
    uint64_t now = Backoff::kEpochNs;

    pass(backoff, &now, 15);
    REQUIRE(backoff.is_narrow());
    for (int i = 0; i < 20; i++)
        backoff.done(now);
    now += Backoff::kEpochNs;
    backoff.done(now);
    CHECK_FALSE(backoff.is_narrow());
}

TEST_CASE("dtx: without back-off waits are 0, and conflicts still reduce the depth", "[unit]")
{
    Backoff backoff(false, true);
    dtx::SplitMix64 rng(1);
    uint64_t now = Backoff::kEpochNs;

    pass(backoff, &now, 15);
    CHECK(backoff.wait_ns(10, false, now, rng) == 0);
    CHECK(backoff.depth() == 32);
}

TEST_CASE(
    "dtx: conflicts with a lock that is held for long make the session neither narrow nor slow",
    "[unit]")
{
    Backoff backoff;
    dtx::SplitMix64 rng(1);
    uint64_t now = Backoff::kEpochNs;

    for (int epoch = 0; epoch < 10; epoch++, now += Backoff::kEpochNs) {
        backoff.done(now);
        for (uint32_t i = 1; i < 20; i++)
            CHECK(backoff.wait_ns(i, true, now, rng) >= Backoff::kLastNs);
    }
    CHECK(backoff.depth() == Backoff::kDepthMost);
    CHECK(backoff.limit_ns() == Backoff::kFirstNs);
}
