/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cost.h: what the transactions of a trace cost on a modelled platform, one combination of all that
 * can be chosen at a time.
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
    std::string phases; /* as parse_phases() has them */
    bool durable;
    uint32_t threads;
    uint32_t coroutines;
    double pause_us = 0;      /* that a coroutine rests after each transaction */
    uint32_t doorbells = 0;   /* of a client machine, that its threads share; 0: one a thread */
    uint32_t outstanding = 0; /* requests that a thread has under way; 0: any number */
    double backoff_us = 0;    /* rest after an attempt that failed, see rpm_script_load; 0: none */
};

/* Parameters that all rows share. */
struct Common {
    std::string prefix = "model"; /* of a row */
    std::string preset = "hints";
    uint32_t machines = 0;     /* of clients, each with a port of its own; 0: no limit */
    uint32_t cores = 10;       /* of a server, that serve calls */
    bool conflicts = false;    /* attempts fail at each other's locks and changes */
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

/* Sets of hints with their names, each with one hint more: the published order, in which H2 is
 * absent. */
std::vector<std::pair<std::string, uint32_t>> cumulative_hints();

/* A set as rpm-explain has them. Throws std::runtime_error. */
uint32_t parse_hints(const std::string &text);

/* A text of the parameters that distinguish this row from others. */
std::string label_of(const Point &point);

/* Throws std::runtime_error. */
rpm_cost cost_of(const rpm_model *model, const Common &common, const Point &point);

/* Columns as dtx-bench has them; a transaction of the workload may be several of the database. */
std::vector<Column> columns_of(const Common &common, const Point &point, const rpm_cost &cost);

/* The most important of them, for people. */
std::string line_of(const std::vector<Column> &columns);

} // namespace dtx::model
#endif
