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
    app.add_option(
           "-t,--threads", options.threads,
           "threads, each a client; several numbers, as 1,2, are measured one after another (1)")
        ->check(CLI::Range(1, 63))
        ->delimiter(',');
    app.add_option("-s,--seconds", options.seconds, "how long each row is measured (1)")
        ->check(CLI::Range(0.01, 1e5));
    app.add_option("--files", options.files_max,
                   "files that each thread creates at most (100000); fewer if the volume is full")
        ->check(CLI::PositiveNumber);
    app.add_flag("--keep", options.keep, "of names only measure create, and leave the files there");
    app.add_option("--json", options.json, "write the rows to this file, - for standard output");
}

} // namespace rfs::bench
#endif
