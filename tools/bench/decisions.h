/* SPDX-License-Identifier: BSD-3-Clause */
/* decisions.h: writers that trim by an agent's decisions, compared by when these are staged, and
 * fetched. */
#ifndef RPM_TOOLS_BENCH_DECISIONS_H
#define RPM_TOOLS_BENCH_DECISIONS_H

#include "bench/compare.h"

namespace bench
{

/* @url: of a server; clients do not map its pool. */
void compare_decisions(const CompareOptions &options, const MemoryDir &dir, const std::string &url,
                       std::vector<Row> &rows);

} // namespace bench
#endif
