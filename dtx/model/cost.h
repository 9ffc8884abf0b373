/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cost.h: what the transactions of a trace cost on a modelled platform, for one combination of
 * parameters at a time.
 *
 * Tests: tests/tools/dtx_model_test
 */
#ifndef DTX_MODEL_COST_H
#define DTX_MODEL_COST_H

#include "model/footprint.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dtx::model
{

/* The parameters of one row. */
struct Point {
    const Trace *trace;
    std::string hints_name;
    uint32_t hints;
    std::string phases; /* as parse_phases() takes them */
    bool durable;
    uint32_t threads;
    uint32_t coroutines;
    double pause_us = 0;      /* pause of a coroutine after each transaction */
    uint32_t doorbells = 0;   /* shared by the threads of a client machine; 0: one a thread */
    uint32_t outstanding = 0; /* most requests of a thread at a time; 0: no limit */
    double backoff_us = 0;    /* after a failed attempt, see rpm_script_load; 0: none */
};

/* Parameters that all rows share. */
struct Common {
    std::string prefix = "model"; /* first column of a row */
    std::string preset = "hints";
    uint32_t machines = 0;     /* client machines, each with a NIC port; 0: no limit */
    uint32_t cores = 10;       /* of a server, for calls */
    bool conflicts = false;    /* attempts fail at locks and changes of others */
    uint64_t transactions = 0; /* to measure; 0: 5000, or 10 for each coroutine */
    uint64_t seed = 1;
};

struct Column {
    const char *name;
    std::string value;
};

struct ModelClose {
    void operator()(rpm_model *model) const
    {
        rpm_model_close(&model);
    }
};
using Model = std::unique_ptr<rpm_model, ModelClose>;

/* Throws std::runtime_error. */
Model open_model(const std::string &preset);

/* Sets of hints with their names, each with one hint more than the set before: in the order in
 * which the hints were published, without H2. */
std::vector<std::pair<std::string, uint32_t>> cumulative_hints();

/* A set of hints, written as for rpm-explain. Throws std::runtime_error. */
uint32_t parse_hints(const std::string &text);

/* A text of the parameters that distinguish rows. */
std::string label_of(const Point &point);

/* Throws std::runtime_error. */
rpm_cost cost_of(const rpm_model *model, const Common &common, const Point &point);

/* The columns of dtx-bench; a transaction of the workload may consist of several of the database.
 */
std::vector<Column> columns_of(const Common &common, const Point &point, const rpm_cost &cost);

/* A line with the most important columns, as text. */
std::string line_of(const std::vector<Column> &columns);

} // namespace dtx::model
#endif
