/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: checks all subscribers and the rows that belong to them.
 */
#include "workload/tatp/check.h"

#include "workload/scan.h"
#include "workload/tatp/load.h"
#include <dtx/findings.h>

#include <unordered_map>
#include <unordered_set>

namespace dtx::tatp
{

namespace
{

template <class Row> using Rows = std::unordered_map<uint64_t, Row>;

template <class Row>
Rows<Row> rows_of(const Cluster &cluster, uint32_t copy, Table<Row> table, const std::string &name,
                  Findings &found)
{
    Rows<Row> rows;

    scan_rows(cluster, table, copy, [&](uint64_t key, const Row &row) {
        bool fresh = rows.emplace(key, row).second;

        found.add_if(!fresh, name, "twice: key " + std::to_string(key));
    });
    return rows;
}

template <class Row> bool same(const Row &a, const Row &b)
{
    return std::memcmp(&a, &b, sizeof(Row)) == 0;
}

/* Compares a row with the expected one, and removes it from @rows; the rows left have no
 * subscriber. */
template <class Row>
void expect(Rows<Row> &rows, uint64_t key, const Row &row, const std::string &name, Findings &found)
{
    auto at = rows.find(key);

    if (at == rows.end()) {
        found.add(name, "missing: key " + std::to_string(key));
        return;
    }
    found.add_if(!same(at->second, row), name, "not what was loaded: key " + std::to_string(key));
    rows.erase(at);
}

template <class Row>
void expect_none(const Rows<Row> &rows, const std::string &name, Findings &found)
{
    for (const auto &[key, row] : rows)
        found.add(name, "of no subscriber: key " + std::to_string(key));
}

/* The row as it was loaded, but for the columns that transactions update, which are copied from the
 * current row. */
template <class Row, class Take>
Row updated(const Row &opening, const Rows<Row> &rows, uint64_t key, Take take)
{
    auto at = rows.find(key);
    Row row = opening;

    if (at != rows.end())
        take(row, at->second);
    return row;
}

void check_subscribers(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
                       const Tables &tables, Findings &found)
{
    auto subscribers = rows_of(cluster, copy, tables.subscriber, "subscriber", found);
    auto numbers = rows_of(cluster, copy, tables.number, "subscriber's number", found);
    auto infos = rows_of(cluster, copy, tables.access_info, "access info", found);
    auto facilities = rows_of(cluster, copy, tables.facility, "special facility", found);

    for (uint32_t s_id = 1; s_id <= parameters.subscribers; s_id++) {
        Opening opening = opening_of(parameters, s_id);
        Subscriber row = updated(opening.subscriber, subscribers, s_id,
                                 [](Subscriber &to, const Subscriber &from) {
                                     to.vlr_location = from.vlr_location;
                                     to.bit[0] = from.bit[0] & 1;
                                 });

        expect(subscribers, s_id, row, "subscriber", found);
        expect(numbers, s_id, SubscriberNumber{ s_id }, "subscriber's number", found);
        for (const auto &[key, info] : opening.access_info)
            expect(infos, key, info, "access info", found);
        for (const auto &[key, facility] : opening.facility) {
            SpecialFacility now = updated(
                facility, facilities, key,
                [](SpecialFacility &to, const SpecialFacility &from) { to.data_a = from.data_a; });

            expect(facilities, key, now, "special facility", found);
        }
    }
    expect_none(subscribers, "subscriber", found);
    expect_none(numbers, "subscriber's number", found);
    expect_none(infos, "access info", found);
    expect_none(facilities, "special facility", found);
}

void check_forwarding(const Cluster &cluster, uint32_t copy, const Tables &tables, Findings &found)
{
    auto rows = rows_of(cluster, copy, tables.forwarding, "call forwarding", found);
    std::unordered_set<uint64_t> facilities;

    scan_rows(cluster, tables.facility, copy,
              [&](uint64_t key, const SpecialFacility &) { facilities.insert(key); });
    for (const auto &[key, row] : rows) {
        uint64_t start = key & 0xff;

        found.add_if(facilities.count(key >> 8) == 0, "call forwarding",
                     "without special facility: key " + std::to_string(key));
        found.add_if(
            start > 16 || start % 8 != 0 || row.end_time <= start || row.end_time > start + 8,
            "call forwarding",
            "at no time: from " + std::to_string(start) + " to " + std::to_string(row.end_time));
    }
}

} // namespace

Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables)
{
    Findings found;

    found.rule("subscriber", "as loaded, but for updated columns, and each once");
    found.rule("subscriber's number", "leads to its subscriber");
    found.rule("access info", "as loaded");
    found.rule("special facility", "as loaded, but for updated columns");
    found.rule("call forwarding", "has its special facility, and a valid start and end time");
    check_subscribers(cluster, copy, parameters, tables, found);
    check_forwarding(cluster, copy, tables, found);
    return found;
}

Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables)
{
    Totals sums{};

    scan_rows(cluster, tables.forwarding, copy,
              [&](uint64_t, const CallForwarding &) { sums[0]++; });
    scan_rows(cluster, tables.subscriber, copy, [&](uint64_t, const Subscriber &row) {
        sums[1] += row.vlr_location;
        sums[2] += row.bit[0];
    });
    scan_rows(cluster, tables.facility, copy,
              [&](uint64_t, const SpecialFacility &row) { sums[3] += row.data_a; });
    return sums;
}

Totals loaded(const Parameters &parameters)
{
    Totals sums{};

    for (uint32_t s_id = 1; s_id <= parameters.subscribers; s_id++) {
        Opening opening = opening_of(parameters, s_id);

        sums[0] += opening.forwarding.size();
        sums[1] += opening.subscriber.vlr_location;
        sums[2] += opening.subscriber.bit[0];
        for (const auto &[key, row] : opening.facility)
            sums[3] += row.data_a;
    }
    return sums;
}

} // namespace dtx::tatp
