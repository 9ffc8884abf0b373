/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h: the results of a run, for people, as JSON and as a row of CSV.
 *
 * The first ten columns are those of SMART's transaction programs, in their order and units,
 * without a line of names, so that scripts written for those programs read them: prefix, threads,
 * coroutines, attempted and committed million transactions a second, median and 99th percentile of
 * latency in us, share of attempts that did not commit, remote operations for each attempt, million
 * remote operations a second.
 */
#ifndef DTX_BENCH_REPORT_H
#define DTX_BENCH_REPORT_H

#include "bench/options.h"
#include "workload/run.h"

#include <string>
#include <vector>

namespace dtx::bench
{

struct Verified {
    bool done = false;
    std::vector<std::string> wrong; /* empty: nothing */
};

struct Report {
    const Options &options;
    const std::vector<std::string> &kinds;
    const RunResult &result;
    double load_seconds;
    Verified verified;

    KindCounts all() const;
};

/* Throws cli::Failure for files that cannot be written. */
void print_report(const Report &report);
void write_json(const Report &report);
void append_csv(const Report &report);

/* Names of the columns. */
std::string csv_columns(const std::string &workload);

/* Print the latest sample of a running run, over the line before. */
void print_progress(const Sample &now, const Sample &before);

} // namespace dtx::bench
#endif
