/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.cc: sums committed changes, and finds out whether some of the unknown ones explain the
 * rest.
 */
#include "workload/ledger.h"

#include <set>

namespace dtx
{

namespace
{

/* Limit of different sums of subsets of the unknown changes. */
constexpr size_t kSumsMax = 1u << 20;

} // namespace

Totals operator+(const Totals &a, const Totals &b)
{
    Totals sum;

    for (size_t i = 0; i < sum.size(); i++)
        sum[i] = a[i] + b[i];
    return sum;
}

Totals operator-(const Totals &a, const Totals &b)
{
    Totals difference;

    for (size_t i = 0; i < difference.size(); i++)
        difference[i] = a[i] - b[i];
    return difference;
}

void Ledger::add(Status status, const Totals &change)
{
    if (status == Status::committed)
        committed_ = committed_ + change;
    else if (status == Status::unknown && change != Totals{})
        unknown_.push_back(change);
}

void Ledger::merge(const Ledger &other)
{
    committed_ = committed_ + other.committed_;
    unknown_.insert(unknown_.end(), other.unknown_.begin(), other.unknown_.end());
}

Verdict Ledger::explains(const Totals &change) const
{
    Totals rest = change - committed_;
    std::set<Totals> sums{ Totals{} };

    for (const Totals &one : unknown_) {
        std::vector<Totals> with;

        if (sums.count(rest) != 0)
            return Verdict::right;
        if (sums.size() > kSumsMax)
            return Verdict::too_many_unknown;
        for (const Totals &sum : sums)
            with.push_back(sum + one);
        sums.insert(with.begin(), with.end());
    }
    return sums.count(rest) != 0 ? Verdict::right : Verdict::wrong;
}

} // namespace dtx
