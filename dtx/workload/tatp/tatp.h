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

class Tatp : public Workload
{
  public:
    explicit Tatp(const Parameters &parameters);

    const Schema &schema() const override
    {
        return tables_.schema;
    }
    const std::vector<std::string> &kinds() const override;
    void load(Session &session, const Share &share) override;
    std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                       const TerminalPlace &place) override;
    Findings examine(const Cluster &cluster, uint32_t copy) override;
    Totals totals(const Cluster &cluster, uint32_t copy) override;
    Totals loaded() override;

    const Tables &tables() const
    {
        return tables_;
    }

  private:
    Parameters parameters_;
    Tables tables_;
};

} // namespace dtx::tatp
#endif
