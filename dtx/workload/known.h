/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known.h: the workloads there are, by name, for a program that finds a database of one.
 *
 * Tests: tests/unit/dtx/workload/note_test.cpp
 */
#ifndef DTX_WORKLOAD_KNOWN_H
#define DTX_WORKLOAD_KNOWN_H

#include "workload/workload.h"

#include <memory>
#include <string>
#include <vector>

namespace dtx
{

const std::vector<std::string> &known_workloads();

/* As the note of a database on that many servers has it. Throws Error: RPM_E_NOENT, no workload of
 * that name; RPM_E_FOREIGN, a note that is not the workload's. */
std::unique_ptr<Workload> workload_of_note(const std::string &name, const std::string &note,
                                           uint32_t servers);

} // namespace dtx
#endif
