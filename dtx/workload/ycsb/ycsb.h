/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ycsb.h: the core workloads of YCSB, over a remote hash table or a remote B+tree. check.h
 * describes the checks.
 *
 * Tests: tests/unit/dtx/workload/ycsb_test.cpp
 */
#ifndef DTX_WORKLOAD_YCSB_YCSB_H
#define DTX_WORKLOAD_YCSB_YCSB_H

#include "workload/workload.h"
#include "workload/ycsb/input.h"
#include "workload/ycsb/schema.h"

namespace dtx::ycsb
{

class Ycsb : public WorkloadOn<Parameters, Tables>
{
  public:
    explicit Ycsb(const Parameters &parameters);

    const std::vector<std::string> &kinds() const override;
    void load(Session &session, const Share &share) override;
    std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                       const TerminalPlace &place) override;
    Findings examine(const Cluster &cluster, uint32_t copy) override;
    Totals totals(const Cluster &cluster, uint32_t copy) override;
    Totals loaded() override;

  private:
    Zipf zipf_;
    Latest latest_;
};

} // namespace dtx::ycsb
#endif
