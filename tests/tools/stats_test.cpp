// SPDX-License-Identifier: BSD-3-Clause
#include "../../tools/bench/stats.h"
#include "support/catch.h"

static bool near(double a, double b)
{
    return std::fabs(a - b) <= 1e-9 * std::fabs(b);
}

TEST_CASE("stats: mean and standard deviation, in one go and in parts", "[unit]")
{
    bench::Spread all = bench::spread_of({ 2, 4, 4, 4, 5, 5, 7, 9 });
    bench::Spread parts = bench::spread_of({ 2, 4, 4 });

    CHECK(all.count == 8);
    CHECK(near(all.mean, 5));
    CHECK(near(all.deviation(), std::sqrt(32.0 / 7)));
    parts.add(4);
    parts.add(5, 2);
    parts.add(bench::spread_of({ 7, 9 }));
    parts.add(bench::Spread());
    CHECK(parts.count == 8);
    CHECK(near(parts.mean, all.mean));
    CHECK(near(parts.deviation(), all.deviation()));
    CHECK(bench::spread_of({ 3 }).deviation() == 0);
    CHECK(bench::Spread().deviation() == 0);
    // Small differences of large values.
    CHECK(near(bench::spread_of({ 1e9, 1e9 + 1, 1e9 + 2 }).deviation(), 1));
}

TEST_CASE("stats: rounds that agree, and rounds that do not", "[unit]")
{
    CHECK_FALSE(bench::scatters(bench::spread_of({ 1, 1.05, 0.97, 1.02 })));
    CHECK(bench::scatters(bench::spread_of({ 1, 1.4, 0.97, 1.02 })));
    CHECK_FALSE(bench::scatters(bench::spread_of({ 100 })));
    // The threshold is relative to the mean, so that a small ratio cannot hide a scatter.
    CHECK(bench::scatters(bench::spread_of({ 0.10, 0.13, 0.09 })));
    CHECK_FALSE(bench::scatters(bench::spread_of({ 10.0, 10.3, 9.9 })));
}
