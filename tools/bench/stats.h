/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h: mean and standard deviation of values that are added one by one, and whether the rounds
 * of a comparison agree.
 *
 * Tests: tests/tools/stats_test.cpp
 */
#ifndef RPM_TOOLS_BENCH_STATS_H
#define RPM_TOOLS_BENCH_STATS_H

#include <cmath>
#include <cstdint>
#include <vector>

namespace bench
{

/* Welford's algorithm, which avoids cancellation in a sum of squares. */
struct Spread {
    uint64_t count = 0;
    double mean = 0;
    double squares = 0; /* sum of squared distances from the mean */

    void add(double value, uint64_t times = 1)
    {
        add(Spread{ times, value, 0 });
    }
    void add(const Spread &other)
    {
        uint64_t all = count + other.count;
        double apart = other.mean - mean;

        if (other.count == 0)
            return;
        squares += other.squares + apart * apart * static_cast<double>(count) *
                                       static_cast<double>(other.count) / static_cast<double>(all);
        mean += apart * static_cast<double>(other.count) / static_cast<double>(all);
        count = all;
    }
    /* Standard deviation of a sample; 0 for fewer than two values. */
    double deviation() const
    {
        return count < 2 ? 0 : std::sqrt(squares / static_cast<double>(count - 1));
    }
};

inline Spread spread_of(const std::vector<double> &values)
{
    Spread spread;

    for (double value : values)
        spread.add(value);
    return spread;
}

/* Rounds scatter if their standard deviation is more than this share of the mean. */
constexpr double kScatter = 0.1;

inline bool scatters(const Spread &rounds)
{
    return rounds.deviation() > kScatter * rounds.mean;
}

} // namespace bench
#endif
