/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.h: rows of rpm-bench agent about the choice between agent and server, and rows that only
 * the performance model can have.
 */
#ifndef RPM_TOOLS_BENCH_CHOOSE_H
#define RPM_TOOLS_BENCH_CHOOSE_H

#include "bench/compare.h"

namespace bench
{

/* A link that chooses against the better one of its two ways. @server, @agent: URLs of writers
 * without and with an agent. */
void compare_choice(const CompareOptions &options, const std::string &server,
                    const std::string &agent, std::vector<Row> &rows);

/* A link with an agent that is slow, listening at @listen, against one with none. */
void compare_far(const CompareOptions &options, const std::string &server,
                 const std::string &listen, std::vector<Row> &rows);

/* Writers whose agent carries their records, against writers without an agent. @agent: URL of a
 * writer with the agent's name. */
void compare_carry(const CompareOptions &options, const std::string &server,
                   const std::string &agent, std::vector<Row> &rows);

/* modelled.cc: what rpm-pathbench, beside this program, computes of an agent on a DPU. */
void compare_modelled(const CompareOptions &options, std::vector<Row> &rows);

} // namespace bench
#endif
