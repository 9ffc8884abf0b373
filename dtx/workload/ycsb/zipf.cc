/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zipf.cc: draws ranks, and maps them to records.
 */
#include "workload/ycsb/zipf.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtx::ycsb
{

double zeta(uint64_t many, double theta)
{
    constexpr uint64_t kTerms = 1000;
    uint64_t terms = std::min(many, kTerms);
    double last = static_cast<double>(many);
    double first = static_cast<double>(terms);
    double sum = 0;

    for (uint64_t i = terms; i >= 1; i--)
        sum += std::pow(static_cast<double>(i), -theta);
    if (many == terms)
        return sum;
    sum += (std::pow(last, 1 - theta) - std::pow(first, 1 - theta)) / (1 - theta);
    sum += (std::pow(last, -theta) - std::pow(first, -theta)) / 2;
    return sum - theta / 12 * (std::pow(last, -theta - 1) - std::pow(first, -theta - 1));
}

Zipf::Zipf(uint64_t many, double theta)
    : many_(many), theta_(theta), zeta_(zeta(many, theta)), alpha_(1 / (1 - theta)),
      eta_(many == 2 ? 0
                     : (1 - std::pow(2 / static_cast<double>(many), 1 - theta)) /
                           (1 - zeta(2, theta) / zeta_))
{
}

uint64_t Zipf::draw(Random &random) const
{
    double chance = static_cast<double>(random.next() >> 11) * 0x1p-53;
    double scaled = chance * zeta_;

    if (scaled < 1)
        return 0;
    if (scaled < 1 + std::pow(0.5, theta_))
        return 1;

    double rank = static_cast<double>(many_) * std::pow(eta_ * chance - eta_ + 1, alpha_);

    return std::min(static_cast<uint64_t>(rank), many_ - 1);
}

Spread::Spread(uint64_t many)
    : many_(many), step_(static_cast<uint64_t>(static_cast<double>(many) * 0.6180339887498949))
{
    step_ = std::max<uint64_t>(step_, 1);
    while (std::gcd(step_, many_) != 1)
        step_++;
}

} // namespace dtx::ycsb
