/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.h: all workloads by name, for a program that opens a database which a workload has loaded.
 *
 * Tests: tests/unit/dtx/workload/load_parameters_test.cpp
 */
#ifndef DTX_WORKLOAD_REGISTRY_KNOWN_H
#define DTX_WORKLOAD_REGISTRY_KNOWN_H

#include "workload/workload.h"

#include <memory>
#include <string>
#include <vector>

namespace dtx
{

const std::vector<std::string> &known_workloads();

/* The workload that a database on @servers was loaded for. Throws Error: RPM_E_NOENT, no workload
 * has that name; RPM_E_FOREIGN, the load parameters are not the workload's. */
std::unique_ptr<Workload> workload_of_database(const std::string &name,
                                               const std::string &parameters, uint32_t servers);

} // namespace dtx
#endif
