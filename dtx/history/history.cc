/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.cc: stores lines, with indices instead of numbers.
 */
#include "history/history.h"

namespace dtx::history
{

namespace
{

constexpr uint32_t kIndices = UINT32_C(1) << 29; /* an edge has its kind in the bits above */

} // namespace

History::History()
{
    intern_txn(0);
}

void History::header(const Header &header)
{
    fresh_ = fresh_ && header.fresh;
}

uint32_t History::intern_txn(uint64_t id)
{
    uint32_t index = ids_.intern(id);

    if (index == txns_.size())
        txns_.emplace_back();
    return index;
}

Item History::item(const Access &access, bool seen)
{
    return { access.version, objects_.intern(access.object), seen ? intern_txn(access.writer) : 0 };
}

std::string History::entry(const Entry &entry)
{
    uint32_t index = intern_txn(entry.txn);

    if (txns_[index].outcome != TxnOutcome::kAbsent)
        return "transaction " + std::to_string(entry.txn) + " occurs twice";
    if (txns_.size() + entry.reads.size() > kIndices ||
        objects_.size() + entry.reads.size() + entry.writes.size() > kIndices)
        return "too many transactions or objects, maximum " + std::to_string(kIndices) + " of each";
    uint64_t first = items_.size();
    for (const Access &access : entry.reads)
        items_.push_back(item(access, true));
    for (const Access &access : entry.writes)
        items_.push_back(item(access, false));
    Txn &txn = txns_[index]; /* item() may have moved it */
    txn.begin_ns = entry.begin_ns;
    txn.end_ns = entry.end_ns;
    txn.first = first;
    txn.reads = static_cast<uint32_t>(entry.reads.size());
    txn.writes = static_cast<uint32_t>(entry.writes.size());
    txn.session = entry.session;
    txn.outcome = static_cast<TxnOutcome>(entry.status);
    return "";
}

std::string History::final_state(std::span<const Access> objects)
{
    for (const Access &access : objects)
        final_.push_back(item(access, true));
    return "";
}

} // namespace dtx::history
