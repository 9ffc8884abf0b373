/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tatp.h: TATP as a workload. check.h describes the checks.
 *
 * Tests: tests/unit/dtx/workload/tatp_test.cpp
 */
#ifndef DTX_WORKLOAD_TATP_TATP_H
#define DTX_WORKLOAD_TATP_TATP_H

#include "workload/tatp/schema.h"
#include "workload/workload.h"

namespace dtx::tatp
{

class Tatp : public WorkloadOn<Parameters, Tables>
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

} // namespace dtx::tatp
#endif
