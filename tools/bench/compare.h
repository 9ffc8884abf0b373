/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h: rows of a comparison, and how they come about.
 */
#ifndef RPM_TOOLS_BENCH_COMPARE_H
#define RPM_TOOLS_BENCH_COMPARE_H

#include "bench/contender.h"

namespace bench
{

/* Ours against one other. A ratio below 1 means that ours takes less time. */
struct Row {
    std::string what;
    uint64_t bytes;
    uint32_t depth;
    std::string against;
    std::string unit;
    double target = 0; /* ratio at most; 0: none */
    double ours = 0;
    double other = 0;
    double ratio = 0;
    double ratio_min = 0;
    double ratio_max = 0;
};

/* Where the comparison runs. */
struct Stage {
    const CompareOptions &options;
    const MemoryDir &dir;
    std::string socket; /* of the server: "shm:..." */
    int near_cpu;
    int far_cpu;
};

/* One value a round of each side becomes the row's figures. */
void conclude(Row &row, const std::vector<double> &ours, const std::vector<double> &others);

/* Is this row asked for? */
bool wanted(const std::string &only, const std::string &what, const std::string &against);

/* --only asks for none of @names, of which some may be the same. */
[[noreturn]] void fail_only(const std::string &only, const std::vector<std::string> &names);

void print_header();
void print_row(const Row &row);

/* One who takes part. */
struct Side {
    std::string name;
    ContenderPtr contender;
    uint64_t records = 0;       /* of a burst */
    std::vector<double> rounds; /* its value in each */
};

/* All of them in turn, burst by burst. */
void play(std::vector<Side> &sides, uint32_t rounds, uint32_t depth);

/* For whoever reads the file. */
void write_rows(const std::string &path, const std::vector<Row> &rows);

/* Two writers on two logs against one of them. */
void compare_writers(const Stage &stage, std::vector<Row> &rows);
/* A writer that somebody follows against the same one alone. */
void compare_follower(const Stage &stage, std::vector<Row> &rows);
/* The recovery scan against a plain checksum pass. */
void compare_scan(const Stage &stage, std::vector<Row> &rows);

} // namespace bench
#endif
