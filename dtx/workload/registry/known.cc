/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.cc: constructs a workload from the name and load parameters of its database.
 *
 * Tests: tests/unit/dtx/workload/load_parameters_test.cpp
 */
#include "workload/registry/known.h"

#include "workload/smallbank/smallbank.h"
#include "workload/tatp/tatp.h"
#include "workload/tpcc/tpcc.h"
#include "workload/ycsb/ycsb.h"
#include <dtx/error.h>

#include <librpm.h>

namespace dtx
{

const std::vector<std::string> &known_workloads()
{
    static const std::vector<std::string> all = { "smallbank", "tatp", "tpcc", "ycsb" };

    return all;
}

std::unique_ptr<Workload> workload_of_database(const std::string &name,
                                               const std::string &parameters, uint32_t servers)
{
    if (name == "smallbank")
        return std::make_unique<smallbank::SmallBank>(
            smallbank::Parameters::of_database(parameters, servers));
    if (name == "tatp")
        return std::make_unique<tatp::Tatp>(tatp::Parameters::of_database(parameters, servers));
    if (name == "tpcc")
        return std::make_unique<tpcc::Tpcc>(tpcc::Parameters::of_database(parameters, servers));
    if (name == "ycsb")
        return std::make_unique<ycsb::Ycsb>(ycsb::Parameters::of_database(parameters, servers));
    throw Error(RPM_E_NOENT, "no workload is called '" + name +
                                 "'; the workloads are smallbank, tatp, tpcc and ycsb");
}

} // namespace dtx
