/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.h: what a run did to the totals of a database, counted outside of it, transaction by
 * transaction. Afterwards the totals must have moved by exactly that.
 *
 * Of a transaction whose end is unknown (its coordinator or a server was lost in the middle) the
 * ledger knows what it would have done: the totals must have moved by the sum of the committed and
 * of some of the unknown ones.
 *
 * Tests: tests/unit/dtx/workload/ledger_test.cpp
 */
#ifndef DTX_WORKLOAD_LEDGER_H
#define DTX_WORKLOAD_LEDGER_H

#include <dtx/session.h>

#include <array>
#include <cstdint>
#include <vector>

namespace dtx
{

/* Sums of a database that its workload names; unused ones are 0. They wrap around. */
using Totals = std::array<uint64_t, 4>;

Totals operator+(const Totals &a, const Totals &b);
Totals operator-(const Totals &a, const Totals &b);

enum class Verdict { right, wrong, too_many_unknown };

class Ledger
{
  public:
    void add(Status status, const Totals &change);
    void merge(const Ledger &other);
    /* Can the totals have moved by @change? */
    Verdict explains(const Totals &change) const;

    const Totals &committed() const
    {
        return committed_;
    }
    const std::vector<Totals> &unknown() const
    {
        return unknown_;
    }

  private:
    Totals committed_{};
    std::vector<Totals> unknown_;
};

} // namespace dtx
#endif
