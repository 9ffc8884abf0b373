/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h: the options of programs that measure rows.
 *
 * Tests: tests/tools/fs_test
 */
#ifndef FS_BENCH_OPTIONS_H
#define FS_BENCH_OPTIONS_H

#include "bench/load.h"

#include "cli.h"

namespace rfs::bench
{

/* @options: borrowed by @app. */
inline void add_load(CLI::App &app, LoadOptions &options)
{
    app.add_option("-t,--threads", options.threads, "numbers of threads, one run after another (1)")
        ->check(CLI::Range(1, 64))
        ->delimiter(',');
    app.add_option("-s,--seconds", options.seconds, "of each row (1)")
        ->check(CLI::Range(0.01, 1e5));
    app.add_option("--files", options.files_max,
                   "that each thread makes at most, in the row create (100000)")
        ->check(CLI::PositiveNumber);
    app.add_flag("--keep", options.keep, "of names only the row create, and leave its files");
    app.add_option("--json", options.json, "write the rows to this file, - for standard output");
}

} // namespace rfs::bench
#endif
