// SPDX-License-Identifier: BSD-3-Clause
// random_test.cpp: random numbers are uniform, and equal on all machines for equal seeds.
#include "support/catch.h"
#include "workload/random.h"

#include <algorithm>
#include <vector>

using dtx::Random;

TEST_CASE("random: a seed gives one sequence on any machine")
{
    uint64_t state = 1234567;
    Random chance(42);
    Random same(42);
    Random other(43);

    // The reference outputs of splitmix64 for this seed.
    CHECK(dtx::splitmix64(state) == 6457827717110365317ull);
    CHECK(dtx::splitmix64(state) == 3203168211198807973ull);
    // Of xoshiro256** seeded by it, from the reference code.
    CHECK(chance.next() == 1546998764402558742ull);
    CHECK(chance.next() == 6990951692964543102ull);
    CHECK(same.next() == 1546998764402558742ull);
    CHECK(other.next() != 1546998764402558742ull);
}

TEST_CASE("random: the parts of a seed have different sequences")
{
    CHECK(dtx::seed_of(1, 7) != dtx::seed_of(7, 1));
    CHECK(dtx::seed_of(1, 7) != dtx::seed_of(1, 8));
    CHECK(dtx::seed_of(1, 7) != dtx::seed_of(2, 7));
}

TEST_CASE("random: every value of a range is equally frequent")
{
    constexpr uint32_t draws = 120000;
    Random chance(3);
    uint32_t counts[12] = {};
    uint32_t chosen = 0;

    for (uint32_t i = 0; i < draws; i++) {
        uint32_t value = chance.between(5, 16);

        REQUIRE(value >= 5);
        REQUIRE(value <= 16);
        counts[value - 5]++;
        chosen += chance.chance(2500) ? 1 : 0;
    }
    for (uint32_t count : counts)
        CHECK(count == Approx(draws / 12).epsilon(0.05));
    CHECK(chosen == Approx(draws / 4).epsilon(0.03));
}

TEST_CASE("random: the bounds of ranges occur")
{
    Random chance(4);
    bool top = false;

    for (uint32_t i = 0; i < 100; i++) {
        CHECK(chance.between(9, 9) == 9);
        CHECK(chance.below(1) == 0);
        CHECK(chance.between(1, UINT32_MAX) >= 1);
        CHECK_FALSE(chance.chance(0));
        CHECK(chance.chance(10000));
        top = top || chance.next() >> 63 != 0;
    }
    CHECK(top);
}

TEST_CASE("random: a shuffle keeps every item, and every place is equally likely")
{
    constexpr uint32_t rounds = 60000;
    Random chance(5);
    uint32_t first[6] = {};

    for (uint32_t i = 0; i < rounds; i++) {
        std::vector<uint32_t> items = { 0, 1, 2, 3, 4, 5 };

        chance.shuffle(items.data(), items.size());
        first[items[0]]++;
        std::sort(items.begin(), items.end());
        REQUIRE(items == std::vector<uint32_t>{ 0, 1, 2, 3, 4, 5 });
    }
    for (uint32_t count : first)
        CHECK(count == Approx(rounds / 6).epsilon(0.05));
}
