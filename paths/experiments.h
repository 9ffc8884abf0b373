/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * experiments.h: what the named runs of chains cost, one experiment at a time.
 */
#ifndef RPM_PATHS_EXPERIMENTS_H
#define RPM_PATHS_EXPERIMENTS_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace paths
{

/* "kv", "styx", "wave", "agent". */
const std::vector<std::string> &experiment_names();

/* A row for each run: its label, its preset, and its costs, or its one number. */
nlohmann::ordered_json experiment_rows(const std::string &name, uint64_t seed);
std::string experiment_text(const nlohmann::ordered_json &row);

} // namespace paths

#endif
