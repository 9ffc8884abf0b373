/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.h: the changes that a run makes to a database's totals, counted outside of the database,
 * transaction by transaction. After the run, the totals must have changed by exactly the sum.
 *
 * If the outcome of a transaction is unknown (its session or a server was lost during the commit),
 * the ledger keeps the change that the transaction would make: the totals must have changed by the
 * sum of the committed changes and of some of the unknown ones.
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

/* Sums over a database, defined by its workload; unused ones are 0. They wrap around. */
using Totals = std::array<uint64_t, 4>;

Totals operator+(const Totals &a, const Totals &b);
Totals operator-(const Totals &a, const Totals &b);

enum class Verdict { right, wrong, too_many_unknown };

class Ledger
{
  public:
    void add(Status status, const Totals &change);
    void merge(const Ledger &other);
    /* Can the totals have changed by @change? */
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
