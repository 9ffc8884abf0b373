// SPDX-License-Identifier: BSD-3-Clause
// bench.h: the cost side of the device model with a load on it, run event by event.
#ifndef TESTS_UNIT_SIM_COST_BENCH_H
#define TESTS_UNIT_SIM_COST_BENCH_H

extern "C" {
#include "base/err.h"
#include "base/mem.h"
#include "sim/cost/rig.h"
#include "sim/preset.h"
}
#include "support/catch.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

inline rpmi_params params_of(const std::string &preset)
{
    rpmi_preset read;

    if (rpmi_preset_read(preset.c_str(), &read) != 0)
        throw std::runtime_error(rpm_last_error());
    return read.cost;
}

// One thread, one operation at a time, DDIO off.
inline rpm_load load_of(rpm_load_by by, rpm_load_op op)
{
    rpm_load load = rpm_load_init();

    load.by = by;
    load.op = op;
    load.ddio = RPM_NO;
    load.ops = 2000;
    load.seed = 1;
    return load;
}

class Bench
{
  public:
    explicit Bench(const rpm_load &load = rpm_load_init(), const std::string &preset = "hints")
        : params(params_of(preset))
    {
        if (rpmi_rig_open(&params, true, &load, &rig) != 0)
            throw std::runtime_error(rpm_last_error());
    }

    ~Bench()
    {
        rpmi_rig_close(&rig);
    }

    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    // What one event is, then the event.
    bool step(rpmi_event *what = nullptr)
    {
        if (rig->queue.count == 0)
            return false;
        if (rig->queue.heap[0].kind == RPMI_RIG_DATA)
            data.push_back(rig->queue.heap[0]);
        if (what != nullptr)
            *what = rig->queue.heap[0];
        return rpmi_rig_step(rig);
    }

    // Until nothing is left to happen: for what does not begin again by itself.
    void settle()
    {
        while (step()) {
        }
    }

    rpm_cost run()
    {
        rpm_cost cost = rpm_cost_init();

        rpmi_mem_freeze();
        rpmi_rig_run(rig, &cost);
        rpmi_mem_thaw();
        return cost;
    }

    rpmi_module *module(uint32_t index = 0)
    {
        return &rig->module[index];
    }

    // A 64-byte line of module 0, now.
    void write(uint64_t line, uint64_t flags = 0)
    {
        rpmi_module_write(rig, module(), line | flags, RPMI_OWNER_NONE);
    }

    const rpmi_params params;
    rpmi_rig *rig = nullptr;
    std::vector<rpmi_event> data; // lines that came back
};

inline rpm_cost cost_of(const rpm_load &load, const std::string &preset = "hints")
{
    return Bench(load, preset).run();
}

// Operations a second.
inline double rate_of(const rpm_cost &cost)
{
    return static_cast<double>(cost.ops) * 1e12 / static_cast<double>(cost.duration_ps);
}

#endif
