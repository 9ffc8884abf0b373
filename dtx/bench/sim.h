/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h: --url sim: what the transactions of a workload cost on a modelled platform. dtx-bench runs
 * some transactions on local servers and traces their accesses; the performance model then
 * carries out the traced accesses.
 *
 * Tests: tests/tools/dtx_model_test
 */
#ifndef DTX_BENCH_SIM_H
#define DTX_BENCH_SIM_H

#include "model/cost.h"

#include <string>
#include <vector>

namespace dtx::bench
{

struct Options;

bool is_sim(const std::string &url);

class Sim
{
  public:
    /* Sets @options for the run that is traced: local servers, one coroutine, a trace file. Throws
     * Error, std::runtime_error. */
    explicit Sim(Options &options);
    ~Sim();
    Sim(const Sim &) = delete;
    Sim &operator=(const Sim &) = delete;

    /* Call it after the run has written the trace. Prints a line for each set of hints. */
    void carry_out() const;

  private:
    void take_url(const std::string &url);
    void add_hints(const std::string &text);

    model::Common common_;
    std::vector<model::Point> points_;
    std::string trace_;
    bool ours_ = false; /* the trace is a temporary file of this object, which removes it */
};

} // namespace dtx::bench
#endif
