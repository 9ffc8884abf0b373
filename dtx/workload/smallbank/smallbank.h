/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * smallbank.h: SmallBank as a workload.
 *
 * Checked: every customer has both accounts and there are no others; no savings are negative.
 * Ledger: all money, by the amounts of the programs that committed (Amalgamate and SendPayment only
 * move it), and all savings.
 *
 * Tests: tests/unit/dtx/workload/smallbank_test.cpp
 */
#ifndef DTX_WORKLOAD_SMALLBANK_SMALLBANK_H
#define DTX_WORKLOAD_SMALLBANK_SMALLBANK_H

#include "workload/smallbank/schema.h"
#include "workload/workload.h"

namespace dtx::smallbank
{

class SmallBank : public WorkloadOn<Parameters, Tables>
{
  public:
    using WorkloadOn::WorkloadOn;

    const std::vector<std::string> &kinds() const override;
    void load(Session &session, const Share &share) override;
    std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                       const TerminalPlace &place) override;
    Findings examine(const Cluster &cluster, uint32_t copy) override;
    Totals totals(const Cluster &cluster, uint32_t copy) override;
    Totals loaded() override;
};

} // namespace dtx::smallbank
#endif
