/* SPDX-License-Identifier: BSD-3-Clause */
/* follow.h: readers at the tail of a log, compared by how they wait. */
#ifndef RPM_TOOLS_BENCH_FOLLOW_H
#define RPM_TOOLS_BENCH_FOLLOW_H

#include "bench/compare.h"

namespace bench
{

/* @url: of a server; clients do not map its pool. */
void compare_waiting(const CompareOptions &options, const std::string &url, std::vector<Row> &rows);

} // namespace bench
#endif
