// SPDX-License-Identifier: BSD-3-Clause
// bench.h: flows on a preset, and what they cost.
#ifndef TESTS_UNIT_SIM_PATH_BENCH_H
#define TESTS_UNIT_SIM_PATH_BENCH_H

extern "C" {
#include "base/err.h"
#include "base/mem.h"
#include "sim/path/path_model.h"
}
#include "support/catch.h"
#include "unit/sim/preset_of.h"

#include <stdexcept>
#include <string>
#include <vector>

inline rpmi_params params_of(const std::string &preset)
{
    return preset_of(preset.c_str()).cost;
}

// One thread, one operation of 64 bytes at a time.
inline rpm_path_flow flow_of(rpm_path path, rpm_path_op op, uint64_t bytes = 64)
{
    rpm_path_flow flow = {};

    flow.path = path;
    flow.op = op;
    flow.bytes = bytes;
    flow.ops = 500;
    return flow;
}

// The same by as many threads as keep every part busy.
inline rpm_path_flow busy(rpm_path_flow flow, uint32_t threads = 32, uint32_t depth = 16)
{
    flow.threads = threads;
    flow.depth = depth;
    flow.ops = 40 * threads * depth;
    return flow;
}

inline std::vector<rpm_path_cost> run(const std::string &preset,
                                      const std::vector<rpm_path_flow> &flows)
{
    rpmi_params params = params_of(preset);
    std::vector<rpm_path_cost> costs(flows.size());
    rpm_path_load load = rpm_path_load_init();

    load.flows = flows.data();
    load.count = static_cast<uint32_t>(flows.size());
    load.seed = 1;
    if (rpmi_paths_run(&params, &load, costs.data()) != 0)
        throw std::runtime_error(rpm_last_error());
    return costs;
}

inline rpm_path_cost run(const std::string &preset, const rpm_path_flow &flow)
{
    return run(preset, std::vector<rpm_path_flow>{ flow })[0];
}

inline double mops(const rpm_path_cost &cost)
{
    return static_cast<double>(cost.ops) * 1e6 / static_cast<double>(cost.duration_ps);
}

inline double gbs(const rpm_path_cost &cost)
{
    return static_cast<double>(cost.bytes) * 1e3 / static_cast<double>(cost.duration_ps);
}

#endif
