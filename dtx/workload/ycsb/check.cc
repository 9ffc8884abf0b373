/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: checks all records.
 */
#include "workload/ycsb/check.h"

#include "workload/scan.h"

#include <string>
#include <vector>

namespace dtx::ycsb
{

namespace
{

using Value = std::span<const unsigned char>;

/* Odd, so that it counts in all bits of a sum. */
uint64_t weight_of(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15u | 1;
}

std::string name_of(uint64_t key)
{
    return "record " + std::to_string(record_of(key)) + ", key " + std::to_string(key);
}

} // namespace

Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables)
{
    std::vector<bool> there(parameters.keys);
    uint64_t missing = parameters.keys;
    Findings found;

    found.rule("records", "each record of the load exists once");
    found.rule("values", "each value follows from its key and its number of updates");
    scan_rows(cluster, tables.records, copy, [&](uint64_t key, Value value) {
        uint64_t record = record_of(key);

        found.add_if(!is_value_of(key, value), "values", name_of(key));
        if (record >= parameters.keys)
            return;
        found.add_if(there[record], "records", name_of(key) + " is there twice");
        missing -= there[record] ? 0 : 1;
        there[record] = true;
    });
    found.add_if(missing != 0, "records", std::to_string(missing) + " are missing");
    return found;
}

Totals change_of_insert(uint64_t key)
{
    return { 1, weight_of(key), 0, 0 };
}

Totals change_of_update(uint64_t key)
{
    return { 0, 0, 1, weight_of(key) };
}

Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables)
{
    Totals sum{};

    scan_rows(cluster, tables.records, copy, [&](uint64_t key, Value value) {
        uint64_t count = count_of(value);

        sum = sum + Totals{ 1, weight_of(key), count, weight_of(key) * count };
    });
    return sum;
}

Totals loaded(const Parameters &parameters)
{
    Totals sum{};

    for (uint64_t record = 0; record < parameters.keys; record++)
        sum = sum + change_of_insert(key_of(record));
    return sum;
}

} // namespace dtx::ycsb
