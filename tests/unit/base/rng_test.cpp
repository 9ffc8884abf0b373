// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
}
#include "support/catch.h"

#include <set>

TEST_CASE("rng: a seed gives the same sequence everywhere", "[unit]")
{
    // The published test vector of SplitMix64 for seed 1234567.
    static const uint64_t EXPECTED[] = { 6457827717110365317ull, 3203168211198807973ull,
                                         9817491932198370423ull, 4593380528125082431ull,
                                         16408922859458223821ull };
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 1234567);
    for (uint64_t expected : EXPECTED)
        REQUIRE(rpmi_rng_next(&rng) == expected);
}

TEST_CASE("rng: neighbouring seeds give different sequences", "[unit]")
{
    std::set<uint64_t> seen;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        rpmi_rng rng;

        rpmi_rng_seed(&rng, seed);
        seen.insert(rpmi_rng_next(&rng));
    }
    REQUIRE(seen.size() == 1000);
}

TEST_CASE("rng: below stays below, and reaches every value", "[unit]")
{
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 1);
    REQUIRE(rpmi_rng_below(&rng, 0) == 0);
    REQUIRE(rpmi_rng_below(&rng, 1) == 0);
    for (uint64_t bound : { 2ull, 3ull, 7ull, 64ull }) {
        std::set<uint64_t> seen;

        for (int i = 0; i < 2000; i++) {
            uint64_t value = rpmi_rng_below(&rng, bound);

            REQUIRE(value < bound);
            seen.insert(value);
        }
        REQUIRE(seen.size() == bound);
    }
    // For a bound of three quarters of 2^64 the lowest third would be twice as likely, if the draws
    // that favour it were not rejected.
    int low = 0;
    for (int i = 0; i < 3000; i++)
        low += rpmi_rng_below(&rng, 3ull << 62) < (1ull << 62);
    REQUIRE(low > 850);
    REQUIRE(low < 1150);
}

TEST_CASE("rng: chance is sure at both ends, right between, and draws the same each time", "[unit]")
{
    rpmi_rng rng;
    rpmi_rng other;
    int hits = 0;

    rpmi_rng_seed(&rng, 42);
    for (int i = 0; i < 1000; i++) {
        REQUIRE_FALSE(rpmi_rng_chance(&rng, 0));
        REQUIRE(rpmi_rng_chance(&rng, 1000000));
    }
    for (int i = 0; i < 100000; i++)
        hits += rpmi_rng_chance(&rng, 250000);
    REQUIRE(hits > 24000);
    REQUIRE(hits < 26000);

    rpmi_rng_seed(&rng, 7);
    rpmi_rng_seed(&other, 7);
    rpmi_rng_chance(&rng, 0);
    rpmi_rng_chance(&other, 500000);
    REQUIRE(rng.state == other.state);
}

TEST_CASE("rng: entropy does not repeat itself", "[unit]")
{
    std::set<uint64_t> seen;

    for (int i = 0; i < 100; i++)
        seen.insert(rpmi_rng_entropy());
    REQUIRE(seen.size() == 100);
}
