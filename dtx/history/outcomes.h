/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outcomes.h: which transactions happened.
 *
 * Committed transactions happened, aborted ones did not. A transaction of unknown outcome happened
 * if the history proves it: a transaction that happened, or the final state, names it as the writer
 * of a version; or an object has a later version than one that only this transaction can have made.
 * Otherwise it counts as not happened.
 *
 * Tests: tests/unit/dtx/history/outcomes_test.cpp
 */
#ifndef DTX_HISTORY_OUTCOMES_H
#define DTX_HISTORY_OUTCOMES_H

#include "history/history.h"

#include <utility>
#include <vector>

namespace dtx::history
{

class Outcomes
{
  public:
    /* @partial: lines are missing, so a transaction that is not in the history may have made any
     * version. */
    Outcomes(const History &history, bool partial);

    bool happened(uint32_t txn) const
    {
        return happened_[txn];
    }

    /* Transactions of unknown outcome that happened. */
    uint64_t proven() const
    {
        return proven_;
    }

    /* Several transactions of unknown outcome claim this version and the history does not say which
     * of them made it. */
    bool open(uint32_t object, uint64_t version) const;

  private:
    /* A version that transactions of unknown outcome tried to make. */
    struct Claim {
        uint32_t object;
        uint32_t claimants; /* transactions not proven to have happened */
        uint64_t version;
        uint32_t named; /* the writer that a reader recorded, or kNone */
        bool made;      /* a transaction that happened made it */
    };

    void collect_claims();
    void collect_open();
    Claim *find(uint32_t object, uint64_t version);
    void see(const Item &item);
    void accept(uint32_t txn);
    bool shown(uint32_t txn);

    const History &history_;
    std::vector<bool> happened_;
    std::vector<bool> claimed_;                       /* objects that have a claim */
    std::vector<uint64_t> newest_;                    /* version of each object known to exist */
    std::vector<Claim> claims_;                       /* sorted */
    std::vector<std::pair<uint32_t, uint64_t>> open_; /* object, version; sorted */
    uint64_t proven_ = 0;
    bool partial_;
};

} // namespace dtx::history
#endif
