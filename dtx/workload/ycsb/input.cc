/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.cc: draws operations and records.
 */
#include "workload/ycsb/input.h"

#include <algorithm>

namespace dtx::ycsb
{

namespace
{

/* Of each workload: the operation of most or half of its draws, and the other operation. */
struct Mix {
    Kind often;
    Kind seldom;
    uint32_t percent_seldom;
};

constexpr Mix kMixes[] = {
    { kRead, kUpdate, 50 }, { kRead, kUpdate, 5 }, { kRead, kRead, 0 },
    { kRead, kInsert, 5 },  { kScan, kInsert, 5 }, { kRead, kReadModifyWrite, 50 },
};

} // namespace

const std::vector<std::string> &kind_names()
{
    static const std::vector<std::string> names = { "read", "update", "insert", "scan",
                                                    "read_modify_write" };

    return names;
}

uint64_t Latest::at(uint64_t rank) const
{
    uint64_t count = count_.load(std::memory_order_relaxed);
    uint64_t known = std::min(count, kKept);

    if (rank >= known)
        return keys_ - 1 - (rank - known) % keys_;

    /* Another thread may have counted its record but not stored it yet: then the slot has an older
     * record or, initially, record 0 of the load. */
    return kept_[(count - 1 - rank) % kKept].load(std::memory_order_acquire);
}

Kind Inputs::kind()
{
    const Mix &mix = kMixes[workload_ - 'a'];

    return random_.below(100) < mix.percent_seldom ? mix.seldom : mix.often;
}

Input Inputs::next()
{
    Input input{ kind(), 0, 0 };

    if (input.kind == kInsert)
        return input;

    uint64_t rank = zipf_.draw(random_);

    input.record = workload_ == 'd' ? latest_.at(rank) : spread_.place(rank);
    if (input.kind == kScan)
        input.length = random_.between(1, kScanMax);
    return input;
}

} // namespace dtx::ycsb
