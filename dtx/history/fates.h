/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fates.h: which transactions happened.
 *
 * Committed ones did, aborted ones did not. An unknown one did if something shows it: a transaction
 * that happened, or the final state, names it as the writer of a version; or there is a later
 * version of an object and nobody else can have made this one. Otherwise it left no trace, and
 * counts as one that did not happen.
 *
 * Tests: tests/unit/dtx/history/fates_test.cpp
 */
#ifndef DTX_HISTORY_FATES_H
#define DTX_HISTORY_FATES_H

#include "history/history.h"

#include <utility>
#include <vector>

namespace dtx::history
{

class Fates
{
  public:
    /* @partial: lines are missing, so there may always be somebody else. */
    Fates(const History &history, bool partial);

    bool happened(uint32_t txn) const
    {
        return happened_[txn];
    }

    /* Unknown ones that happened. */
    uint64_t proven() const
    {
        return proven_;
    }

    /* Several unknown ones would have made this version, and one of them did: nobody says which. */
    bool open(uint32_t object, uint64_t version) const;

  private:
    /* What unknown transactions say they made. */
    struct Claim {
        uint32_t object;
        uint32_t claimants; /* that are not known to have happened otherwise */
        uint64_t version;
        uint32_t named; /* by somebody who saw it; kNone */
        bool made;      /* by a transaction that happened */
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
