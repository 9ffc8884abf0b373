/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.cc: counts and checks that are common to all workloads.
 */
#include "workload/workload.h"

namespace dtx
{

KindCounts &KindCounts::operator+=(const KindCounts &other)
{
    committed += other.committed;
    aborted += other.aborted;
    conflicts += other.conflicts;
    unknown += other.unknown;
    return *this;
}

void Tally::merge(const Tally &other)
{
    for (size_t i = 0; i < counts.size(); i++)
        counts[i] += other.counts[i];
    ledger.merge(other.ledger);
    skipped += other.skipped;
}

Findings Workload::audit(const Cluster &, uint32_t, const std::vector<Receipt> &)
{
    throw Error(0, schema().name() + " writes no receipts");
}

std::vector<std::string> Workload::check_run(const Cluster &cluster, uint32_t copy,
                                             const Totals &before, const Tally &tally)
{
    std::vector<std::string> wrong = check(cluster, copy);
    Totals change = totals(cluster, copy) - before;
    Totals rest = change - tally.ledger.committed();
    std::string text;

    switch (tally.ledger.explains(change)) {
    case Verdict::right:
        return wrong;
    case Verdict::too_many_unknown:
        wrong.push_back("totals cannot be checked: too many transactions of unknown outcome");
        return wrong;
    case Verdict::wrong:
        break;
    }
    for (uint64_t part : rest)
        text += " " + std::to_string(static_cast<int64_t>(part));
    wrong.push_back("totals moved by more than what was committed, by" + text + " (" +
                    std::to_string(tally.ledger.unknown().size()) + " ends unknown)");
    return wrong;
}

} // namespace dtx
