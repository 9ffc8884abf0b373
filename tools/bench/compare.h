/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h: rows of a comparison, and the functions that measure them.
 */
#ifndef RPM_TOOLS_BENCH_COMPARE_H
#define RPM_TOOLS_BENCH_COMPARE_H

#include "bench/contender.h"
#include "bench/stats.h"
#include "output.h"

#include <functional>

namespace bench
{

/* librpm against one other library. A ratio below 1 means that librpm takes less time. */
struct Row {
    std::string what;
    uint64_t bytes;
    uint32_t depth;
    std::string against;
    std::string unit;
    double target = 0; /* largest ratio that meets the target; 0: no target */
    double ours = 0;
    double other = 0;
    double ratio = 0;
    double ratio_min = 0;
    double ratio_max = 0;
    Spread ratios = {}; /* ratios of the rounds */
    Spread our_rounds = {};
    Spread other_rounds = {};
    std::string conditions = {}; /* what else decides the ratio, and why a target is missed */
};

/* The memory, CPUs and server of a comparison. */
struct Testbed {
    const CompareOptions &options;
    const MemoryDir &dir;
    std::string socket; /* of the server: "shm:..." */
    int client_cpu;
    int server_cpu;
};

/* Compute the row's figures from one value for each round and side. */
void conclude(Row &row, const std::vector<double> &ours, const std::vector<double> &others);

/* Does --only select this row? */
bool wanted(const std::string &only, const std::string &what, const std::string &against);

/* Fail: --only selects no row; the error lists @names, each once. */
[[noreturn]] void fail_only(const std::string &only, const std::vector<std::string> &names);

/* Fail unless --only selects one of @names: the what and the against of each row, with a blank
 * between them. */
void expect_row(const std::string &only, const std::vector<std::string> &names);

void print_header();
void print_row(const Row &row);
/* The row is measured: compute its figures, print it and keep it. */
void add_row(Row row, const std::vector<double> &ours, const std::vector<double> &others,
             std::vector<Row> &rows);

/* One side of a comparison. */
struct Side {
    std::string name;
    ContenderPtr contender;
    uint64_t records = 0;       /* in a burst */
    std::vector<double> rounds; /* its value in each round */
};

/* Run all sides in turn, burst by burst. */
void run_rounds(std::vector<Side> &sides, const CompareOptions &options, uint32_t depth);

/* Run @body in @n threads, and throw what one of them threw. */
void in_threads(uint32_t n, const std::function<void(uint32_t)> &body);

/* Show the number of the round in the progress line. */
void show_round(const std::string &what, const std::string &against, uint32_t round,
                const CompareOptions &options);

/* Run @body, which adds rows. If it fails or the user stops it, the file has the rows so far and is
 * marked incomplete. Reports rows whose rounds scatter. @url: of the link; empty: there is none. */
void with_rows(const CompareOptions &options, const std::string &url,
               const std::function<void(std::vector<Row> &)> &body);

/* Two writers on two logs against one of them. */
void compare_writers(const Testbed &testbed, std::vector<Row> &rows);
/* A writer with a reader at its tail against the same writer alone. */
void compare_follower(const Testbed &testbed, std::vector<Row> &rows);
/* The recovery scan against a plain checksum pass. */
void compare_scan(const Testbed &testbed, std::vector<Row> &rows);

} // namespace bench
#endif
