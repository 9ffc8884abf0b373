/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outcomes.cc: looks for proof that transactions of unknown outcome happened, until a pass finds
 * none.
 */
#include "history/outcomes.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace dtx::history
{

Outcomes::Outcomes(const History &history, bool partial)
    : history_(history), happened_(history.txns()), claimed_(history.objects()),
      newest_(history.objects()), partial_(partial)
{
    std::vector<uint32_t> unknown;

    collect_claims();
    for (uint32_t i = 0; i < history_.txns(); i++)
        if (history_.txn(i).outcome == TxnOutcome::kUnknown)
            unknown.push_back(i);
        else if (history_.txn(i).outcome == TxnOutcome::kCommitted)
            accept(i);
    for (const Item &item : history_.final_items())
        see(item);
    /* Late transactions first: a proven one proves the writers of the versions that it read. */
    std::sort(unknown.begin(), unknown.end(), [this](uint32_t a, uint32_t b) {
        return history_.txn(a).begin_ns > history_.txn(b).begin_ns;
    });
    for (size_t before = unknown.size() + 1; unknown.size() < before;) {
        before = unknown.size();
        std::erase_if(unknown, [this](uint32_t txn) {
            if (!shown(txn))
                return false;
            accept(txn);
            proven_++;
            return true;
        });
    }
    collect_open();
}

void Outcomes::collect_claims()
{
    for (uint32_t i = 0; i < history_.txns(); i++)
        if (history_.txn(i).outcome == TxnOutcome::kUnknown)
            for (const Item &item : history_.writes(i)) {
                claims_.push_back({ item.object, 1, item.version, kNone, false });
                claimed_[item.object] = true;
            }
    std::sort(claims_.begin(), claims_.end(), [](const Claim &a, const Claim &b) {
        return std::tie(a.object, a.version) < std::tie(b.object, b.version);
    });
    size_t kept = 0;
    for (size_t i = 0; i < claims_.size(); i++) {
        bool same = kept > 0 && claims_[kept - 1].object == claims_[i].object &&
                    claims_[kept - 1].version == claims_[i].version;
        if (same)
            claims_[kept - 1].claimants++;
        else
            claims_[kept++] = claims_[i];
    }
    claims_.resize(kept);
}

Outcomes::Claim *Outcomes::find(uint32_t object, uint64_t version)
{
    auto at = std::lower_bound(claims_.begin(), claims_.end(), std::tie(object, version),
                               [](const Claim &claim, const auto &key) {
                                   return std::tie(claim.object, claim.version) < key;
                               });

    return at != claims_.end() && at->object == object && at->version == version ? &*at : nullptr;
}

/* Versions that exist without a proven writer: several transactions claim them. */
void Outcomes::collect_open()
{
    for (const Claim &claim : claims_)
        if (!claim.made && claim.named == kNone && claim.version < newest_[claim.object])
            open_.push_back({ claim.object, claim.version });
}

bool Outcomes::open(uint32_t object, uint64_t version) const
{
    return std::binary_search(open_.begin(), open_.end(), std::pair(object, version));
}

/* Records a version that was read by a transaction that happened or by the final state. */
void Outcomes::see(const Item &item)
{
    if (!claimed_[item.object])
        return;
    newest_[item.object] = std::max(newest_[item.object], item.version);
    Claim *claim = find(item.object, item.version);
    if (claim && claim->named == kNone)
        claim->named = item.writer;
}

void Outcomes::accept(uint32_t txn)
{
    happened_[txn] = true;
    for (const Item &item : history_.reads(txn))
        see(item);
    for (const Item &item : history_.writes(txn)) {
        if (!claimed_[item.object])
            continue;
        newest_[item.object] = std::max(newest_[item.object], item.version);
        Claim *claim = find(item.object, item.version);
        if (claim) {
            claim->made = true;
            claim->claimants -= history_.txn(txn).outcome == TxnOutcome::kUnknown;
        }
    }
}

bool Outcomes::shown(uint32_t txn)
{
    for (const Item &item : history_.writes(txn)) {
        const Claim *claim = find(item.object, item.version);
        bool only = !claim->made && claim->named == kNone && claim->claimants == 1;

        if (claim->named == txn)
            return true;
        if (only && !partial_ && item.version < newest_[item.object])
            return true;
    }
    return false;
}

} // namespace dtx::history
