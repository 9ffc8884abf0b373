// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
}
#include "support/catch.h"

#include <algorithm>
#include <librpm/stats.h>
#include <memory>
#include <vector>

TEST_CASE("stats: an empty histogram answers zero", "[unit]")
{
    auto hist = std::make_unique<rpm_hist>();

    rpm_hist_init(hist.get());
    REQUIRE(rpm_hist_percentile(hist.get(), 500) == 0);
    REQUIRE(hist->count == 0);
    REQUIRE(hist->min == 0);
    REQUIRE(hist->max == 0);
}

TEST_CASE("stats: any single value comes back within 1/64, never lower", "[unit]")
{
    auto hist = std::make_unique<rpm_hist>();
    std::vector<uint64_t> values = { 0, 1, 63, 64, 65, 127, 128, 129, UINT64_MAX, UINT64_MAX - 1 };

    for (int bit = 6; bit < 64; bit++)
        for (uint64_t near : { -1, 0, 1 })
            values.push_back((1ull << bit) + near);
    for (uint64_t value : values) {
        rpm_hist_init(hist.get());
        rpm_hist_add(hist.get(), value);
        REQUIRE(hist->min == value);
        REQUIRE(hist->max == value);
        // Other values on both sides, so that neither minimum nor maximum is the answer.
        rpm_hist_add(hist.get(), 0);
        rpm_hist_add(hist.get(), UINT64_MAX);
        uint64_t middle = rpm_hist_percentile(hist.get(), 500);
        CAPTURE(value, middle);
        REQUIRE(middle >= value);
        REQUIRE(middle - value <= value / 64);
    }
}

TEST_CASE("stats: percentiles of random values stay within 1/64 of the true ones", "[unit]")
{
    auto hist = std::make_unique<rpm_hist>();
    std::vector<uint64_t> values;
    uint64_t sum = 0;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 5);
    rpm_hist_init(hist.get());
    for (int i = 0; i < 20011; i++) {
        uint64_t value = rpmi_rng_next(&rng) >> (20 + rpmi_rng_below(&rng, 44));

        values.push_back(value);
        sum += value;
        rpm_hist_add(hist.get(), value);
    }
    std::sort(values.begin(), values.end());
    REQUIRE(hist->count == values.size());
    REQUIRE(hist->sum == sum);
    REQUIRE(hist->min == values.front());
    REQUIRE(hist->max == values.back());
    for (uint32_t permille = 0; permille <= 1000; permille++) {
        size_t rank = std::max<size_t>(1, (values.size() * permille + 999) / 1000);
        uint64_t truth = values[rank - 1];
        uint64_t told = rpm_hist_percentile(hist.get(), permille);

        CAPTURE(permille, truth, told);
        REQUIRE(told >= truth);
        REQUIRE(told - truth <= truth / 64);
    }
    REQUIRE(rpm_hist_percentile(hist.get(), 0) == values.front());
    REQUIRE(rpm_hist_percentile(hist.get(), 1000) == values.back());
    REQUIRE(rpm_hist_percentile(hist.get(), 5000) == values.back());
}

TEST_CASE("stats: merging two halves equals adding all", "[unit]")
{
    auto all = std::make_unique<rpm_hist>();
    auto left = std::make_unique<rpm_hist>();
    auto right = std::make_unique<rpm_hist>();
    auto none = std::make_unique<rpm_hist>();

    for (rpm_hist *hist : { all.get(), left.get(), right.get(), none.get() })
        rpm_hist_init(hist);
    for (uint64_t i = 1; i < 5000; i++) {
        rpm_hist_add(all.get(), i * i);
        rpm_hist_add(i % 3 == 0 ? left.get() : right.get(), i * i);
    }
    rpm_hist_merge(left.get(), right.get());
    rpm_hist_merge(left.get(), none.get());
    REQUIRE(memcmp(left.get(), all.get(), sizeof(rpm_hist)) == 0);
    rpm_hist_merge(none.get(), all.get());
    REQUIRE(memcmp(none.get(), all.get(), sizeof(rpm_hist)) == 0);
}

TEST_CASE("stats: counters stick at their maximum", "[unit]")
{
    auto hist = std::make_unique<rpm_hist>();

    rpm_hist_init(hist.get());
    rpm_hist_add(hist.get(), UINT64_MAX);
    rpm_hist_add(hist.get(), UINT64_MAX);
    REQUIRE(hist->sum == UINT64_MAX);
    hist->bucket[5] = UINT32_MAX;
    rpm_hist_add(hist.get(), 5);
    REQUIRE(hist->bucket[5] == UINT32_MAX);
}
