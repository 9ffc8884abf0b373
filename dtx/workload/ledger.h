/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.h: the changes of a database's totals by a run, counted outside of the database,
 * transaction by transaction. After the run, the totals must have changed by exactly these.
 *
 * Of a transaction whose end is unknown (its coordinator or a server was lost in the middle) the
 * ledger knows what it would have done: the totals must have changed by the sum of the committed
 * changes and of some of the unknown ones.
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
