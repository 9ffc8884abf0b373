// SPDX-License-Identifier: BSD-3-Clause
// bench.h: the performance model with a load on it, run event by event.
#ifndef TESTS_UNIT_SIM_PERF_BENCH_H
#define TESTS_UNIT_SIM_PERF_BENCH_H

extern "C" {
#include "base/err.h"
#include "base/mem.h"
#include "sim/perf/server_model.h"
}
#include "support/catch.h"
#include "unit/sim/preset_of.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

inline rpmi_params params_of(const std::string &preset)
{
    return preset_of(preset.c_str()).cost;
}

inline const rpmi_params HINTS = params_of("hints");

inline double mops(const rpm_cost &cost)
{
    return static_cast<double>(cost.ops) * 1e6 / static_cast<double>(cost.duration_ps);
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
        if (rpmi_server_open(&params, true, &load, &server) != 0)
            throw std::runtime_error(rpm_last_error());
    }

    ~Bench()
    {
        rpmi_server_close(&server);
    }

    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    // What one event is, then the event.
    bool step(rpmi_event *what = nullptr)
    {
        if (server->queue.count == 0)
            return false;
        if (server->queue.heap[0].kind == RPMI_PERF_EV_LINE_READ)
            data.push_back(server->queue.heap[0]);
        if (what != nullptr)
            *what = server->queue.heap[0];
        return rpmi_server_step(server);
    }

    // Runs until no event is left, for loads that do not repeat.
    void settle()
    {
        while (step()) {
        }
    }

    rpm_cost run()
    {
        rpm_cost cost = rpm_cost_init();

        rpmi_mem_freeze();
        rpmi_server_run(server, &cost);
        rpmi_mem_thaw();
        return cost;
    }

    rpmi_module *module(uint32_t index = 0)
    {
        return &server->module[index];
    }

    // A 64-byte line of module 0, now.
    void write(uint64_t line, uint64_t flags = 0)
    {
        rpmi_module_write(server, module(), line | flags, RPMI_OWNER_NONE);
    }

    const rpmi_params params;
    rpmi_server_model *server = nullptr;
    std::vector<rpmi_event> data; // lines that were returned
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
