/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.cc: from a name and a note to a workload.
 *
 * Tests: tests/unit/dtx/workload/note_test.cpp
 */
#include "workload/known.h"

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

std::unique_ptr<Workload> workload_of_note(const std::string &name, const std::string &note,
                                           uint32_t servers)
{
    if (name == "smallbank")
        return std::make_unique<smallbank::SmallBank>(
            smallbank::Parameters::of_note(note, servers));
    if (name == "tatp")
        return std::make_unique<tatp::Tatp>(tatp::Parameters::of_note(note, servers));
    if (name == "tpcc")
        return std::make_unique<tpcc::Tpcc>(tpcc::Parameters::of_note(note, servers));
    if (name == "ycsb")
        return std::make_unique<ycsb::Ycsb>(ycsb::Parameters::of_note(note, servers));
    throw Error(RPM_E_NOENT, "there is no workload '" + name + "'");
}

} // namespace dtx
