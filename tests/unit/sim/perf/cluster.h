// SPDX-License-Identifier: BSD-3-Clause
// cluster.h: scripts on modelled servers.
#ifndef TESTS_UNIT_SIM_COST_CLUSTER_H
#define TESTS_UNIT_SIM_COST_CLUSTER_H

#include "bench.h"

extern "C" {
#include "sim/perf/cluster_model.h"
}

using Ops = std::vector<rpm_script_op>;

inline rpm_script_op op_of(uint32_t phase, uint32_t op, uint32_t bytes, uint32_t server = 0)
{
    rpm_script_op made = {};

    made.phase = phase;
    made.op = op;
    made.bytes = bytes;
    made.server = server;
    made.by = RPM_BY_NIC;
    return made;
}

inline rpm_script_op in_dram(rpm_script_op op)
{
    op.memory = RPM_LOAD_DRAM;
    return op;
}

inline rpm_script_op by_call(rpm_script_op op)
{
    op.by = RPM_BY_CALL;
    return op;
}

// A load of scripts of equal weight; one thread, one coroutine, DDIO off.
class Cluster
{
  public:
    explicit Cluster(std::vector<Ops> ops) : ops_(std::move(ops))
    {
        for (const Ops &each : ops_)
            scripts_.push_back({ each.data(), static_cast<uint32_t>(each.size()), 1 });
        load.ddio = RPM_NO;
        load.transactions = 2000;
        load.seed = 1;
    }

    std::vector<rpm_script> &scripts()
    {
        return scripts_;
    }

    rpmi_cluster_model *open(const rpmi_params &params)
    {
        rpmi_cluster_model *cluster = nullptr;

        load.scripts = scripts_.data();
        load.count = static_cast<uint32_t>(scripts_.size());
        if (rpmi_cluster_open(&params, true, &load, &cluster) != 0)
            throw std::runtime_error(rpm_last_error());
        return cluster;
    }

    rpm_cost run(const std::string &preset = "hints")
    {
        rpmi_params params = params_of(preset);
        rpmi_cluster_model *cluster = open(params);
        rpm_cost cost = rpm_cost_init();
        int err;

        err = rpmi_cluster_run(cluster, &cost);
        rpmi_cluster_close(&cluster);
        if (err != 0)
            throw std::runtime_error(rpm_last_error());
        return cost;
    }

    rpm_script_load load = rpm_script_load_init();

  private:
    std::vector<Ops> ops_;
    std::vector<rpm_script> scripts_;
};

inline rpm_cost cost_of(const Ops &ops)
{
    return Cluster({ ops }).run();
}

#endif
