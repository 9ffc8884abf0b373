/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tpcc.h: TPC-C as a workload: all five transactions of the specification (5.11), without the times
 * that terminals wait. check.h describes the checks.
 *
 * Tests: tests/unit/dtx/workload/tpcc_test.cpp
 */
#ifndef DTX_WORKLOAD_TPCC_TPCC_H
#define DTX_WORKLOAD_TPCC_TPCC_H

#include "workload/tpcc/schema.h"
#include "workload/workload.h"

namespace dtx::tpcc
{

class Tpcc : public WorkloadOn<Parameters, Tables>
{
  public:
    using WorkloadOn::WorkloadOn;

    const std::vector<std::string> &kinds() const override;
    void load(Session &session, const Share &share) override;
    std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                       const TerminalPlace &place) override;
    Findings examine(const Cluster &cluster, uint32_t copy) override;
    Findings audit(const Cluster &cluster, uint32_t copy,
                   const std::vector<Receipt> &receipts) override;
    Totals totals(const Cluster &cluster, uint32_t copy) override;
    Totals loaded() override;
};

} // namespace dtx::tpcc
#endif
