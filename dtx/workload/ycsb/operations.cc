/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operations.cc: reads, updates, inserts and scans of records.
 */
#include "workload/ycsb/operations.h"

namespace dtx::ycsb
{

static constexpr uint64_t kPartitionKeys = 1ull << 56;

Task<bool> Operations::read(Txn &txn, uint64_t record)
{
    auto value = co_await txn.read(records_, key_of(record));

    need(value.has_value(), "a record is missing");
    co_return true;
}

Task<bool> Operations::update(Txn &txn, uint64_t record)
{
    uint64_t key = key_of(record);
    auto value = co_await txn.read_for_update(records_, key);

    need(value.has_value(), "a record is missing");
    make_value(key, count_of(*value) + 1, value_);
    co_return co_await txn.write(records_, key, value_);
}

Task<bool> Operations::insert(Txn &txn, uint64_t record)
{
    uint64_t key = key_of(record);

    make_value(key, 0, value_);
    co_return co_await txn.insert(records_, key, value_);
}

Task<bool> Operations::scan(Txn &txn, uint64_t record, uint32_t length)
{
    uint64_t from = key_of(record);

    found_ = 0;
    for (uint32_t left = length; left > 0;) {
        uint64_t last = from | (kPartitionKeys - 1);
        auto rows = co_await txn.scan(records_, from, last, left);

        left -= static_cast<uint32_t>(rows.size());
        found_ += static_cast<uint32_t>(rows.size());
        from = last + 1;
        if (from == 0)
            break; /* that was the last partition */
    }
    co_return true;
}

} // namespace dtx::ycsb
