/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * versions.h: the writer of each version of each object, in order; and the violations that this
 * order shows without a graph.
 *
 * Invariants
 *   an object's versions rise by one, from its base: the one version that the history begins with
 *   each version has one writer, which all of its readers name
 *   the final state is the last version
 *
 * Tests: tests/unit/dtx/history/versions_test.cpp
 */
#ifndef DTX_HISTORY_VERSIONS_H
#define DTX_HISTORY_VERSIONS_H

#include "history/history.h"
#include "history/outcomes.h"
#include "history/violation.h"

#include <span>
#include <vector>

namespace dtx::history
{

struct Made {
    uint64_t version;
    uint32_t writer;
};

class Versions
{
  public:
    Versions(const History &history, const Outcomes &outcomes, bool partial);

    /* Reports every violation of the invariants. */
    void check(Violations &out) const;

    /* Versions of one object that were made in the history. */
    std::span<const Made> of(uint32_t object) const
    {
        return std::span(made_).subspan(start_[object], start_[object + 1] - start_[object]);
    }

    /* Index in of(object) of @version or the next later one; of(object).size() if none. */
    size_t place(uint32_t object, uint64_t version) const;

    /* Does the transaction take part in the order? If it happened or, in a partial history, if a
     * version of it was read. */
    bool counts(uint32_t txn) const
    {
        return outcomes_.happened(txn) ||
               (partial_ && history_.txn(txn).outcome == TxnOutcome::kAbsent);
    }

    /* The version that an object had before the history: the one that was read, or derived from the
     * first version made. */
    uint64_t base(uint32_t object) const;

  private:
    struct Base {
        uint64_t version = 0;
        uint32_t writer = kNone; /* kNone: not read */
    };
    struct Twice { /* a version that @second made too */
        uint32_t object;
        Made first;
        uint32_t second;
    };

    template <typename Take> void each_made(Take take) const;
    void sort_and_unite();
    void note_base(const Item &item);
    bool before_history(uint32_t writer) const;
    bool made_twice(const Item &item) const;
    bool is_base(const Item &item, size_t at) const;
    bool gap_explained(uint32_t object, uint64_t low, uint64_t high) const;
    std::string name(uint32_t txn) const;
    std::string version_name(uint32_t object, uint64_t version) const;
    void check_twice(Violations &out) const;
    void check_gaps(Violations &out) const;
    void check_seen(uint32_t who, const Item &item, Violations &out) const;
    void check_skipped(uint32_t txn, const Item &item, Violations &out) const;
    void check_final(Violations &out) const;

    const History &history_;
    const Outcomes &outcomes_;
    bool partial_;
    std::vector<uint64_t> start_; /* index in made_ of each object's first version */
    std::vector<Made> made_;
    std::vector<Twice> twice_; /* sorted by object and version */
    std::vector<Base> bases_;
};

} // namespace dtx::history
#endif
