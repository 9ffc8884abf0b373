/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h: rows as CSV, JSON and text.
 */
#ifndef RPM_HINTS_REPORT_H
#define RPM_HINTS_REPORT_H

#include "experiment.h"
#include "output.h"
#include "platform.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace hints
{

using Json = nlohmann::ordered_json;

/* A CSV file that has only whole lines, even if the run is interrupted. */
class Csv
{
  public:
    explicit Csv(const std::string &path) : file_(path) {}

    void add(const std::string &run, const std::string &url, const Row &row);
    void close(); /* throws if the file could not be written */

  private:
    cli::OutFile file_;
    bool headed_ = false;
};

Json row_json(const std::string &run, const std::string &url, const Row &row);
Json experiment_json(const Experiment &experiment);

/* One line for people. */
std::string row_text(const Row &row);

} // namespace hints

#endif
